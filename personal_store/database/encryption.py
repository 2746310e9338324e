"""A store from plain to encrypted and back, compared row by row before it is swapped.

The library is SQLCipher: AES-256 over every page of the store, its log, and its backup.
"""

import hashlib
from pathlib import Path

from sqlite_utils import Database

from personal_store.database import keys
from personal_store.database.attaching import ciphered, export_ciphered
from personal_store.database.connecting import connect
from personal_store.database.copies import backup_path, renew_backup
from personal_store.errors import StoreBusyError, StoreError, faults
from personal_store.files.private_files import need_room, part_of, put_in_place, shred

SHORTEST = 8
"""Characters of a passphrase."""


def is_encrypted(path: Path) -> bool:
    """Whether the store that was opened is an encrypted one."""
    return keys.known(path) is not None


def encrypt(path: Path, key: str) -> None:
    """Encrypt a plain store and its backup. No other program may have it open.

    The plain files are overwritten and removed, as far as the disk lets us.
    """
    keys.cipher()
    if len(key) < SHORTEST:
        raise StoreError(f"A passphrase needs {SHORTEST} characters at least.")
    connect(path).close()  # finds out whether it is encrypted, and brings it up to date
    if is_encrypted(path):
        raise StoreError(f"The store {path} is encrypted already.")
    _convert(path, key)


def decrypt(path: Path) -> None:
    """Make an encrypted store and its backup plain again."""
    connect(path).close()
    if not is_encrypted(path):
        raise StoreError(f"The store {path} is not encrypted.")
    _convert(path, "")


def _convert(path: Path, key: str) -> None:
    need_room(path, 3, "to convert the store")
    part = part_of(path)
    try:
        with ciphered(path) as db:
            _have_alone(db, path)
            export_ciphered(db, part, key)
            keys.remember(part, key or None)
            try:
                with ciphered(part) as copy:
                    found = copy.execute("PRAGMA integrity_check").fetchall()
                    sound = [row[0] for row in found] == ["ok"]
                    if not (sound and digest(copy) == digest(db)):
                        raise StoreError(
                            "The converted copy differs from the store, so nothing was "
                            "changed."
                        )
            finally:
                keys.remember(part, None)
            # Whoever waits for the lock finds the old file overwritten, not plain.
            put_in_place(part, path)
    finally:
        shred(part)
    keys.remember(path, key or None)
    # The backup is made anew, from the store as it is now; the old one is shredded.
    if backup_path(path).exists():
        store = connect(path)
        try:
            renew_backup(store, path)
        finally:
            store.close()


def _have_alone(db: Database, path: Path) -> None:
    """Empty the log and lock everybody out until the connection closes."""
    try:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        (mode,) = db.execute("PRAGMA journal_mode = DELETE").fetchone()
        if mode == "delete":
            db.execute("BEGIN EXCLUSIVE")
            db.execute("COMMIT")
            return
    except faults() as error:
        raise _busy(path) from error
    raise _busy(path)


def digest(db: Database) -> str:
    """A hash over the schema and every row of every table of a store."""
    said = hashlib.sha256()
    schema = db.execute(
        "SELECT name, type, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' "
        "ORDER BY name"
    ).fetchall()
    said.update(repr([*schema, db.execute("PRAGMA user_version").fetchone()]).encode())
    for name, kind, _ in schema:
        if kind == "table":
            for row in db.execute(f'SELECT * FROM "{name}"'):  # noqa: S608
                said.update(repr(row).encode())
    return said.hexdigest()


def _busy(path: Path) -> StoreBusyError:
    return StoreBusyError(
        f"Another program has {path} open: close it, then try again. Nothing was "
        "changed."
    )
