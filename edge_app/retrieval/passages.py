"""Which own texts are read for a request: the interfaces, and the usual way."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Protocol

from edge_app.retrieval.naming import parted
from models.prompts import Request
from personal_store import Passage

PASSAGES = 5
"""How many texts are looked for."""
RERANKED = 4
"""So many times as many are found first where a reranker chooses among them."""


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
        distinctive_only: bool = False,
    ) -> list[Passage]:
        """Texts that share words with the query, best first;
        `distinctive_only` leaves out words of more than half of the texts."""

    def recent(
        self,
        *,
        limit: int = 5,
        kind: str | None = None,
        recipient: str | None = None,
        excluded: Collection[int] = (),
    ) -> list[Passage]:
        """The newest texts, those to the same recipient and of this kind first."""

    def kinds(self) -> Mapping[int, str]:
        """The kind of each text by its id, in a fixed order."""

    def matching(self, query: str) -> Mapping[int, float]:
        """BM25 by id of every text that shares distinctive words with the query."""

    def passage(self, record_id: int) -> Passage | None:
        """One text, whole; None where it has gone."""


class Reranker(Protocol):
    """Scores texts by reading each beside the request."""

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """How well each text answers the query, as a logit; higher is better."""


@dataclass(frozen=True, slots=True)
class RetrievalQuery:
    """Which texts are to be found, and how many."""

    request: Request
    limit: int = PASSAGES
    excluded: frozenset[int] = frozenset()
    """Texts that must not be read."""
    seed: int = 0
    """Of what is left to chance."""

    @property
    def words(self) -> str:
        """The words to look for."""
        name, address = parted(self.request.recipient)
        return f"{name or address} {self.request.text}"

    def shuffled(self, kinds: Mapping[int, str]) -> list[int]:
        """The ids of all texts but the excluded, in an order that the seed and the
        request give: the same again for the same history."""
        left = [record_id for record_id in kinds if record_id not in self.excluded]
        Random(f"{self.seed}\0{self.words}").shuffle(left)
        return left


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What the specialist reads besides the request."""

    passages: Sequence[Passage] = ()
    """Best first."""
    notes: str = ""
    """Such as a written profile; it never leaves the device."""

    def beside(self, background: str) -> str:
        """The notes together with those that the person gave."""
        return "\n\n".join(part for part in (self.notes, background) if part.strip())


@dataclass(frozen=True, slots=True)
class RetrievalContext:
    """What a personalisation may work with besides the texts."""

    profile: Callable[[Searchable, Collection[int]], str]
    """The written profile of these texts, less the excluded ones."""
    reranker: Reranker | None = None


class Personalisation(Protocol):
    """What of a history the specialist is given."""

    @property
    def name(self) -> str:
        """The name of its file."""

    @property
    def summary(self) -> str:
        """One line for a person who chooses."""

    def find(
        self, texts: Searchable, query: RetrievalQuery, context: RetrievalContext
    ) -> Retrieved:
        """What to read for a request.

        Raises:
            StoppedError: the person stopped.
        """


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
        RetrievalQuery(request).words,
        limit=limit,
        kind=request.task,
        recipient=request.recipient or None,
        excluded=excluded,
        distinctive_only=True,
    )
    missing = limit - len(found)
    if missing:
        taken = excluded | {passage.record_id for passage in found}
        found += texts.recent(limit=missing, kind=request.task, excluded=taken)
    return found


def best(
    texts: Searchable, query: RetrievalQuery, reranker: Reranker | None
) -> list[Passage]:
    """The texts of `find_passages`; of more of them, those that a reranker puts first
    where there is one."""
    limit = query.limit * (1 if reranker is None else RERANKED)
    found = find_passages(texts, query.request, limit=limit, excluded=query.excluded)
    if reranker is None or not found:
        return found
    scores = reranker.scores(query.words, [passage.text for passage in found])
    reranked = []
    for passage, logit in zip(found, scores, strict=True):
        score = math.exp(-math.log1p(math.exp(-logit))) if logit > -700 else 0.0
        reranked.append(replace(passage, score=score, score_parts={"reranker": score}))
    return sorted(reranked, key=lambda one: -one.score)[: query.limit]


def taken(texts: Searchable, ids: Sequence[int], limit: int) -> list[Passage]:
    """The first `limit` of these texts that are still there."""
    found = (texts.passage(record_id) for record_id in ids[:limit])
    return [passage for passage in found if passage is not None]
