"""Own texts in memory, searched exhaustively: the way for stores of few texts.

Large ones are searched through an index in the file: see index.py.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from personal_store.search.ranking import Entry, Hit, Wanted, newest_first, ranked
from personal_store.search.scoring import Scorer, Statistics, idf_of


class Searcher(Protocol):
    """Texts that can be searched, wherever they lie."""

    def search(self, query: Sequence[str], wanted: Wanted) -> list[Hit]:
        """The best entries for these terms, best first; only those that match."""

    def recent(self, wanted: Wanted) -> list[Hit]:
        """The newest entries; same recipient and same kind before all others."""

    def kinds(self) -> Mapping[int, str]:
        """The kind of each text by its id, in the order of import."""

    def matching(self, query: Sequence[str]) -> Mapping[int, float]:
        """BM25 by id of every text that shares distinctive words, however many."""


class Corpus:
    """Texts that are held and scored as a whole. Read-only, so threads may share it."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self._scorer = Scorer([entry.terms for entry in entries])
        self._statistics = self._scorer.statistics()
        self._newest = max((e.sent_at for e in entries if e.sent_at), default=0)

    def search(self, query: Sequence[str], wanted: Wanted) -> list[Hit]:
        """The best entries for these terms, best first; only those that match."""
        terms = self._statistics.asked(query, distinctive_only=wanted.distinctive_only)
        scores = self._scorer.scores(terms, self._statistics)
        found = ranked(self.entries, scores, wanted, self._newest)
        return explained(found, self._scorer, terms, self._statistics)

    def recent(self, wanted: Wanted) -> list[Hit]:
        """The newest entries; same recipient and same kind before all others."""
        return newest_first(self.entries, wanted)

    def kinds(self) -> dict[int, str]:
        """The kind of each text by its id, in the order of import."""
        return {entry.id: entry.kind for entry in self.entries}

    def matching(self, query: Sequence[str]) -> dict[int, float]:
        """BM25 by id of every text that shares distinctive words, however many."""
        terms = self._statistics.distinctive_only(query)
        scores = self._scorer.scores(terms, self._statistics)
        pairs = zip(self.entries, scores, strict=True)
        return {entry.id: float(score) for entry, score in pairs if score > 0}

    def scores(self, query: Sequence[str]) -> NDArray[np.float64]:
        """BM25 of every entry (N,)."""
        return self._scorer.scores(self._statistics.known(query), self._statistics)


class CorpusCache:
    """The corpora of the stores used last; a store's change counter outdates its own.

    Shared by all threads of a process, each of which opens the store for itself.
    """

    def __init__(self, size: int = 2) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[int, Corpus]] = OrderedDict()

    def get(self, store: str, changes: int, build: Callable[[], Corpus]) -> Corpus:
        """The corpus of a store after so many changes."""
        with self._lock:
            known = self._kept.get(store)
            if known is None or known[0] != changes:
                known = (changes, build())
                self._kept[store] = known
            self._kept.move_to_end(store)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
            return known[1]


def explained(
    found: Sequence[tuple[Hit, int]],
    scorer: Scorer,
    terms: Sequence[str],
    statistics: Statistics,
) -> list[Hit]:
    """The hits, each with what every term gave to it."""
    idf = idf_of(terms, statistics)
    return [
        replace(hit, terms=scorer.shares(place, idf, statistics))
        for hit, place in found
    ]
