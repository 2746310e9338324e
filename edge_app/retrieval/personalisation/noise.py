"""Texts that have least to do with the request, on purpose.

The test of robustness: does a method suffer from a history that does not fit? The store
holds the texts of one writer, so what is unrelated here is what they are about, and
their kind, never the writer. For those of another writer, give another history.
"""

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
    """Retrieval upside down."""

    name: ClassVar[str] = "noise"
    summary: ClassVar[str] = "texts that do not fit, to test robustness"

    def find(
        self, texts: Searchable, query: RetrievalQuery, context: RetrievalContext
    ) -> Retrieved:
        """The lowest BM25 scores first; of equal ones, other kinds first, then as the
        seed decides."""
        del context
        fits, kinds = texts.matching(query.words), texts.kinds()
        worst = query.shuffled(kinds)
        worst.sort(key=lambda i: (fits.get(i, 0.0), kinds[i] == query.request.task))
        return Retrieved(taken(texts, worst, query.limit))
