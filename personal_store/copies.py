"""Copies of a store: its backup, another store beside it, and encryption.

The backup is one file beside the store, written with VACUUM INTO: it holds the rows
there are, and nothing of those that were deleted. It is made on request, and again
after texts were forgotten, as the old one still held them.

Another store, such as a backup or that of a second device, is copied first, brought to
the present schema and given the encryption of the open store, so that the file itself
is never changed and both can be read in one statement.

Encryption is SQLCipher's: AES-256 over every page of the store, its log and its backup.
"""

import hashlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from sqlite_utils import Database

from base.owner_only import part_of, put_in_place, shred
from personal_store import keys
from personal_store.connection import (
    connect,
    connect_as_it_is,
    immediate,
    need_room,
    scratch,
    version,
)
from personal_store.errors import StoreBusyError, StoreError, faults
from personal_store.states import drop_states

NAME = "other"  # the schema under which another store is read
SHORTEST = 8  # characters of a passphrase
_PATIENCE = 5  # seconds that another program may hold the store


def backup_path(path: Path) -> Path:
    """Where the backup of a store lies."""
    return path.with_name(f"{path.stem}-backup{path.suffix}")


def back_up(db: Database, path: Path) -> Path:
    """Copy the store as it is now, in place of the backup there was. Encrypted stores
    have encrypted backups."""
    need_room(path, 1, "for a backup")
    part = part_of(backup_path(path))
    try:
        db.execute("VACUUM INTO ?", [str(part)])
        put_in_place(part, backup_path(path))
    finally:
        shred(part)
    return backup_path(path)


def renew_backup(db: Database, path: Path) -> None:
    """After something was forgotten: a backup, if there is one, must not hold it."""
    if backup_path(path).exists():
        back_up(db, path)


def made_at(path: Path) -> datetime | None:
    """When the backup of a store was made; None without a backup."""
    try:
        seconds = backup_path(path).stat().st_mtime
    except FileNotFoundError:
        return None
    return datetime.fromtimestamp(seconds, UTC)


@contextmanager
def attached(db: Database, path: Path, other: Path) -> Iterator[None]:
    """Make the tables of another store readable as `other.record` and so on.

    Raises StoreError if that file is no store.
    """
    if not other.is_file():
        raise StoreError(f"There is no store {other}.")
    key = keys.known(path)
    with scratch(path) as copy:
        try:
            _export(other, copy, key)
            keys.remember(copy, key)
            connect(copy).close()
        except faults() as error:
            raise StoreError(f"{other} cannot be read as a store: {error}.") from error
        finally:
            keys.remember(copy, None)
        given = [str(copy)] if key is None else [str(copy), key]
        db.execute(f"ATTACH ? AS {NAME}{' KEY ?' if key else ''}", given)
        try:
            yield
        finally:
            db.execute(f"DETACH {NAME}")


@contextmanager
def ciphered(store: Path) -> Iterator[Database]:
    """A connection of SQLCipher, which reads plain stores as well."""
    library = keys.cipher()
    connection = library.connect(str(store), timeout=_PATIENCE, isolation_level=None)
    with closing(Database(connection, execute_plugins=False)) as db:
        key = keys.known(store)
        if key is not None:
            db.execute(keys.pragma(key))
        yield db


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


def digest(db: Database) -> str:
    """A hash over the schema and every row of every table of a store."""
    hashed = hashlib.sha256()
    schema = db.execute(
        "SELECT name, type, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' "
        "ORDER BY name"
    ).fetchall()
    hashed.update(repr([*schema, (version(db),)]).encode())
    for name, kind, _ in schema:
        if kind == "table":
            for row in db.execute(f'SELECT * FROM "{name}"'):  # noqa: S608
                hashed.update(repr(row).encode())
    return hashed.hexdigest()


def _export(store: Path, copy: Path, key: str | None) -> None:
    """Copy a store into an empty file, encrypted with this key, or plain without.

    Raises an error of SQLite if it cannot be read.
    """
    with closing(connect_as_it_is(store, key)) as db:
        if version(db) == 0:
            raise StoreError(f"{store} is not a store of SpecSteer.")
        if not key and keys.known(store) is None:
            db.execute("VACUUM INTO ?", [str(copy)])
            return
    with ciphered(store) as cipher:
        _export_ciphered(cipher, copy, key or "")


def _export_ciphered(cipher: Database, copy: Path, key: str) -> None:
    """Copy what SQLCipher has open into an empty file, encrypted with this key, or
    plain with an empty one."""
    cipher.execute("ATTACH ? AS copy KEY ?", [str(copy), key])
    with immediate(cipher):
        cipher.execute("SELECT sqlcipher_export('copy')")
    cipher.execute(f"PRAGMA copy.user_version = {version(cipher)}")
    cipher.execute("DETACH copy")


def _convert(path: Path, key: str) -> None:
    """Encrypt or decrypt a store; the copy is compared with it before they swap."""
    need_room(path, 3, "to convert the store")
    drop_states(path)  # they are under the old key
    part = part_of(path)
    try:
        with ciphered(path) as db:
            _have_alone(db, path)
            _export_ciphered(db, part, key)
            keys.remember(part, key or None)
            try:
                with ciphered(part) as copy:
                    found = copy.execute("PRAGMA integrity_check").fetchall()
                    if found != [("ok",)] or digest(copy) != digest(db):
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
    drop_states(path)  # one that was written until now; later ones see the new store
    keys.remember(path, key or None)
    with closing(connect(path)) as store:
        renew_backup(store, path)


def _have_alone(db: Database, path: Path) -> None:
    """Empty the log and lock everybody out until the connection closes."""
    busy = StoreBusyError(
        f"Another program has {path} open: close it, then try again. Nothing was "
        "changed."
    )
    try:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        (mode,) = db.execute("PRAGMA journal_mode = DELETE").fetchone()
        if mode == "delete":
            db.execute("BEGIN EXCLUSIVE")
            db.execute("COMMIT")
            return
    except faults() as error:
        raise busy from error
    raise busy
