"""Texts drawn by chance: what a history is worth without looking for anything in it."""

from __future__ import annotations

from typing import ClassVar

from edge_app.retrieval.passages import (
    RetrievalContext,
    RetrievalQuery,
    Retrieved,
    Searchable,
    taken,
)


class Choice:
    """No retrieval; the seed decides."""

    name: ClassVar[str] = "random"
    summary: ClassVar[str] = "texts of the kind by chance; the seed decides"

    def find(
        self, texts: Searchable, query: RetrievalQuery, context: RetrievalContext
    ) -> Retrieved:
        """Any texts, those of the kind that was asked for before all others."""
        del context
        kinds = texts.kinds()
        drawn = query.shuffled(kinds)
        drawn.sort(key=lambda record_id: kinds[record_id] != query.request.task)
        return Retrieved(taken(texts, drawn, query.limit))
