"""What is computed from records: search terms and the indexes over them.

The one place that says which records can be found, and that writes and takes away what
is derived from them.

Own texts are indexed as they come. Received ones are many and seldom searched: their
index is brought up to date by the first search (late_cleaning.py), and kept in step for
those that it holds.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sqlite_utils import Database

from personal_store.records import OWN
from personal_store.search.postings import TABLES, Changes, faults
from personal_store.text.tokens import tokens

_MINE = tuple(map(int, OWN))
_PRESENT = "NOT excluded AND trashed_at IS NULL"
FINDABLE = f"author IN {_MINE} AND {_PRESENT}"
"""SQL that holds for records that can be searched and shown as passages."""
BY_OTHERS = f"author NOT IN {_MINE} AND {_PRESENT}"
"""SQL that holds for texts of others that are stored and not put away."""
HEARD = f"{BY_OTHERS} AND body <> ''"
"""SQL that holds for texts of others that can be searched, once they are cleaned."""
_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts that are searched together, and the tables that hold their terms."""

    name: str
    """A table of ids, lengths and terms."""
    condition: str
    """SQL that holds for the records that belong here."""


OWN_TEXTS = Texts("doc", FINDABLE)
RECEIVED = Texts("heard", HEARD)


def refresh(db: Database, ids: Iterable[int]) -> None:
    """Make exactly those of these records searchable that shall be found."""
    every = list(ids)
    refresh_in(db, OWN_TEXTS, every)
    upto = heard_upto(db)
    refresh_in(db, RECEIVED, [record_id for record_id in every if record_id <= upto])


def refresh_in(db: Database, texts: Texts, ids: Iterable[int]) -> None:
    """Make those of these records searchable in `texts` that belong there."""
    change = _Change(db, texts)
    for record_id in ids:
        row = db.execute(
            f"SELECT title, body FROM record WHERE id = ? AND {texts.condition}",  # noqa: S608
            [record_id],
        ).fetchone()
        change.take_away(record_id)
        if row is not None:
            change.add(record_id, tokens(f"{row[0]}\n{row[1]}"))
    change.write()


def drop(db: Database, ids: Iterable[int]) -> None:
    """Take away everything derived from these records."""
    every = list(ids)
    for texts in (OWN_TEXTS, RECEIVED):
        change = _Change(db, texts)
        for record_id in every:
            change.take_away(record_id)
        change.write()
    # SQLite gives the numbers of the last records, when these go, to the next ones.
    (last,) = db.execute(
        """SELECT coalesce(max(id), 0) FROM record
           WHERE id NOT IN (SELECT value FROM json_each(?))""",
        [json.dumps(every)],
    ).fetchone()
    if last < heard_upto(db):
        set_heard_upto(db, last)


def empty(db: Database) -> None:
    """Take away all that is derived."""
    for texts in (OWN_TEXTS, RECEIVED):
        for table in ("", *TABLES):
            db.execute(f"DELETE FROM {texts.name}{table}")  # noqa: S608
    db.execute("UPDATE total SET texts = 0, words = 0")
    set_heard_upto(db, 0)


def rebuild(db: Database) -> None:
    """Derive everything anew, for a store that was replaced as a whole."""
    empty(db)
    refresh(db, [row[0] for row in db.execute("SELECT id FROM record").fetchall()])


def count_change(db: Database) -> None:
    """Tell everybody who cached the searchable texts that they changed."""
    db.execute("UPDATE state SET value = value + 1 WHERE name = 'changes'")


def check(db: Database) -> list[str]:
    """What is wrong with the store; empty if every check is clean."""
    found = [row[0] for row in db.execute("PRAGMA integrity_check")]
    return [line for line in found if line != "ok"] + unexplained(db)


def unexplained(db: Database, told: Callable[[int], None] | None = None) -> list[str]:
    """Rows that belong to no record, and terms and counts that no record gives. `told`
    hears of every thousand texts that were looked at."""
    wrong = [
        f"foreign key: {row}" for row in db.execute("PRAGMA main.foreign_key_check")
    ]
    for texts in (OWN_TEXTS, RECEIVED):
        counted = db.execute(
            "SELECT texts, words FROM total WHERE name = ?", [texts.name]
        ).fetchone()
        there = db.execute(
            f"SELECT count(*), coalesce(sum(n), 0) FROM {texts.name}"  # noqa: S608
        ).fetchone()
        if counted != there:
            wrong.append(f"{texts.name}: {counted} counted, {there}")
        held, lengths = Counter[str](), dict[int, int]()
        rows = db.execute(
            f"""SELECT id, tok, title, body, ({texts.condition}) FROM {texts.name}
                JOIN record USING (id)"""  # noqa: S608
        )
        for number, (record_id, text, title, body, belongs) in enumerate(rows, 1):
            if told is not None and number % 1_000 == 0:
                told(1_000)
            terms = text.split()
            if not belongs or terms != tokens(f"{title}\n{body}"):
                odd = f"{texts.name} {record_id} does not say what its record says"
                wrong.append(odd)
            held.update(set(terms))
            if terms:
                lengths[record_id] = len(terms)
        wrong += faults(db, texts.name, held, lengths)
    return wrong


def heard_upto(db: Database) -> int:
    """The number of the last record that the index of received texts has looked at."""
    row = db.execute("SELECT value FROM state WHERE name = 'heard_upto'").fetchone()
    return int(row[0])


def set_heard_upto(db: Database, upto: int) -> None:
    """Say which record it has looked at last."""
    sql = "UPDATE state SET value = ? WHERE name = 'heard_upto'"
    db.execute(sql, [str(upto)])


class _Change:
    """Texts that come and go, and what that changes in the indexes, which is written
    once for all of them: `write` ends it."""

    def __init__(self, db: Database, to: Texts) -> None:
        self._db = db
        self._to = to
        self._postings = Changes()
        self._texts = self._words = 0

    def add(self, record_id: int, terms: list[str]) -> None:
        sql = f"INSERT INTO {self._to.name}(id, n, tok) VALUES (?, ?, ?)"  # noqa: S608
        self._db.execute(sql, [record_id, len(terms), " ".join(terms)])
        self.index(record_id, terms)

    def index(self, record_id: int, terms: list[str]) -> None:
        self._postings.add(record_id, terms)
        self._texts += 1
        self._words += len(terms)

    def take_away(self, record_id: int) -> None:
        row = self._db.execute(
            f"SELECT tok FROM {self._to.name} WHERE id = ?",  # noqa: S608
            [record_id],
        ).fetchone()
        if row is None:
            return
        terms = row[0].split()
        self._db.execute(f"DELETE FROM {self._to.name} WHERE id = ?", [record_id])  # noqa: S608
        self._postings.take_away(record_id, terms)
        self._texts -= 1
        self._words -= len(terms)

    def write(self) -> None:
        self._postings.write(self._db, self._to.name)
        self._db.execute(
            "UPDATE total SET texts = texts + ?, words = words + ? WHERE name = ?",
            [self._texts, self._words, self._to.name],
        )
