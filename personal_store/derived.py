"""What is computed from records: search terms today, indexes over them tomorrow.

The one place that says which records can be found, and that writes and takes away what
is derived from them. A full-text index over `doc` is kept in step by lines in `_add`,
`_take_away` and `empty`; not by triggers, as SQLite refuses to write to virtual tables
from those under `trusted_schema = OFF`. `settle` and `check` find it by themselves.
"""

from collections.abc import Iterable

from sqlite_utils import Database

from personal_store.records import OWN
from personal_store.tokens import tokens

FINDABLE = f"author IN {tuple(map(int, OWN))} AND NOT excluded AND trashed_at IS NULL"
"""SQL that holds for records that can be searched and shown as passages."""


def refresh(db: Database, ids: Iterable[int]) -> None:
    """Make exactly those of these records searchable that shall be found."""
    for record_id in ids:
        row = db.execute(
            f"SELECT title, body FROM record WHERE id = ? AND {FINDABLE}",  # noqa: S608
            [record_id],
        ).fetchone()
        if row is None:
            _take_away(db, record_id)
        else:
            _add(db, record_id, tokens(f"{row[0]}\n{row[1]}"))


def drop(db: Database, ids: Iterable[int]) -> None:
    """Take away everything derived from these records."""
    for record_id in ids:
        _take_away(db, record_id)


def empty(db: Database) -> None:
    """Take away all that is derived."""
    db.execute("DELETE FROM doc")


def rebuild(db: Database) -> None:
    """Derive everything anew, for a store that was replaced as a whole."""
    empty(db)
    refresh(db, [row[0] for row in db.execute("SELECT id FROM record").fetchall()])


def count_change(db: Database) -> None:
    """Tell everybody who cached the searchable texts that they changed."""
    db.execute("UPDATE state SET value = value + 1 WHERE name = 'changes'")


def settle(db: Database) -> None:
    """Have full-text indexes drop the terms of deleted texts, which they keep until
    their parts are merged."""
    for name in full_text_indexes(db):
        db.execute(f'INSERT INTO "{name}"("{name}") VALUES (\'optimize\')')  # noqa: S608


def check(db: Database) -> list[str]:
    """What is wrong with the store; empty if every check is clean."""
    found = [row[0] for row in db.execute("PRAGMA integrity_check")]
    wrong = [line for line in found if line != "ok"]
    wrong += [f"foreign key: {row}" for row in db.execute("PRAGMA foreign_key_check")]
    for name in full_text_indexes(db):
        # it raises a DatabaseError if index and texts disagree
        sql = f'INSERT INTO "{name}"("{name}", rank) VALUES (\'integrity-check\', 1)'  # noqa: S608
        db.execute(sql)
    return wrong


def full_text_indexes(db: Database) -> list[str]:
    """The names of all FTS5 tables."""
    rows = db.execute(
        "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%fts5%'"
    )
    return [name for (name,) in rows]


def _add(db: Database, record_id: int, terms: list[str]) -> None:
    _take_away(db, record_id)
    db.execute(
        "INSERT INTO doc(id, n, tok) VALUES (?, ?, ?)",
        [record_id, len(terms), " ".join(terms)],
    )


def _take_away(db: Database, record_id: int) -> None:
    db.execute("DELETE FROM doc WHERE id = ?", [record_id])
