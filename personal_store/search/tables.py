"""The tables derived from records: which texts can be found, and where each term
stands.

Two groups of texts are searched, own and received ones. Three tables hold each: NAME
has the terms of each text, NAME_posting says in which texts a term stands and how
often, and NAME_length how many terms each text has. BM25 needs the last two alone.

The postings of a term lie in blocks of 4,096 neighbouring record numbers, so one more
text touches short rows, and a search reads each term's rows one after the other. Why
not FTS5: docs/adr/0013-own-postings.md.

Own texts are indexed as they come. Received ones are many and seldom searched: the
first search brings their index up to date (lifecycle/cleaning.py), and refreshes keep
in step what it holds.
"""

import json
import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlite_utils import Database

from personal_store import habits
from personal_store.records import OWN
from personal_store.text.tokens import tokens

MINE = f"author IN {tuple(map(int, OWN))}"
"""SQL that holds for records that the owner wrote."""
PRESENT = "NOT excluded AND trashed_at IS NULL"
"""SQL that holds for records that are not put away."""
FINDABLE = f"{MINE} AND {PRESENT}"
"""SQL that holds for records that can be searched and shown as passages."""
BY_OTHERS = f"NOT {MINE} AND {PRESENT}"
"""SQL that holds for texts of others that are stored and not put away."""
RECEIVED_TEXT = f"{BY_OTHERS} AND body <> ''"
"""SQL that holds for texts of others that can be searched, once they are cleaned."""

_BLOCK = 1 << 12
_LENGTH = np.dtype("<u4")
_POSTING = np.dtype([("place", "<u2"), ("count", "<u2")])
_PACK = struct.Struct("<HH").pack
_SIZE = _POSTING.itemsize
_HIGHEST_COUNT = 0xFFFF
_PORTION = 32  # blocks of postings that are read together, so that memory stays small


@dataclass(frozen=True, slots=True)
class Texts:
    """A group of texts that are searched together."""

    name: str  # the table of their terms; the names of the other two begin with it
    condition: str  # SQL that holds for the records that belong here

    def schema(self) -> str:
        """The SQL that creates the three tables."""
        return f"""
CREATE TABLE {self.name}(
    id INTEGER PRIMARY KEY REFERENCES record(id) ON DELETE CASCADE,
    n INTEGER NOT NULL,
    tok TEXT NOT NULL
) STRICT;
CREATE TABLE {self.name}_posting(
    term TEXT NOT NULL,
    block INTEGER NOT NULL,
    postings BLOB NOT NULL,
    PRIMARY KEY(term, block)
) STRICT, WITHOUT ROWID;
CREATE TABLE {self.name}_length(
    block INTEGER PRIMARY KEY,
    lengths BLOB NOT NULL
) STRICT;
"""


OWN_TEXTS = Texts("doc", FINDABLE)
RECEIVED = Texts("heard", RECEIVED_TEXT)


def refresh(db: Database, ids: Iterable[int]) -> None:
    """Index those of these records that can be found, and take the others out."""
    every = list(ids)
    refresh_in(db, OWN_TEXTS, every)
    habits.refresh(db, every, FINDABLE)
    last = received_upto(db)
    refresh_in(db, RECEIVED, [record_id for record_id in every if record_id <= last])


def refresh_in(db: Database, texts: Texts, ids: Iterable[int]) -> None:
    """Index those of these records that belong to one group, and take others out."""
    changes = Changes(db, texts)
    for record_id in ids:
        row = db.execute(
            f"SELECT title, body FROM record WHERE id = ? AND {texts.condition}",  # noqa: S608
            [record_id],
        ).fetchone()
        changes.remove(record_id)
        if row is not None:
            changes.add(record_id, tokens(f"{row[0]}\n{row[1]}"))
    changes.write()


def drop(db: Database, ids: Iterable[int]) -> None:
    """Delete everything derived from these records, which are about to go."""
    every = list(ids)
    for texts in (OWN_TEXTS, RECEIVED):
        changes = Changes(db, texts)
        for record_id in every:
            changes.remove(record_id)
        changes.write()
    habits.refresh(db, every, "false")
    # SQLite gives the numbers of the last records, when these go, to the next ones.
    (last,) = db.execute(
        """SELECT coalesce(max(id), 0) FROM record
           WHERE id NOT IN (SELECT value FROM json_each(?))""",
        [json.dumps(every)],
    ).fetchone()
    if last < received_upto(db):
        set_state(db, "received_upto", last)


def empty(db: Database) -> None:
    """Delete everything that is derived."""
    for texts in (OWN_TEXTS, RECEIVED):
        for table in ("", "_posting", "_length"):
            db.execute(f"DELETE FROM {texts.name}{table}")  # noqa: S608
    db.execute("DELETE FROM habit")
    set_state(db, "received_upto", 0)


def rebuild(db: Database) -> None:
    """Derive everything anew, for a store that was replaced as a whole."""
    empty(db)
    refresh(db, [row[0] for row in db.execute("SELECT id FROM record").fetchall()])


def state(db: Database, name: str) -> str:
    """One value of the store as a whole, such as `keep_raw`."""
    row = db.execute("SELECT value FROM state WHERE name = ?", [name]).fetchone()
    return str(row[0])


def set_state(db: Database, name: str, value: int) -> None:
    """Change one value of the store as a whole."""
    db.execute("UPDATE state SET value = ? WHERE name = ?", [str(value), name])


def received_upto(db: Database) -> int:
    """The number of the last record that the index of received texts has looked at."""
    return int(state(db, "received_upto"))


def check(db: Database) -> list[str]:
    """What is wrong with the store; empty if every check passes."""
    found = [row[0] for row in db.execute("PRAGMA integrity_check")]
    return [line for line in found if line != "ok"] + unexplained(db)


def unexplained(
    db: Database, progress: Callable[[int], None] | None = None
) -> list[str]:
    """Rows that belong to no record, and index entries that no record explains.
    `progress` is called with 1,000 after each thousand texts."""
    wrong = [
        f"foreign key: {row}" for row in db.execute("PRAGMA main.foreign_key_check")
    ]
    for texts in (OWN_TEXTS, RECEIVED):
        held, lengths = Counter[str](), dict[int, int]()
        rows = db.execute(
            f"""SELECT id, n, tok, title, body, ({texts.condition}) FROM {texts.name}
                JOIN record USING (id)"""  # noqa: S608
        )
        for number, (record_id, n, text, title, body, belongs) in enumerate(rows, 1):
            if progress is not None and number % 1_000 == 0:
                progress(1_000)
            terms = text.split()
            said = tokens(f"{title}\n{body}")
            if not belongs or terms != said or n != len(said):
                odd = f"{texts.name} {record_id} does not say what its record says"
                wrong.append(odd)
            held.update(set(terms))
            if terms:
                lengths[record_id] = len(terms)
        counts = db.execute(
            f"SELECT term, sum(length(postings)) / {_SIZE} FROM {texts.name}_posting "  # noqa: S608
            "GROUP BY term"
        )
        if dict(counts.fetchall()) != held:
            wrong.append(f"{texts.name}_posting does not fit the texts")
        every = read_lengths(db, texts)
        ids = np.flatnonzero(every)
        if dict(zip(ids.tolist(), every[ids].tolist(), strict=True)) != lengths:
            wrong.append(f"{texts.name}_length does not fit the texts")
    return wrong + habits.unexplained(db, FINDABLE)


class Changes:
    """Texts that come and go in one group; `write` changes the index for all of them,
    in a transaction of the caller."""

    def __init__(self, db: Database, texts: Texts) -> None:
        self._db = db
        self._name = texts.name
        self._added: dict[tuple[str, int], bytearray] = defaultdict(bytearray)
        self._gone: dict[tuple[str, int], list[int]] = defaultdict(list)
        self._lengths: dict[int, int] = {}

    def add(self, record_id: int, terms: Sequence[str]) -> None:
        """Add a text that consists of these terms."""
        sql = f"INSERT INTO {self._name}(id, n, tok) VALUES (?, ?, ?)"  # noqa: S608
        self._db.execute(sql, [record_id, len(terms), " ".join(terms)])
        block, place = divmod(record_id, _BLOCK)
        self._lengths[record_id] = len(terms)
        for term, count in Counter(terms).items():
            self._added[term, block] += _PACK(place, min(count, _HIGHEST_COUNT))

    def remove(self, record_id: int) -> None:
        """Remove a text if it is there; to replace it, remove it before it is added."""
        where = f"FROM {self._name} WHERE id = ?"
        row = self._db.execute(f"SELECT tok {where}", [record_id]).fetchone()
        if row is None:
            return
        self._db.execute(f"DELETE {where}", [record_id])
        block, place = divmod(record_id, _BLOCK)
        self._lengths[record_id] = 0
        for term in set(row[0].split()):
            self._gone[term, block].append(place)

    def write(self) -> None:
        """Write all changes to the index."""
        where = f"{self._name}_posting WHERE term = ? AND block = ?"
        for key, places in self._gone.items():
            row = self._db.execute(f"SELECT postings FROM {where}", key).fetchone()  # noqa: S608
            if row is None:
                continue
            old = np.frombuffer(row[0], _POSTING)
            kept = old[~np.isin(old["place"], places)]
            self._db.execute(f"DELETE FROM {where}", key)  # noqa: S608
            if len(kept):
                sql = f"INSERT INTO {self._name}_posting VALUES (?, ?, ?)"  # noqa: S608
                self._db.execute(sql, [*key, kept.tobytes()])
        rows = ((*key, self._added[key]) for key in sorted(self._added))
        self._db.conn.executemany(
            f"""INSERT INTO {self._name}_posting VALUES (?, ?, ?)
                ON CONFLICT(term, block) DO UPDATE
                SET postings = CAST(postings || excluded.postings AS BLOB)""",  # noqa: S608
            rows,
        )
        blocks: dict[int, dict[int, int]] = defaultdict(dict)
        for record_id, length in self._lengths.items():
            block, place = divmod(record_id, _BLOCK)
            blocks[block][place] = length
        for block, lengths in blocks.items():
            where = f"{self._name}_length WHERE block = ?"
            row = self._db.execute(f"SELECT lengths FROM {where}", [block]).fetchone()  # noqa: S608
            known = np.frombuffer(row[0] if row else b"", _LENGTH)
            every = np.zeros(_BLOCK, _LENGTH)  # 0 if a text is gone
            every[: len(known)] = known
            every[list(lengths)] = list(lengths.values())
            held = every[: np.flatnonzero(every).max(initial=-1) + 1]
            self._db.execute(f"DELETE FROM {where}", [block])  # noqa: S608
            if len(held):
                sql = f"INSERT INTO {self._name}_length VALUES (?, ?)"  # noqa: S608
                self._db.execute(sql, [block, held.tobytes()])


def read_lengths(db: Database, texts: Texts) -> NDArray[np.uint32]:
    """The length of every text by its record number (highest + 1,); 0 for other
    records."""
    sql = f"SELECT block, lengths FROM {texts.name}_length ORDER BY block"  # noqa: S608
    blocks = {
        block: np.frombuffer(lengths, _LENGTH) for block, lengths in db.execute(sql)
    }
    if not blocks:
        return np.zeros(0, np.uint32)
    last = max(blocks)
    every = np.zeros(last * _BLOCK + len(blocks[last]), np.uint32)
    for block, lengths in blocks.items():
        start = block * _BLOCK
        every[start : start + len(lengths)] = lengths
    return every


def document_frequencies(
    db: Database, texts: Texts, terms: Iterable[str]
) -> dict[str, int]:
    """In how many texts each of these terms stands; unknown terms are left out."""
    rows = db.execute(
        f"""SELECT term, sum(length(postings)) / {_SIZE} FROM json_each(?)
            JOIN {texts.name}_posting ON term = value GROUP BY term""",  # noqa: S608
        [json.dumps(list(dict.fromkeys(terms)))],
    )
    return dict(rows.fetchall())


def read_postings(
    db: Database, texts: Texts, term: str
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """The records (N,) in which a term stands and its counts there (N,), in portions
    and in no order."""
    rows = db.execute(
        f"SELECT block, postings FROM {texts.name}_posting WHERE term = ?",  # noqa: S608
        [term],
    )
    while blocks := rows.fetchmany(_PORTION):
        raw = np.frombuffer(b"".join(postings for _, postings in blocks), _POSTING)
        first = np.array([block * _BLOCK for block, _ in blocks], np.int64)
        ids = np.repeat(first, [len(postings) // _SIZE for _, postings in blocks])
        yield ids + raw["place"], raw["count"].astype(np.float32)
