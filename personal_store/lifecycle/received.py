"""Texts of others: searched apart, as something to answer, never as style."""

from collections.abc import Callable, Iterable, Sequence

from sqlite_utils import Database

from personal_store.database.migrations import immediate
from personal_store.lifecycle import unread
from personal_store.lifecycle.forgetting import forgotten_among, take_out
from personal_store.search.derived import (
    RECEIVED,
    heard_upto,
    refresh,
    refresh_in,
    set_heard_upto,
)
from personal_store.search.index import Index

_AT_ONCE = 500

ProgressCallback = Callable[[int, int], None]
"""Hears how many of how many records are looked at."""


def index(db: Database, progress: ProgressCallback | None = None) -> Index:
    """Received texts, ready to be searched; those that came since the last time are
    cleaned and indexed first, in steps that each are kept."""
    while _one_step(db, progress):
        pass
    return Index(db, RECEIVED)


def read(db: Database, ids: Iterable[int]) -> None:
    """Clean those of these records that wait, within a transaction of the caller.

    One whose words turn out to have been forgotten goes again.
    """
    cleaned = unread.clean(db, ids)
    take_out(db, forgotten_among(db, cleaned))


def read_all(
    db: Database,
    among: Sequence[int] | None = None,
    progress: ProgressCallback | None = None,
) -> None:
    """Clean all that wait, or those of these records, in steps that each are kept;
    `progress` hears how many of how many are."""
    ids = unread.waiting(db, among)
    for at in range(0, len(ids), _AT_ONCE):
        some = ids[at : at + _AT_ONCE]
        with immediate(db):
            read(db, some)
            refresh(db, some)
        if progress is not None:
            progress(at + len(some), len(ids))


def _one_step(db: Database, progress: ProgressCallback | None) -> bool:
    """Clean and index the next records; whether there were any."""
    (newest,) = db.execute("SELECT coalesce(max(id), 0) FROM record").fetchone()
    if heard_upto(db) >= newest:
        return False
    with immediate(db):
        rows = db.execute(
            "SELECT id FROM record WHERE id > ? ORDER BY id LIMIT ?",
            [heard_upto(db), _AT_ONCE],
        )
        some = [row[0] for row in rows]
        last = some[-1] if some else heard_upto(db)
        set_heard_upto(db, last)
        read(db, some)
        refresh_in(db, RECEIVED, some)
    if progress is not None:
        progress(last, newest)
    return bool(some)
