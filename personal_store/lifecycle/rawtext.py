"""The bodies that texts were cleaned out of, packed, so that they can be cleaned again.

Only those of own texts are kept: what others wrote is stored no more than need be.
Their bodies lie here until they are cleaned (unread.py).
"""

from collections.abc import Iterable

from sqlite_utils import Database

from personal_store.database.migrations import immediate
from personal_store.reading.packing import unpack
from personal_store.records import OWN, UNREAD, RawText

_CLEANED = f"(SELECT id FROM record WHERE cleaning <> {UNREAD})"  # noqa: S608


def is_wanted(db: Database) -> bool:
    """Whether raw bodies are kept; they are unless the owner said no."""
    row = db.execute("SELECT value FROM state WHERE name = 'keep_raw'").fetchone()
    return bool(row[0] == "1")


def want(db: Database, wanted: bool) -> int:
    """Keep raw bodies from now on, or drop all; returns how many were dropped."""
    with immediate(db):
        db.execute(
            "UPDATE state SET value = ? WHERE name = 'keep_raw'", [str(int(wanted))]
        )
        if wanted:
            return 0
        return db.execute(f"DELETE FROM raw WHERE record_id IN {_CLEANED}").rowcount  # noqa: S608


def keep(db: Database, bodies: Iterable[tuple[int, bytes]]) -> None:
    """Store the packed bodies of records, or replace them."""
    db.conn.executemany(
        """INSERT INTO raw(record_id, data) VALUES (?, ?)
           ON CONFLICT(record_id) DO UPDATE SET data = excluded.data""",
        bodies,
    )


def drop_of_others(db: Database) -> None:
    """Raw bodies of texts that turned out not to be the owner's go."""
    own = tuple(map(int, OWN))
    db.execute(
        "DELETE FROM raw WHERE record_id IN "  # noqa: S608
        f"(SELECT id FROM record WHERE author NOT IN {own} AND cleaning <> {UNREAD})"
    )


def read(db: Database, record_id: int) -> RawText | None:
    """The raw body of a record; None if none is kept."""
    row = db.execute("SELECT data FROM raw WHERE record_id = ?", [record_id]).fetchone()
    return unpack(row[0]) if row else None
