"""What is measured: a true text, what would have been asked for it, and the history
that was there when it was written."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from decoding_core.errors import DecodingError
from edge_app.retrieval.context import Searchable
from models.prompts import Request
from personal_store import Passage
from personal_store.search.ranking import Entry, Hit, Wanted
from personal_store.search.retrieval import Corpus
from personal_store.text.tokens import tokens

_OPENING = re.compile(r"\s*(?:\S+\s+){6}")


class CasesError(DecodingError):
    """Texts to measure cannot be read, or there are none. Told to the user."""


@dataclass(frozen=True, slots=True)
class Case:
    """One text to measure."""

    group: str
    """The set it is of, such as the name of a file."""
    genre: str
    user: str
    name: str
    """Tells the texts of a user apart."""
    request: Request
    history: Callable[[], Searchable]
    """The writer's other texts, made ready when they are needed."""
    text: str
    """The true text, without its beginning."""
    beginning: str = ""
    """What of the text is there already: read, never counted."""
    background: str = ""


class History:
    """Past texts that are searched as the store searches."""

    def __init__(
        self, entries: Sequence[Entry], lookup: Callable[[int], Passage | None]
    ) -> None:
        """`lookup` gives the text of an entry; None where it has gone."""
        self._corpus = Corpus(entries)
        self._lookup = lookup

    @classmethod
    def of(cls, passages: Sequence[Passage]) -> History:
        """The history that consists of these passages."""
        texts = {passage.record_id: passage for passage in passages}
        entries = [
            Entry(
                p.record_id,
                p.kind,
                p.recipient,
                "",
                None if p.date is None else int(p.date.timestamp()),
                tokens(f"{p.subject}\n{p.text}"),  # as the store indexes a text
            )
            for p in passages
        ]
        return cls(entries, texts.get)

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
        wanted = Wanted(
            limit, kind, recipient, excluded, distinctive_only=distinctive_only
        )
        return self._passages(self._corpus.search(tokens(query), wanted))

    def recent(
        self,
        *,
        limit: int = 5,
        kind: str | None = None,
        recipient: str | None = None,
        excluded: Collection[int] = (),
    ) -> list[Passage]:
        """The newest texts, those to the same recipient and of this kind first."""
        wanted = Wanted(limit, kind, recipient, excluded)
        return self._passages(self._corpus.recent(wanted))

    def kinds(self) -> Mapping[int, str]:
        """The kind of each text by its id, in the order of the history."""
        return self._corpus.kinds()

    def matching(self, query: str) -> Mapping[int, float]:
        """BM25 by id of every text that shares distinctive words with the query."""
        return self._corpus.matching(tokens(query))

    def passage(self, record_id: int) -> Passage | None:
        """One text, whole; None where it has gone."""
        return self._lookup(record_id)

    def _passages(self, hits: Sequence[Hit]) -> list[Passage]:
        found = ((self._lookup(hit.id), hit) for hit in hits)
        return [
            replace(
                passage,
                score=hit.score,
                score_parts=dict(hit.parts),
                terms=dict(hit.terms),
            )
            for passage, hit in found
            if passage is not None
        ]


def opened(text: str) -> tuple[str, str]:
    """The first words of a text, which stand in for a request that nobody kept, and
    the rest, from the space on; no rest where the text is hardly longer."""
    match = _OPENING.match(text)
    if match is None:
        return text.strip(), ""
    beginning = match.group().rstrip()
    return beginning, text[len(beginning) :]
