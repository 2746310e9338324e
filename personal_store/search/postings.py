"""Where each term stands: in which texts, and how often.

Four tables hold it for the texts of a name: NAME_posting says where a term stands,
NAME_term in how many texts, NAME_spread how many terms stand in so many texts, and
NAME_length how many words each text has.

A term's postings lie in blocks of neighbouring record numbers, so that one more text
touches short rows, and a search reads each term's rows one after the other. Lengths lie
in blocks of the same kind, apart from the texts. Both together are all that BM25 wants
to know: a search needs no other table until it has the best.

Why not FTS5: it is as fast only for the few rarest words of a query, which find nine
tenths of the best texts: docs/adr/0013-own-postings.md.
"""

import json
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlite_utils import Database

_BLOCK_BITS = 12
_BLOCK = 1 << _BLOCK_BITS
_LENGTH = np.dtype("<u4")
_SET = """
    INSERT INTO {}_length VALUES (?, ?) ON CONFLICT(block)
    DO UPDATE SET lengths = excluded.lengths
"""

TABLES = ("_posting", "_term", "_spread", "_length")
"""What follows the name of the texts in the names of their tables."""
_POSTING = np.dtype([("place", "<u2"), ("count", "<u2")])
"""The place in the block, and how often the term stands in the text."""
_PACK = struct.Struct("<HH").pack
_SIZE = _POSTING.itemsize
_MOST = 0xFFFF
_PORTION = 100_000
"""Bytes of postings that are looked at together, so that memory stays small."""

_ADD = """
    INSERT INTO {}_posting VALUES (?, ?, ?) ON CONFLICT(term, block)
    DO UPDATE SET postings = CAST(postings || excluded.postings AS BLOB)
"""
_COUNT = """
    INSERT INTO {}_term VALUES (?, ?) ON CONFLICT(term)
    DO UPDATE SET texts = excluded.texts
"""
_SPREAD = """
    INSERT INTO {}_spread VALUES (?, ?) ON CONFLICT(texts)
    DO UPDATE SET terms = terms + excluded.terms
"""


def split(record_id: int) -> tuple[int, int]:
    """Block and place of a record."""
    return record_id >> _BLOCK_BITS, record_id & (_BLOCK - 1)


def first_of(block: NDArray[np.int64]) -> NDArray[np.int64]:
    """The record numbers at which blocks begin (N,)."""
    return block << _BLOCK_BITS


def read_lengths(db: Database, name: str) -> NDArray[np.uint32]:
    """The length of every text by its record number (highest + 1,); 0 without one."""
    rows = db.execute(f"SELECT block, lengths FROM {name}_length ORDER BY block")  # noqa: S608
    blocks = {block: np.frombuffer(lengths, _LENGTH) for block, lengths in rows}
    if not blocks:
        return np.zeros(0, np.uint32)
    last = max(blocks)
    every = np.zeros(last * _BLOCK + len(blocks[last]), np.uint32)
    for block, lengths in blocks.items():
        start = block * _BLOCK
        every[start : start + len(lengths)] = lengths
    return every


def write_lengths(db: Database, name: str, lengths: Mapping[int, int]) -> None:
    """Set the lengths of texts by their record numbers; 0 where there is none now."""
    blocks: dict[int, dict[int, int]] = defaultdict(dict)
    for record_id, length in lengths.items():
        block, place = split(record_id)
        blocks[block][place] = length
    for block, changed in blocks.items():
        row = db.execute(
            f"SELECT lengths FROM {name}_length WHERE block = ?",  # noqa: S608
            [block],
        ).fetchone()
        known = np.frombuffer(row[0] if row else b"", _LENGTH)
        every = np.zeros(_BLOCK, _LENGTH)
        every[: len(known)] = known
        every[list(changed)] = list(changed.values())
        kept = np.trim_zeros(every, "b")
        if len(kept):
            db.execute(_SET.format(name), [block, kept.tobytes()])
        else:
            db.execute(f"DELETE FROM {name}_length WHERE block = ?", [block])  # noqa: S608


@dataclass(frozen=True, slots=True)
class Postings:
    """Where a term stands (N,), in no order."""

    ids: NDArray[np.int64]
    counts: NDArray[np.float32]


class Changes:
    """Postings that come and go, written together for many texts."""

    def __init__(self) -> None:
        self._added: dict[tuple[str, int], bytearray] = defaultdict(bytearray)
        self._gone: dict[tuple[str, int], list[int]] = defaultdict(list)
        self._lengths: dict[int, int] = {}

    def add(self, record_id: int, terms: Sequence[str]) -> None:
        """A text that consists of these terms."""
        block, place = split(record_id)
        self._lengths[record_id] = len(terms)
        for term, count in Counter(terms).items():
            self._added[term, block] += _PACK(place, min(count, _MOST))

    def take_away(self, record_id: int, terms: Iterable[str]) -> None:
        """A text that consists of these terms. It goes before any that is added."""
        block, place = split(record_id)
        self._lengths[record_id] = 0
        for term in set(terms):
            self._gone[term, block].append(place)

    def write(self, db: Database, name: str) -> None:
        """Write them all, in a transaction of the caller."""
        more: Counter[str] = Counter()
        where = "WHERE term = ? AND block = ?"
        for key, places in self._gone.items():
            row = db.execute(
                f"SELECT postings FROM {name}_posting {where}",  # noqa: S608
                list(key),
            ).fetchone()
            if row is None:
                continue
            old = np.frombuffer(row[0], _POSTING)
            kept = old[~np.isin(old["place"], places)]
            if len(kept):
                sql = f"UPDATE {name}_posting SET postings = ? {where}"  # noqa: S608
                db.execute(sql, [kept.tobytes(), *key])
            else:
                db.execute(f"DELETE FROM {name}_posting {where}", list(key))  # noqa: S608
            more[key[0]] -= len(old) - len(kept)
        for (term, _), packed in self._added.items():
            more[term] += len(packed) // _SIZE
        rows = ((*key, self._added[key]) for key in sorted(self._added))
        db.conn.executemany(_ADD.format(name), rows)
        changed = [term for term, n in more.items() if n]
        before = document_frequencies(db, name, changed)
        after = {term: before.get(term, 0) + more[term] for term in changed}
        here = ((term, texts) for term, texts in after.items() if texts)
        db.conn.executemany(_COUNT.format(name), here)
        nowhere = ([term] for term, texts in after.items() if not texts)
        db.conn.executemany(f"DELETE FROM {name}_term WHERE term = ?", nowhere)  # noqa: S608
        moved = Counter(after.values())
        moved.subtract(before.get(term, 0) for term in after)
        changes = {texts: n for texts, n in moved.items() if texts and n}
        db.conn.executemany(_SPREAD.format(name), changes.items())
        fewer = ([texts] for texts, n in changes.items() if n < 0)
        sql = f"DELETE FROM {name}_spread WHERE texts = ? AND terms = 0"  # noqa: S608
        db.conn.executemany(sql, fewer)
        write_lengths(db, name, self._lengths)


def document_frequencies(
    db: Database, name: str, terms: Iterable[str]
) -> dict[str, int]:
    """In how many texts each of these terms stands; those in none are left out."""
    rows = db.execute(
        f"SELECT term, texts FROM json_each(?) JOIN {name}_term ON term = value",  # noqa: S608
        [json.dumps(list(dict.fromkeys(terms)))],
    )
    return dict(rows.fetchall())


def spread(db: Database, name: str) -> dict[int, int]:
    """How many terms stand in so many texts."""
    rows = db.execute(f"SELECT texts, terms FROM {name}_spread")  # noqa: S608
    return dict(rows.fetchall())


def faults(
    db: Database, name: str, held: Mapping[str, int], lengths: Mapping[int, int]
) -> list[str]:
    """What is wrong, where `held` is in how many texts each term really stands, and
    `lengths` how many terms each text really has."""
    sql = f"SELECT term, sum(length(postings)) / {_SIZE} FROM {name}_posting GROUP BY 1"  # noqa: S608
    counts = db.execute(f"SELECT term, texts FROM {name}_term")  # noqa: S608
    found = {
        f"{name}_posting": dict(db.execute(sql).fetchall()) == held,
        f"{name}_term": dict(counts.fetchall()) == held,
        f"{name}_spread": spread(db, name) == Counter(held.values()),
        f"{name}_length": _lengths(db, name) == lengths,
    }
    return [f"{table} does not fit the texts" for table in found if not found[table]]


def read(db: Database, name: str, term: str) -> Iterator[Postings]:
    """The postings of a term, in portions; none of one that stands nowhere."""
    rows = db.execute(
        f"SELECT block, postings FROM {name}_posting WHERE term = ?",  # noqa: S608
        [term],
    )
    blocks: list[tuple[int, bytes]] = []
    room = _PORTION
    for block, postings in rows:
        blocks.append((block, postings))
        room -= len(postings)
        if room <= 0:
            yield _unpacked(blocks)
            blocks, room = [], _PORTION
    if blocks:
        yield _unpacked(blocks)


def _lengths(db: Database, name: str) -> dict[int, int]:
    every = read_lengths(db, name)
    ids = np.flatnonzero(every)
    return dict(zip(ids.tolist(), every[ids].tolist(), strict=True))


def _unpacked(blocks: Sequence[tuple[int, bytes]]) -> Postings:
    raw = np.frombuffer(b"".join(postings for _, postings in blocks), _POSTING)
    first = first_of(np.array([block for block, _ in blocks], np.int64))
    ids = np.repeat(first, [len(postings) // _SIZE for _, postings in blocks])
    ids += raw["place"]
    return Postings(ids, raw["count"].astype(np.float32))
