"""Which own texts are read for a request, and the private and the public prompt.

This is the only module that joins the writer's history to a prompt. The public prompt
holds the request alone; it is all that the server reads besides the draft.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Protocol

from rank_bm25 import BM25Okapi

from decoding_core.errors import ContextFullError
from edge_app.decoding.events import Source
from edge_app.retrieval.naming import called, parted, readdressed
from edge_app.retrieval.voice import in_manner
from models.chat import ChatTemplate, PromptPacker, Tokenize, prompt_ids
from models.prompts import Request, public_messages
from personal_store import Passage
from personal_store.text.tokens import tokens

PASSAGES = 5  # how many texts are looked for
RERANKED = 4  # times as many are found to choose from, by their manner or a reranker


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
        """Texts that share words with the query, best first; `distinctive_only`:
        without words of more than half of the texts."""

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
        """One text, whole; None if it is gone."""


class Reranker(Protocol):
    """Scores texts by reading each beside the request."""

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """How well each text answers the query, as a logit; higher is better."""


@dataclass(frozen=True, slots=True)
class RetrievalQuery:
    """Which texts are to be found, and how many."""

    request: Request
    limit: int = PASSAGES
    excluded: frozenset[int] = frozenset()  # texts that must not be read
    seed: int = 0  # of what is left to chance

    @property
    def words(self) -> str:
        """The words to look for."""
        name, address = parted(self.request.recipient)
        return f"{name or address} {self.request.text}"

    def shuffled(self, kinds: Mapping[int, str]) -> list[int]:
        """The ids of all texts but the excluded, in an order by seed and request."""
        left = [record_id for record_id in kinds if record_id not in self.excluded]
        Random(f"{self.seed}\0{self.words}").shuffle(left)
        return left


def find_passages(
    texts: Searchable,
    request: Request,
    *,
    limit: int = PASSAGES,
    excluded: frozenset[int] = frozenset(),
) -> list[Passage]:
    """Up to `limit` texts: the best matches, then the newest of the kind."""
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


def _by_words(
    texts: Searchable, query: RetrievalQuery, reranker: Reranker | None
) -> list[Passage]:
    """The texts of `find_passages`, of more those that a reranker puts first; without
    one, also by how far they are in the manner of letters to the recipient.

    Source: the retrieval of LaMP, which both papers use.
    """
    limit = query.limit * RERANKED
    found = find_passages(texts, query.request, limit=limit, excluded=query.excluded)
    if reranker is None or not found:
        return in_manner(found)[: query.limit]
    scores = reranker.scores(query.words, [passage.text for passage in found])
    reranked = []
    for passage, logit in zip(found, scores, strict=True):
        score = math.exp(-math.log1p(math.exp(-logit))) if logit > -700 else 0.0
        reranked.append(replace(passage, score=score, score_parts={"reranker": score}))
    return sorted(reranked, key=lambda one: -one.score)[: query.limit]


def _worst(
    texts: Searchable, query: RetrievalQuery, _: Reranker | None
) -> list[Passage]:
    """The lowest BM25 scores, other kinds first: a test with a history that does not
    fit."""
    fits, kinds = texts.matching(query.words), texts.kinds()
    ids = query.shuffled(kinds)
    ids.sort(key=lambda i: (fits.get(i, 0.0), kinds[i] == query.request.task))
    return _first_of(texts, ids, query.limit)


def _by_chance(
    texts: Searchable, query: RetrievalQuery, _: Reranker | None
) -> list[Passage]:
    """Any texts, those of the kind that was asked for before all others."""
    kinds = texts.kinds()
    ids = query.shuffled(kinds)
    ids.sort(key=lambda record_id: kinds[record_id] != query.request.task)
    return _first_of(texts, ids, query.limit)


def _newest(
    texts: Searchable, query: RetrievalQuery, _: Reranker | None
) -> list[Passage]:
    """The newest, those of the kind that was asked for first: a baseline of LaMP."""
    kind, excluded = query.request.task, query.excluded
    return texts.recent(limit=query.limit, kind=kind, excluded=excluded)


def _by_package(
    texts: Searchable, query: RetrievalQuery, _: Reranker | None
) -> list[Passage]:
    """The best by the package rank_bm25, without preferences, to compare with."""
    there = (texts.passage(one) for one in texts.kinds() if one not in query.excluded)
    passages = [passage for passage in there if passage is not None]
    if not passages:
        return []
    index: Any = BM25Okapi([tokens(f"{p.subject}\n{p.text}") for p in passages])  # type: ignore[no-untyped-call]
    scores = index.get_scores(tokens(query.words))
    best = sorted(range(len(passages)), key=lambda i: -scores[i])[: query.limit]
    return [replace(passages[i], score=float(scores[i])) for i in best]


def _first_of(texts: Searchable, ids: Sequence[int], limit: int) -> list[Passage]:
    """The first `limit` of these texts that still exist."""
    found = (texts.passage(record_id) for record_id in ids[:limit])
    return [passage for passage in found if passage is not None]


Finder = Callable[[Searchable, RetrievalQuery, Reranker | None], list[Passage]]
FINDERS: dict[str, Finder] = {
    "bm25": _by_words,
    "noise": _worst,
    "none": lambda *_: [],
    "pad": _by_words,
    "random": _by_chance,
    "rank_bm25": _by_package,
    "recency": _newest,
    "tam": lambda *_: [],
}
"""How each choice of `personalisation` finds what is read."""

LONGEST_CONTEXT = 8192  # tokens of a specialist's context at most
_MARGIN = 16


@dataclass(frozen=True, slots=True)
class Prompts:
    """Both prompts as token ids, and the texts that the private one holds."""

    public_ids: tuple[int, ...]
    private_ids: tuple[int, ...]
    sources: tuple[Source, ...]
    generalist_ids: tuple[int, ...] = ()
    """The public prompt in the tokens of a generalist of another vocabulary that runs
    in this process."""


@dataclass(frozen=True, slots=True)
class PromptBuilder:
    """Builds prompts for one model."""

    tokenize: Tokenize
    template: ChatTemplate
    context_length: int

    def build(
        self,
        request: Request,
        passages: Sequence[Passage],
        background: str,
        max_tokens: int,
        *,
        clamps: bool = False,
    ) -> Prompts:
        """Both prompts, with as many passages, best first, as leave room for the text.
        With `clamps` a text that is too long for the room gets the room there is.
        Raises ContextFullError if the request alone leaves no room."""
        least = 1 if clamps else max_tokens
        room = self.context_length - least - _MARGIN
        if room < 1:
            raise ContextFullError(
                f"--max-tokens {max_tokens} leaves no room for the request: the model "
                f"holds {self.context_length} tokens in all"
            )
        public = prompt_ids(self.tokenize, self.template, public_messages(request))
        packer = PromptPacker(self.tokenize, self.template)
        bare = packer.private_ids(request, (), background)
        taken = max(len(public), len(bare))
        if taken > room:
            raise ContextFullError(
                f"the request and its notes take {taken} tokens; "
                f"with {least} for the text they must not exceed {room}: "
                "shorten them or lower --max-tokens"
            )
        room = max(taken, self.context_length - max_tokens - _MARGIN)
        excerpts = [packer.excerpt(*_as_read(p, request)) for p in passages]
        chosen = packer.fitting(request, excerpts, background, room)
        private = packer.private_ids(request, [excerpts[i] for i in chosen], background)
        sources = tuple(
            Source(p.record_id, title(p), p.score, dict(p.score_parts), p.text)
            for p in (passages[i] for i in chosen)
        )
        return Prompts(tuple(public), tuple(private), sources)


def _as_read(passage: Passage, request: Request) -> tuple[str, str, str, str]:
    """Kind, recipient, subject and text of a passage in a prompt. All mails read for a
    mail greet its recipient: a small model greets whomever the others do."""
    kind, recipient, text = passage.kind, passage.recipient, passage.text
    if kind in ("email", "message"):
        if request.task == "email":
            text = readdressed(text, recipient, request.recipient)
            recipient = request.recipient
        else:
            recipient = called(recipient, [text])
    return kind, recipient, passage.subject, text


def title(passage: Passage) -> str:
    """One line that names a text of the store."""
    words = passage.kind
    if passage.recipient:
        words += (" of " if passage.kind == "review" else " to ") + passage.recipient
    if passage.date:
        words += f", {passage.date:%Y-%m-%d}"
    return f"{words}: {passage.subject}" if passage.subject else words
