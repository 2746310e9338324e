"""Where each term stands: which texts, how often, and how long these are.

A term's postings lie in blocks of neighbouring record numbers, so that one more text
touches short rows, and a search reads each term's rows one after the other. All that
BM25 wants to know is in them: a search needs no other table until it has the best.

Why not FTS5: it is as fast only for the few rarest words of a query, which find nine
tenths of the best texts: docs/adr/0013-own-postings.md.
"""

import json
import struct
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlite_utils import Database

_BLOCK_BITS = 11
_POSTING = np.dtype([("place", "<u2"), ("count", "<u2"), ("length", "<u4")])
"""The place in the block; how often the term stands in the text; the text's words."""
_PACK = struct.Struct("<HHI").pack
_SIZE = _POSTING.itemsize
_MOST = 0xFFFF


@dataclass(frozen=True, slots=True)
class Postings:
    """Where a term stands (N,), in no order."""

    ids: NDArray[np.int64]
    counts: NDArray[np.float64]
    lengths: NDArray[np.float64]
    """Words of the texts."""


_ADD = """
    INSERT INTO {} VALUES (?, ?, ?) ON CONFLICT(term, block)
    DO UPDATE SET postings = CAST(postings || excluded.postings AS BLOB)
"""


class Changes:
    """Postings that come and go, written together for many texts."""

    def __init__(self) -> None:
        self._added: dict[tuple[str, int], bytearray] = defaultdict(bytearray)
        self._gone: dict[tuple[str, int], list[int]] = defaultdict(list)

    def add(self, record_id: int, terms: Sequence[str]) -> None:
        """A text that consists of these terms."""
        block, place = _split(record_id)
        for term, count in Counter(terms).items():
            packed = _PACK(place, min(count, _MOST), len(terms))
            self._added[term, block] += packed

    def take_away(self, record_id: int, terms: Iterable[str]) -> None:
        """A text that consists of these terms. It goes before any that is added."""
        block, place = _split(record_id)
        for term in set(terms):
            self._gone[term, block].append(place)

    def write(self, db: Database, table: str) -> None:
        """Write them all, in a transaction of the caller."""
        for key in self._gone:
            _take_away(db, table, key, self._gone[key])
        rows = ((*key, self._added[key]) for key in sorted(self._added))
        db.conn.executemany(_ADD.format(table), rows)


def found_in(db: Database, table: str, terms: Iterable[str]) -> dict[str, int]:
    """In how many texts each of these terms stands; those in none are left out."""
    rows = db.execute(
        f"""SELECT term, sum(length(postings)) / {_SIZE}
            FROM json_each(?) JOIN {table} ON term = value GROUP BY term""",  # noqa: S608
        [json.dumps(list(dict.fromkeys(terms)))],
    )
    return dict(rows.fetchall())


def all_found_in(db: Database, table: str) -> dict[str, int]:
    """The same of every term."""
    sql = f"SELECT term, sum(length(postings)) / {_SIZE} FROM {table} GROUP BY term"  # noqa: S608
    return dict(db.execute(sql).fetchall())


def read(db: Database, table: str, term: str) -> Postings:
    """The postings of a term; none of one that stands nowhere."""
    rows = db.execute(
        f"SELECT block, postings FROM {table} WHERE term = ?",  # noqa: S608
        [term],
    ).fetchall()
    raw = np.frombuffer(b"".join(row[1] for row in rows), _POSTING)
    first = np.array([row[0] for row in rows], np.int64) << _BLOCK_BITS
    sizes = [len(row[1]) // _SIZE for row in rows]
    return Postings(
        np.repeat(first, sizes) + raw["place"],
        raw["count"].astype(np.float64),
        raw["length"].astype(np.float64),
    )


def _take_away(
    db: Database, table: str, key: tuple[str, int], places: Sequence[int]
) -> None:
    row = db.execute(
        f"SELECT postings FROM {table} WHERE term = ? AND block = ?",  # noqa: S608
        list(key),
    ).fetchone()
    if row is None:
        return
    old = np.frombuffer(row[0], _POSTING)
    kept = old[~np.isin(old["place"], places)]
    if len(kept):
        sql = f"UPDATE {table} SET postings = ? WHERE term = ? AND block = ?"  # noqa: S608
        db.execute(sql, [kept.tobytes(), *key])
    else:
        sql = f"DELETE FROM {table} WHERE term = ? AND block = ?"  # noqa: S608
        db.execute(sql, list(key))


def _split(record_id: int) -> tuple[int, int]:
    """Block and place of a record."""
    return record_id >> _BLOCK_BITS, record_id & ((1 << _BLOCK_BITS) - 1)
