"""The newest texts, whatever was asked for. Source: a baseline of LaMP."""

from __future__ import annotations

from typing import ClassVar

from edge_app.retrieval.passages import (
    RetrievalContext,
    RetrievalQuery,
    Retrieved,
    Searchable,
)


class Choice:
    """Retrieval by date."""

    name: ClassVar[str] = "recency"
    summary: ClassVar[str] = "the newest texts of the kind"

    def find(
        self, texts: Searchable, wish: RetrievalQuery, tools: RetrievalContext
    ) -> Retrieved:
        """The newest, those of the kind that was asked for before all others."""
        del tools
        kind, excluded = wish.request.task, wish.excluded
        return Retrieved(texts.recent(limit=wish.limit, kind=kind, excluded=excluded))
