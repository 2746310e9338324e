"""Another store beside an open one: a backup, or the store of a second device.

It is copied first, brought to the newest schema, and given the encryption of the open
store, so that the file itself is never changed and both can be read in one statement.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlite_utils import Database

from personal_store.database import keys
from personal_store.database.connecting import connect, connect_as_it_is
from personal_store.database.schema import version
from personal_store.database.transactions import immediate
from personal_store.errors import StoreError, faults
from personal_store.files.private_files import scratch

PATIENCE = 5  # seconds that another program may hold the store
NAME = "other"
"""The schema under which the other store is read."""


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
            export(other, copy, key)
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


def export(store: Path, copy: Path, key: str | None) -> None:
    """Copy a store into an empty file, encrypted with this key, or plain without.

    Raises an error of SQLite if it cannot be read.
    """
    db = connect_as_it_is(store, key)
    try:
        if version(db) == 0:
            raise StoreError(f"{store} is not a store of SpecSteer.")
        if not key and keys.known(store) is None:
            db.execute("VACUUM INTO ?", [str(copy)])
            return
    finally:
        db.close()
    with ciphered(store) as cipher:
        export_ciphered(cipher, copy, key or "")


def export_ciphered(cipher: Database, copy: Path, key: str) -> None:
    """Copy what SQLCipher has open into an empty file, encrypted with this key, or
    plain with an empty one."""
    cipher.execute("ATTACH ? AS copy KEY ?", [str(copy), key])
    with immediate(cipher):
        cipher.execute("SELECT sqlcipher_export('copy')")
    cipher.execute(f"PRAGMA copy.user_version = {version(cipher)}")
    cipher.execute("DETACH copy")


@contextmanager
def ciphered(store: Path) -> Iterator[Database]:
    """A connection of SQLCipher, which reads plain stores as well."""
    library = keys.cipher()
    connection = library.connect(str(store), timeout=PATIENCE, isolation_level=None)
    db = Database(connection, execute_plugins=False)
    try:
        key = keys.known(store)
        if key is not None:
            db.execute(keys.pragma(key))
        yield db
    finally:
        db.close()
