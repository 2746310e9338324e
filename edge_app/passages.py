"""Which of one's own texts are read for a request."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from models.prompts import Request
from personal_store import Passage

PASSAGES = 5
"""How many texts are looked for."""


class Searchable(Protocol):
    """Own texts that can be searched: the store, or a part of a history."""

    def search(
        self,
        query: str,
        *,
        limit: int = 5,
        kind: str | None = None,
        recipient: str | None = None,
        excluded: Collection[int] = (),
    ) -> list[Passage]:
        """Texts that share telling words with the query, best first."""

    def recent(
        self,
        *,
        limit: int = 5,
        kind: str | None = None,
        recipient: str | None = None,
        excluded: Collection[int] = (),
    ) -> list[Passage]:
        """The newest texts, those to the same recipient and of this kind first."""


def find_passages(
    texts: Searchable,
    request: Request,
    *,
    limit: int = PASSAGES,
    excluded: frozenset[int] = frozenset(),
) -> list[Passage]:
    """Up to `limit` texts for a request: those that match, best first, then the newest
    of its kind."""
    found = texts.search(
        f"{request.recipient} {request.text}",
        limit=limit,
        kind=request.task,
        recipient=request.recipient or None,
        excluded=excluded,
    )
    missing = limit - len(found)
    if missing:
        taken = excluded | {passage.record_id for passage in found}
        found += texts.recent(limit=missing, kind=request.task, excluded=taken)
    return found
