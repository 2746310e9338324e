"""Which own texts fit what is being written: BM25, then a few gentle preferences.

A corpus is everything that can be found. Large stores may later narrow it with a full
text index before it is scored; the scores stay those of rank_bm25.
"""

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi, BM25Plus

from personal_store.tokens import Shingles, overlap, shingles

SMALL = 20
"""Below so many texts Okapi's weights turn negative; BM25+ has positive ones."""
TOO_COMMON = 0.5
"""Terms in more than this share of the texts say nothing about any."""
CANDIDATES = 200
SAME_TEXT = 0.6
"""Overlap of three-word runs from which two texts count as one."""

# Shares of the best BM25 score: enough to decide between similar texts.
RECENCY, SAME_RECIPIENT, SAME_KIND = 0.1, 0.3, 0.2
HALF_LIFE = 365 * 86_400
"""Seconds after which recency counts half; measured from the newest text."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A searchable text, without the text."""

    id: int
    kind: str
    recipient: str
    recipient_address: str
    sent_at: int | None
    terms: list[str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a search asks for. Kind and recipient are preferences, never filters."""

    limit: int
    kind: str | None = None
    recipient: str | None = None
    excluded: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A found entry and why it was found."""

    id: int
    score: float
    parts: dict[str, float]


class Corpus:
    """Own texts, ready to be scored. Read-only, so threads may share it."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.entries = entries
        self._index = _index(entries)
        self._newest = max((e.sent_at for e in entries if e.sent_at), default=0)
        self._found_in = Counter(
            term for frequencies in self._frequencies() for term in frequencies
        )

    def search(self, query: list[str], wanted: Wanted) -> list[Hit]:
        """The best entries for these terms, best first; only those that match."""
        scores = self.scores(query)
        fits = np.flatnonzero(scores > 0)
        best = fits[np.argsort(-scores[fits], kind="stable")]
        chosen = [i for i in best if self.entries[i].id not in wanted.excluded]
        unit = float(scores[best[0]]) if len(best) else 0.0
        hits = [
            (self._judge(i, float(scores[i]), unit, wanted), self.entries[i])
            for i in chosen[:CANDIDATES]
        ]
        hits.sort(key=lambda pair: _order(pair[0].score, pair[1]))
        return _distinct(hits, wanted.limit)

    def recent(self, wanted: Wanted) -> list[Hit]:
        """The newest entries; same recipient and same kind before all others."""
        chosen = [entry for entry in self.entries if entry.id not in wanted.excluded]
        chosen.sort(
            key=lambda entry: (
                not _same_recipient(entry, wanted.recipient),
                entry.kind != wanted.kind,
                *_order(0.0, entry),
            )
        )
        return _distinct([(Hit(e.id, 0.0, {}), e) for e in chosen], wanted.limit)

    def scores(self, query: list[str]) -> NDArray[np.float64]:
        """BM25 of every entry (N,) for the terms that tell entries apart."""
        terms = [term for term in dict.fromkeys(query) if self._tells_apart(term)]
        if self._index is None or not terms:
            return np.zeros(len(self.entries))
        scores = np.asarray(self._index.get_scores(terms))
        if isinstance(self._index, BM25Plus):  # it gives something to everybody
            given = self._index.delta * sum(self._index.idf[term] for term in terms)
            scores = np.where(scores - given > 1e-9, scores - given, 0)
        return scores

    def _tells_apart(self, term: str) -> bool:
        found_in = self._found_in[term]
        few = len(self.entries) < SMALL
        return bool(found_in) and (few or found_in <= TOO_COMMON * len(self.entries))

    def _frequencies(self) -> list[dict[str, int]]:
        return list(getattr(self._index, "doc_freqs", ()))

    def _judge(self, index: int, bm25: float, unit: float, wanted: Wanted) -> Hit:
        entry = self.entries[index]
        parts = {"bm25": bm25, "recency": unit * RECENCY * self._recency(entry)}
        if wanted.recipient is not None:
            same = _same_recipient(entry, wanted.recipient)
            parts["same_recipient"] = unit * SAME_RECIPIENT * same
        if wanted.kind is not None:
            parts["same_kind"] = unit * SAME_KIND * (entry.kind == wanted.kind)
        return Hit(entry.id, sum(parts.values()), parts)

    def _recency(self, entry: Entry) -> float:
        """1 for the newest text, half of it per half-life, 0 without a date."""
        if entry.sent_at is None:
            return 0.0
        return float(0.5 ** ((self._newest - entry.sent_at) / HALF_LIFE))


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


def _index(entries: Sequence[Entry]) -> Any:
    """A BM25 of rank_bm25; None if there is nothing to find."""
    if not any(entry.terms for entry in entries):
        return None  # rank_bm25 divides by the total length
    kind = BM25Plus if len(entries) < SMALL else BM25Okapi
    return kind([entry.terms for entry in entries])


def _order(score: float, entry: Entry) -> tuple[float, float, int]:
    """Best first, then newest; of undated ones, the last that was imported, as most
    files are in the order of time."""
    undated = float("-inf")
    return -score, -(undated if entry.sent_at is None else entry.sent_at), -entry.id


def _same_recipient(entry: Entry, recipient: str | None) -> bool:
    if not recipient:
        return False
    wanted = recipient.strip().casefold()
    if wanted == entry.recipient_address:
        return True
    # People say "Ana" where the mail says "Ana Ruiz".
    return set(wanted.split()) <= set(entry.recipient.casefold().split())


def _distinct(hits: list[tuple[Hit, Entry]], limit: int) -> list[Hit]:
    """The first hits that do not say nearly the same as a better one."""
    chosen: list[Hit] = []
    seen: list[Shingles] = []
    for hit, entry in hits:
        if len(chosen) >= limit:
            break
        words = shingles(entry.terms)
        if all(overlap(words, other) < SAME_TEXT for other in seen):
            chosen.append(hit)
            seen.append(words)
    return chosen
