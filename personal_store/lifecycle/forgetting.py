"""Taking texts out of use: excluded, in the trash, or forgotten for good.

Excluded texts stay stored and are never found. Those in the trash can be restored for
30 days, and are forgotten at the next time the store is opened after that.

Forgetting deletes rows and everything derived from them, and leaves a tombstone, so
that an import does not bring the text back.

SQLite's `secure_delete` overwrites what is deleted, but not what page splits have left
behind: in trials one text in a thousand survived in a gap between cells. So the file is
built anew each time (VACUUM), and proof.py then accounts for every byte. Until that is
done the store is marked as untidy, and every command says so.
"""

import json
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sqlite_utils import Database

from base.owner_only import shred
from personal_store.connection import CONTENT, immediate, need_room
from personal_store.copies import backup_path, renew_backup
from personal_store.errors import StoreBusyError, StoreError, faults, is_full
from personal_store.habits import drop_marks
from personal_store.lifecycle.proof import Proof, prove
from personal_store.lifecycle.tombstones import Tombstones, add_tombstone
from personal_store.lifecycle.writing import clean_bodies
from personal_store.records import ProgressCallback
from personal_store.search import tables
from personal_store.states import sweep

DAYS = 30  # how long the trash keeps a text
UNTIDY = (
    "traces of forgotten texts may be left in the store: run 'specsteer store tidy'"
)
"""What every command says of a store of which `is_untidy` holds."""
_DAY = 86_400
_TIMES = 3
"""Room that VACUUM takes beside the store: the copy, the log, the next backup."""
_TRIES = 2  # what a first VACUUM has not overwritten, or somebody has written meanwhile


def exclude(db: Database, ids: Sequence[int], *, excluded: bool = True) -> None:
    """Never find these texts, or find them again."""
    _set(db, ids, "excluded", int(excluded))


def put_into_trash(db: Database, ids: Sequence[int], now: float | None = None) -> None:
    """Put these texts into the trash; those that lie there already keep their day."""
    seconds = int(time.time() if now is None else now)
    there = set(in_trash(db))
    _set(db, [one for one in ids if one not in there], "trashed_at", seconds)


def take_out_of_trash(db: Database, ids: Sequence[int]) -> None:
    """Take these texts out of the trash."""
    _set(db, ids, "trashed_at", None)


def in_trash(db: Database, now: float | None = None, days: float = 0) -> list[int]:
    """The texts that have lain in the trash for at least this number of days."""
    latest = (time.time() if now is None else now) - days * _DAY
    rows = db.execute(
        "SELECT id FROM record WHERE trashed_at <= ? ORDER BY id",
        [latest if days else float("inf")],
    )
    return [record_id for (record_id,) in rows]


def empty_if_due(db: Database, path: Path, now: float | None = None) -> int:
    """Forget what has lain in the trash for 30 days; how many texts that were.

    If their traces cannot be overwritten now, because the disk is full or another
    program reads the store, it stays untidy, and `tidy` does it later.
    """
    due = in_trash(db, now, DAYS)
    if due:
        delete(db, due)
        with suppress(StoreError):
            tidy(db, path)
    return len(due)


def forget(
    db: Database,
    path: Path,
    ids: Sequence[int],
    progress: ProgressCallback | None = None,
) -> Proof:
    """Delete these records so that they stay away, overwrite what they left, and prove
    it.

    Raises StoreError if there is no room for it, and StoreBusyError if another program
    holds the log; `tidy` finishes the work then.
    """
    need_room(path, _TIMES, "to forget")
    delete(db, ids)
    return tidy(db, path, progress)


def forget_everything(
    db: Database, path: Path, progress: ProgressCallback | None = None
) -> Proof:
    """Empty the store wholly: texts, addresses, sources, tombstones, backup.

    Nothing is remembered, so an import brings texts back.
    """
    need_room(path, _TIMES, "to forget")
    with immediate(db):
        tables.empty(db)
        for table in (*reversed(CONTENT), "tombstone", "tombstone_key"):
            db.execute(f'DELETE FROM "{table}"')  # noqa: S608
        kept = ("keep_raw", "untidy", "received_upto")
        db.execute(f"DELETE FROM state WHERE name NOT IN {kept}")  # noqa: S608
        db.execute(
            "INSERT INTO tombstone_key(secret) VALUES (?)", [secrets.token_bytes(32)]
        )
        note_traces(db)
    shred(backup_path(path))
    return tidy(db, path, progress)


def forget_learnt(db: Database, path: Path) -> tuple[int, int]:
    """Delete drafts that were edited and what the owner said of the voice, and
    overwrite what they left; how many of each. Raises StoreError as `forget` does."""
    need_room(path, _TIMES, "to forget")
    with immediate(db):
        edits = db.execute("DELETE FROM edit").rowcount
        marks = db.execute("DELETE FROM voice_mark").rowcount
        note_traces(db)
    tidy(db, path)
    return edits, marks


def delete(db: Database, ids: Sequence[int]) -> None:
    """Take records out and put tombstones in their place, all or nothing.

    Traces may be left in the file until `tidy` has run.
    """
    with immediate(db):
        take_out(db, ids)


def take_out(db: Database, ids: Sequence[int]) -> None:
    """Do what `delete` does within a transaction of the caller."""
    if not ids:
        return
    persons = db.execute(
        "SELECT person FROM habit WHERE id IN (SELECT value FROM json_each(?))",
        [json.dumps(list(ids))],
    ).fetchall()
    tables.drop(db, ids)
    drop_marks(db, [person for (person,) in persons])
    clean_bodies(db, ids)  # its words must stay forgotten too
    sources = set()
    for record_id in ids:
        row = db.execute(
            "SELECT source_id, key, body FROM record WHERE id = ?", [record_id]
        ).fetchone()
        if row is not None:
            sources.add(row[0])
            add_tombstone(db, row[1], row[2])
            db.execute("DELETE FROM record WHERE id = ?", [record_id])
    for source_id in sources:
        row = db.execute("SELECT 1 FROM record WHERE source_id = ?", [source_id])
        if row.fetchone() is None:  # nothing is left of it, so it is forgotten as well
            db.execute("DELETE FROM import_run WHERE source_id = ?", [source_id])
            db.execute("DELETE FROM source WHERE id = ?", [source_id])
    note_traces(db)


def tidy(db: Database, path: Path, progress: ProgressCallback | None = None) -> Proof:
    """Overwrite what deleted texts have left, the states that hold them among it, and
    prove that nothing is left.

    The store is untidy until that is proven. Raises StoreBusyError if another program
    keeps the log from being emptied.
    """
    sweep(db)
    for _ in range(_TRIES):
        untidy = tables.state(db, "untidy")
        _overwrite(db, path)
        proof = prove(db, path, progress)
        if not proof.left:
            with immediate(db):
                if tables.state(db, "untidy") == untidy:  # else more was forgotten
                    tables.set_state(db, "untidy", 0)
            _empty_log(db, path)
            break
    return proof


def is_untidy(db: Database) -> bool:
    """Whether something was deleted whose traces are not yet overwritten."""
    return tables.state(db, "untidy") != "0"


def forgotten_among(db: Database, ids: Sequence[int] | None = None) -> list[int]:
    """Ids of stored records that a tombstone covers; all records if `ids` is None."""
    tombstones = Tombstones.of(db)
    if not tombstones.secrets:
        return []
    sql = "SELECT id, key, body FROM main.record"
    if ids is not None:
        sql += " WHERE id IN (SELECT value FROM json_each(?))"
    rows = db.execute(sql, [] if ids is None else [json.dumps(list(ids))]).fetchall()
    return [record_id for record_id, key, text in rows if tombstones.cover(key, text)]


def _overwrite(db: Database, path: Path) -> None:
    """Build the store anew from its rows, empty its log, make its backup anew, and
    remove what a process that was killed has left."""
    try:
        db.execute("VACUUM")
        _empty_log(db, path)
        renew_backup(db, path)
        for part in path.parent.glob(f"{path.stem}*.part*"):
            shred(part)
    except faults() as error:
        if is_full(error):
            raise StoreError(
                "The disk is full: make room, then 'specsteer store tidy' overwrites "
                "what the forgotten texts have left."
            ) from error
        raise _busy(path) from error


def _empty_log(db: Database, path: Path) -> None:
    """Move the log into the store and cut it to nothing."""
    busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise _busy(path)


def _busy(path: Path) -> StoreBusyError:
    return StoreBusyError(
        f"Another program has {path} open, so traces of what was forgotten are left in "
        "it: close that program, then run 'specsteer store tidy'."
    )


def _set(db: Database, ids: Sequence[int], column: str, value: int | None) -> None:
    with immediate(db):
        db.conn.executemany(
            f"UPDATE record SET {column} = ? WHERE id = ?",  # noqa: S608
            [(value, record_id) for record_id in ids],
        )
        tables.refresh(db, ids)
    sweep(db)


def note_traces(db: Database) -> None:
    """Count that something was deleted whose traces are left."""
    db.execute("UPDATE state SET value = value + 1 WHERE name = 'untidy'")
