"""Nothing of the history: what is piped in as notes is still read."""

from __future__ import annotations

from typing import ClassVar

from edge_app.retrieval.passages import (
    RetrievalContext,
    RetrievalQuery,
    Retrieved,
    Searchable,
)


class Choice:
    """The request alone."""

    name: ClassVar[str] = "none"
    summary: ClassVar[str] = "no text of yours is read"

    def find(
        self, texts: Searchable, query: RetrievalQuery, context: RetrievalContext
    ) -> Retrieved:
        """No text at all."""
        del texts, query, context
        return Retrieved()
