"""Texts of others: searched apart, as something to answer, never as style."""

from collections.abc import Callable

from sqlite_utils import Database

from personal_store.derived import RECEIVED, heard_upto, refresh_in, set_heard_upto
from personal_store.index import Index
from personal_store.migrations import immediate

_AT_ONCE = 1_000

Told = Callable[[int, int], None]
"""Hears how many of how many records are looked at."""


def index(db: Database, told: Told | None = None) -> Index:
    """Received texts, ready to be searched; those that came since the last time are
    indexed first, in steps that each are kept."""
    while _one_step(db, told):
        pass
    return Index(db, RECEIVED)


def _one_step(db: Database, told: Told | None) -> bool:
    """Index the next records; whether there were any."""
    (newest,) = db.execute("SELECT coalesce(max(id), 0) FROM record").fetchone()
    if heard_upto(db) >= newest:
        return False
    with immediate(db):
        rows = db.execute(
            "SELECT id FROM record WHERE id > ? ORDER BY id LIMIT ?",
            [heard_upto(db), _AT_ONCE],
        )
        some = [row[0] for row in rows]
        refresh_in(db, RECEIVED, some)
        last = some[-1] if some else heard_upto(db)
        set_heard_upto(db, last)
    if told is not None:
        told(last, newest)
    return bool(some)
