"""A written profile together with the texts that match.

The specialist sums its writer up once, on the device; see `edge_app.profiles`.

Source: PAG, as in OPPU (`gen_profile.py`, `--add_profile`): the profile, then passages,
then the request.
"""

from __future__ import annotations

from typing import ClassVar

from edge_app.passages import Found, Searchable, Tools, Wish, best


class Choice:
    """Retrieval by words, and what the specialist wrote about its writer."""

    name: ClassVar[str] = "profile"
    summary: ClassVar[str] = "a written profile of you, and texts as with bm25"

    def find(self, texts: Searchable, wish: Wish, tools: Tools) -> Found:
        """The best matches, and the profile as notes."""
        profile = tools.profile(texts, wish.excluded)
        notes = f"About the writer:\n{profile}" if profile else ""
        return Found(best(texts, wish, tools.reranker), notes)
