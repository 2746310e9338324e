"""BM25 over the postings of a store, and from its scores to the few texts that are
read.

BM25 of every text is added up from postings and lengths; the texts themselves are read
for the best alone, which gentle preferences then order. The same engine serves a store
of any size, and a list of texts in memory (`Index.of`).

The formula is that of rank_bm25's BM25Okapi, but for the weight of a term (its idf):
the package's turns negative for words of most texts and is lifted by a floor there;
ours is log(1 + (N - n + 0.5) / (n + 0.5)), which is positive and falls with n. See
docs/adr/0013-own-postings.md.
"""

import json
import math
import re
import sqlite3
import weakref
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sqlite_utils import Database

from personal_store.search.tables import (
    OWN_TEXTS,
    Changes,
    Texts,
    document_frequencies,
    read_lengths,
    read_postings,
)
from personal_store.text.greetings import is_to
from personal_store.text.tokens import Shingles, overlap, shingles, tokens

K1, B = 1.5, 0.75
"""How soon a count saturates, and how much the length of a text matters."""
SMALL = 20  # below this number of texts every term counts as distinctive
CANDIDATES = 100
"""How many of the best by BM25 the preferences order, if no more are wanted."""
SAME_TEXT = 0.6  # overlap of three-word runs from which two texts count as one

# Shares of the best BM25 score: enough to decide between similar texts.
RECENCY, SAME_RECIPIENT, SAME_KIND = 0.1, 0.3, 0.2
HALF_LIFE = 365 * 86_400
"""Seconds after which recency counts half; measured from the newest text."""
_RECENT = 500  # how many of the newest texts `recent` looks at besides those wanted
_PRAGMAS = ("cache_size = -32000", "mmap_size = 268435456")
"""A search reads rows of many words, twice. Set here, as imports do without."""
_OPEN, _CLOSE = '"“„”«»', '"“”«»'
_PART = re.compile(
    rf"(?P<minus>(?<!\S)-)?(?:[{_OPEN}](?P<phrase>[^{_CLOSE}]*)[{_CLOSE}]?"
    rf"|(?P<word>[^\s{_OPEN}]+))"
)
_IN_MEMORY = """
CREATE TABLE record(id INTEGER PRIMARY KEY, kind TEXT, recipient TEXT,
                    recipient_address TEXT, sent_at INTEGER);
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """A searchable text, as its terms."""

    id: int
    kind: str
    recipient: str
    recipient_address: str
    sent_at: int | None
    terms: Sequence[str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a search asks for. Kind and recipient are preferences, never filters."""

    limit: int
    kind: str | None = None
    recipient: str | None = None
    excluded: Collection[int] = ()
    only: Collection[int] | None = None
    """Ids of the only texts that may be found; None: any text."""
    distinctive_only: bool = False
    """Whether words of more than half of the texts are left out of the query."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A found entry and why it was found."""

    id: int
    score: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)
    """What the score is the sum of."""
    terms: Mapping[str, float] = field(default_factory=dict)
    """What the part `bm25` is the sum of, word by word."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A search as it was typed, in terms of the index."""

    terms: tuple[str, ...]  # words to rank by, those of phrases included
    phrases: tuple[str, ...] = ()
    """Terms with spaces between, that stand side by side in every text found."""
    without: tuple[str, ...] = ()
    """Terms with spaces between, that stand side by side in no text found."""

    @classmethod
    def of(cls, typed: str) -> Self:
        """A search as typed. A quotation that is not closed ends with the line."""
        terms: list[str] = []
        phrases: list[str] = []
        without: list[str] = []
        for part in _PART.finditer(typed):
            found = tokens(part["word"] or part["phrase"] or "")
            if part["minus"] and found:
                without.append(" ".join(found))
                continue
            terms += found
            if part["phrase"] is not None and found:
                phrases.append(" ".join(found))
        return cls(tuple(terms), tuple(phrases), tuple(without))

    def fitting(self, db: Database, texts: Texts) -> frozenset[int] | None:
        """Ids of the texts that hold every phrase and nothing that is excluded; None
        if any text may be found."""
        if not (self.phrases or self.without):
            return None
        holds = "instr(' ' || tok || ' ', ' ' || ? || ' ')"
        conditions = [holds] * len(self.phrases) + [f"NOT {holds}"] * len(self.without)
        rows = db.execute(
            f"SELECT id FROM {texts.name} WHERE {' AND '.join(conditions)}",  # noqa: S608
            [*self.phrases, *self.without],
        )
        return frozenset(record_id for (record_id,) in rows)


class Index:
    """The own or the received texts of an open store."""

    def __init__(self, db: Database, texts: Texts) -> None:
        self._db = db
        self._texts = texts
        for pragma in _PRAGMAS:
            db.execute(f"PRAGMA {pragma}")
        db.conn.create_function("is_to", 3, is_to, deterministic=True)

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> Self:
        """An index in memory over texts that lie in no store; threads may share it."""
        connection = sqlite3.connect(
            ":memory:", isolation_level=None, check_same_thread=False
        )
        connection.executescript(_IN_MEMORY + OWN_TEXTS.schema())
        db = Database(connection, execute_plugins=False)
        changes = Changes(db, OWN_TEXTS)
        for e in entries:
            row = [e.id, e.kind, e.recipient, e.recipient_address, e.sent_at]
            db.execute("INSERT INTO record VALUES (?, ?, ?, ?, ?)", row)
            changes.add(e.id, e.terms)
        changes.write()
        index = cls(db, OWN_TEXTS)
        weakref.finalize(index, connection.close)
        return index

    def search(self, query: Sequence[str], wanted: Wanted) -> list[Hit]:
        """The best entries for these terms, best first; only those that match.

        The best by BM25 are ordered by the preferences too; near-doubles of better ones
        are left out.
        """
        bm25 = _BM25(self._db, self._texts, query, wanted.distinctive_only)
        ids = bm25.best(wanted)
        if not ids:
            return []
        row = self._db.execute(
            f"""SELECT sent_at FROM record JOIN {self._texts.name} USING (id)
                WHERE sent_at IS NOT NULL ORDER BY sent_at DESC LIMIT 1"""  # noqa: S608
        ).fetchone()
        newest = row[0] if row else 0
        unit = float(bm25.scores[ids[0]])
        pairs = [
            (_judged(entry, float(bm25.scores[entry.id]), unit, wanted, newest), entry)
            for entry in self._entries(ids)
        ]
        # Equal ones: the newest first; of undated ones the last that was imported, as
        # most files are in the order of time.
        pairs.sort(
            key=lambda pair: (
                -pair[0].score,
                -(-math.inf if pair[1].sent_at is None else pair[1].sent_at),
                -pair[1].id,
            )
        )
        return [
            Hit(hit.id, hit.score, hit.parts, bm25.shares(entry))
            for hit, entry in _distinct(pairs, wanted.limit)
        ]

    def recent(self, wanted: Wanted) -> list[Hit]:
        """The newest entries; same recipient and same kind before all others."""
        rows = self._db.execute(
            f"""SELECT id FROM {self._texts.name} JOIN record USING (id)
                WHERE id NOT IN (SELECT value FROM json_each(?))
                AND (? OR id IN (SELECT value FROM json_each(?)))
                ORDER BY NOT is_to(?, recipient, recipient_address), kind IS NOT ?,
                sent_at IS NULL, sent_at DESC, id DESC LIMIT ?""",  # noqa: S608
            [
                json.dumps(list(wanted.excluded)),
                wanted.only is None,
                json.dumps(list(wanted.only or ())),
                wanted.recipient,
                wanted.kind,
                _RECENT + wanted.limit,
            ],
        )
        entries = self._entries([row[0] for row in rows])
        pairs = [(Hit(entry.id), entry) for entry in entries]
        return [hit for hit, _ in _distinct(pairs, wanted.limit)]

    def matching(self, query: Sequence[str]) -> dict[int, float]:
        """BM25 by id of every text that shares distinctive words with the query."""
        scores = _BM25(self._db, self._texts, query, distinctive_only=True).scores
        ids = np.flatnonzero(scores)
        return dict(zip(ids.tolist(), scores[ids].tolist(), strict=True))

    def kinds(self) -> dict[int, str]:
        """The kind of each text by its id, in the order of import."""
        rows = self._db.execute(
            f"SELECT id, kind FROM {self._texts.name} JOIN record USING (id) "  # noqa: S608
            "ORDER BY id"
        )
        return dict(rows.fetchall())

    def entries(self) -> list[Entry]:
        """All texts, in the order of import."""
        return self._entries(list(self.kinds()))

    def _entries(self, ids: Sequence[int]) -> list[Entry]:
        """The entries with these ids, in this order."""
        rows = self._db.execute(
            f"""SELECT doc.id, kind, recipient, recipient_address, sent_at, tok
                FROM json_each(?) AS wanted
                CROSS JOIN {self._texts.name} AS doc ON doc.id = wanted.value
                CROSS JOIN record ON record.id = doc.id ORDER BY wanted.key""",  # noqa: S608
            [json.dumps(ids)],
        )
        return [
            Entry(record_id, kind, name, address, sent_at, terms.split())
            for record_id, kind, name, address, sent_at, terms in rows
        ]


class _BM25:
    """BM25 of every text for one query."""

    def __init__(
        self, db: Database, texts: Texts, query: Sequence[str], distinctive_only: bool
    ) -> None:
        lengths = read_lengths(db, texts)
        count = int(np.count_nonzero(lengths))
        most = count // 2 if distinctive_only and count >= SMALL else count
        known = document_frequencies(db, texts, query)
        self._idf = {
            term: math.log1p((count - known[term] + 0.5) / (known[term] + 0.5))
            for term in dict.fromkeys(query)
            if 0 < known.get(term, 0) <= most
        }
        self._mean = float(lengths.sum()) / count if count else 1.0
        self.scores: NDArray[np.float32] = np.zeros(len(lengths), np.float32)
        """By record number (highest + 1,); 0 for those without a term of the query."""
        if not self._idf:
            return
        norms = lengths.astype(np.float32) * (K1 * B / self._mean) + K1 * (1 - B)
        for term, idf in self._idf.items():
            for ids, counts in read_postings(db, texts, term):
                self.scores[ids] += idf * (K1 + 1) * counts / (counts + norms[ids])

    def best(self, wanted: Wanted) -> list[int]:
        """The ids of the best texts that may be found, best first."""
        scores = self.scores.copy()
        if wanted.only is not None:
            only = np.fromiter(wanted.only, np.int64, len(wanted.only))
            scores = np.where(np.isin(np.arange(len(scores)), only), scores, 0)
        excluded = np.fromiter(wanted.excluded, np.int64, len(wanted.excluded))
        scores[excluded[excluded < len(scores)]] = 0
        ids = np.flatnonzero(scores)
        most = max(CANDIDATES, wanted.limit)
        if len(ids) > most:
            ids = ids[scores[ids] >= np.partition(scores[ids], -most)[-most]]
        order = np.argsort(-scores[ids], kind="stable")[:most]
        return [int(record_id) for record_id in ids[order]]

    def shares(self, entry: Entry) -> dict[str, float]:
        """How much each term adds to the score of a text, the most first."""
        counts = Counter(entry.terms)
        norm = K1 * (1 - B + B * len(entry.terms) / self._mean)
        shares = {
            term: idf * (K1 + 1) * counts[term] / (counts[term] + norm)
            for term, idf in self._idf.items()
            if term in counts
        }
        return dict(sorted(shares.items(), key=lambda pair: -pair[1]))


def _judged(entry: Entry, bm25: float, unit: float, wanted: Wanted, newest: int) -> Hit:
    """The score with its parts; preferences are shares of the best BM25, `unit`."""
    recency = 0.0  # 1 for the newest text, half of it per half-life
    if entry.sent_at is not None:
        recency = float(0.5 ** ((newest - entry.sent_at) / HALF_LIFE))
    parts = {"bm25": bm25, "recency": unit * RECENCY * recency}
    if wanted.recipient is not None:
        same = is_to(wanted.recipient, entry.recipient, entry.recipient_address)
        parts["same_recipient"] = unit * SAME_RECIPIENT * same
    if wanted.kind is not None:
        parts["same_kind"] = unit * SAME_KIND * (entry.kind == wanted.kind)
    return Hit(entry.id, sum(parts.values()), parts)


def _distinct(
    pairs: Iterable[tuple[Hit, Entry]], limit: int
) -> Iterator[tuple[Hit, Entry]]:
    """The first hits that do not say nearly the same as a better one."""
    seen: list[Shingles] = []
    for hit, entry in pairs:
        if len(seen) >= limit:
            return
        words = shingles(entry.terms)
        if all(overlap(words, other) < SAME_TEXT for other in seen):
            seen.append(words)
            yield hit, entry
