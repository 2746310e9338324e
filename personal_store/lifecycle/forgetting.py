"""Forgetting for good: rows, everything derived, the log, the free pages, the backup.

SQLite's `secure_delete` overwrites what is deleted, but not what page splits have left
behind: in trials one text in a thousand survived in a gap between cells. So the file
is built anew each time (VACUUM), and proof.py then accounts for every byte. Until that
is done the store says of itself that it is untidy, and everybody who is asked says so.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from sqlite_utils import Database

from personal_store.database.copies import drop_backup, renew_backup
from personal_store.database.schema import new_secret
from personal_store.database.transactions import immediate
from personal_store.errors import StoreBusyError, StoreError, faults, is_full
from personal_store.files.private_files import need_room, shred
from personal_store.lifecycle import raw_bodies
from personal_store.lifecycle.proof import Proof, prove
from personal_store.lifecycle.tombstones import Tombstones, bury
from personal_store.records import ProgressCallback
from personal_store.search import derived

_TIMES = 3
"""Room that VACUUM takes beside the store: the copy, the log, the next backup."""
_EMPTIED = (
    *("raw", "record_label", "record", "import_error", "import_run", "source"),
    *("identity", "stranger", "tombstone", "tombstone_key"),
)


UNTIDY = (
    "traces of forgotten texts may be left in the store: run 'specsteer store tidy'"
)
"""What every command says of a store of which `is_untidy` holds."""
_TRIES = 2
"""What a first VACUUM has not overwritten, or somebody has written meanwhile."""


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
        derived.empty(db)
        for table in _EMPTIED:
            db.execute(f'DELETE FROM "{table}"')  # noqa: S608
        kept = ("store", "changes", "keep_raw", "untidy", "heard_upto")
        db.execute(f"DELETE FROM state WHERE name NOT IN {kept}")  # noqa: S608
        db.execute("INSERT INTO tombstone_key(secret) VALUES (?)", [new_secret()])
        _note_change(db)
    drop_backup(path)
    return tidy(db, path, progress)


def delete(db: Database, ids: Sequence[int]) -> None:
    """Take records out and put marks in their place, all or nothing.

    Traces may be left in the file until `tidy` has run.
    """
    with immediate(db):
        take_out(db, ids)


def take_out(db: Database, ids: Sequence[int]) -> None:
    """Do what `delete` does within a transaction of the caller."""
    if not ids:
        return
    derived.drop(db, ids)
    raw_bodies.clean_bodies(db, ids)  # its words must stay forgotten too
    sources = set()
    for record_id in ids:
        row = db.execute(
            "SELECT source_id, key, body FROM record WHERE id = ?", [record_id]
        ).fetchone()
        if row is not None:
            sources.add(row[0])
            bury(db, row[1], row[2])
            db.execute("DELETE FROM record WHERE id = ?", [record_id])
    for source_id in sources:
        row = db.execute("SELECT 1 FROM record WHERE source_id = ?", [source_id])
        if row.fetchone() is None:  # nothing is left of it, so it is forgotten as well
            db.execute("DELETE FROM import_run WHERE source_id = ?", [source_id])
            db.execute("DELETE FROM source WHERE id = ?", [source_id])
    _note_change(db)


def forgotten_among(db: Database, ids: Sequence[int] | None = None) -> list[int]:
    """Ids of stored records that a tombstone covers; all records if `ids` is None."""
    buried = Tombstones.of(db)
    if not buried.secrets:
        return []
    sql = "SELECT id, key, body FROM main.record"
    if ids is not None:
        sql += " WHERE id IN (SELECT value FROM json_each(?))"
    rows = db.execute(sql, [] if ids is None else [json.dumps(list(ids))]).fetchall()
    return [record_id for record_id, key, text in rows if buried.cover(key, text)]


def tidy(db: Database, path: Path, progress: ProgressCallback | None = None) -> Proof:
    """Overwrite what deleted texts have left, and prove that nothing is left.

    The store is untidy until that is proven. Raises StoreBusyError if another program
    keeps the log from being emptied.
    """
    for _ in range(_TRIES):
        changes = _changes(db)
        overwrite(db, path)
        proof = prove(db, path, progress)
        if not proof.left:
            with immediate(db):
                if _changes(db) == changes:  # else somebody has forgotten more
                    _set_untidy(db, untidy=False)
            _empty_log(db, path)
            break
    return proof


def overwrite(db: Database, path: Path) -> None:
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


def is_untidy(db: Database) -> bool:
    """Whether something was deleted whose traces are not yet overwritten."""
    row = db.execute("SELECT value FROM state WHERE name = 'untidy'").fetchone()
    return bool(row[0] != "0")


def _note_change(db: Database) -> None:
    derived.count_change(db)
    _set_untidy(db, untidy=True)


def _changes(db: Database) -> str:
    """Counts what happened to the texts of a store."""
    row = db.execute("SELECT value FROM state WHERE name = 'changes'").fetchone()
    return str(row[0])


def _set_untidy(db: Database, *, untidy: bool) -> None:
    sql = "UPDATE state SET value = ? WHERE name = 'untidy'"
    db.execute(sql, [str(int(untidy))])


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
