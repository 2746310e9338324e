"""Texts that share words with the request, then the newest of its kind.

Source: the retrieval of LaMP, which both papers use.
"""

from __future__ import annotations

from typing import ClassVar

from edge_app.retrieval.passages import (
    RetrievalContext,
    RetrievalQuery,
    Retrieved,
    Searchable,
    best,
)


class Choice:
    """Retrieval by words; a reranker chooses among what was found, where one is set."""

    name: ClassVar[str] = "bm25"
    summary: ClassVar[str] = "texts with the words of the request; the usual"

    def find(
        self, texts: Searchable, query: RetrievalQuery, context: RetrievalContext
    ) -> Retrieved:
        """The best matches."""
        return Retrieved(best(texts, query, context.reranker))
