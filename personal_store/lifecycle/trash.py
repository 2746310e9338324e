"""Between use and oblivion: texts excluded from use, and texts in the trash.

Excluded texts stay stored and are never found. Those in the trash can be restored for
30 days, and are then forgotten for good, at the next time the store is opened.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sqlite_utils import Database

from personal_store.database.transactions import immediate
from personal_store.errors import StoreError
from personal_store.lifecycle.forgetting import delete, tidy
from personal_store.search.derived import count_change, refresh

DAYS = 30
"""How long the trash keeps a text."""
_DAY = 86_400


def exclude(db: Database, ids: Sequence[int], *, excluded: bool = True) -> None:
    """Never find these texts, or find them again."""
    _set(db, ids, "excluded", int(excluded))


def put_into_trash(db: Database, ids: Sequence[int], now: float | None = None) -> None:
    """Put these texts away; those that lie there already keep their day."""
    seconds = int(time.time() if now is None else now)
    fresh = [one for one in ids if one not in set(in_trash(db))]
    _set(db, fresh, "trashed_at", seconds)


def take_out_of_trash(db: Database, ids: Sequence[int]) -> None:
    """Take these texts out of the trash."""
    _set(db, ids, "trashed_at", None)


def in_trash(db: Database, now: float | None = None, days: float = 0) -> list[int]:
    """What has lain in the trash for at least so many days."""
    latest = (time.time() if now is None else now) - days * _DAY
    rows = db.execute(
        "SELECT id FROM record WHERE trashed_at <= ? ORDER BY id",
        [latest if days else float("inf")],
    )
    return [record_id for (record_id,) in rows]


def empty_if_due(db: Database, path: Path, now: float | None = None) -> int:
    """Forget what has lain in the trash for 30 days; how many texts that were.

    Where their traces cannot be overwritten now, because the disk is full or another
    program reads the store, that stays noted in it, and `tidy` does it later.
    """
    due = in_trash(db, now, DAYS)
    if not due:
        return 0
    delete(db, due)
    with suppress(StoreError):  # noted in the store; 'specsteer status' shows it
        tidy(db, path)
    return len(due)


def _set(db: Database, ids: Sequence[int], column: str, value: int | None) -> None:
    with immediate(db):
        db.conn.executemany(
            f"UPDATE record SET {column} = ? WHERE id = ?",  # noqa: S608
            [(value, record_id) for record_id in ids],
        )
        refresh(db, ids)
        count_change(db)
