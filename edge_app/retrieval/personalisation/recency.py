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
        self, texts: Searchable, query: RetrievalQuery, context: RetrievalContext
    ) -> Retrieved:
        """The newest, those of the kind that was asked for before all others."""
        del context
        kind, excluded = query.request.task, query.excluded
        return Retrieved(texts.recent(limit=query.limit, kind=kind, excluded=excluded))
