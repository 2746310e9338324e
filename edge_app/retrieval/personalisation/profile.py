"""A written profile together with the texts that match.

The specialist sums its writer up once, on the device; see `edge_app.service.profiles`.

Source: PAG, as in OPPU (`gen_profile.py`, `--add_profile`): the profile, then passages,
then the request.
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
    """Retrieval by words, and what the specialist wrote about its writer."""

    name: ClassVar[str] = "profile"
    summary: ClassVar[str] = "a written profile of you, and texts as with bm25"

    def find(
        self, texts: Searchable, query: RetrievalQuery, context: RetrievalContext
    ) -> Retrieved:
        """The best matches, and the profile as notes."""
        profile = context.profile(texts, query.excluded)
        notes = f"About the writer:\n{profile}" if profile else ""
        return Retrieved(best(texts, query, context.reranker), notes)
