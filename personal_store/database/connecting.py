"""A connection to a store file: pragmas, write-ahead log, key, newest schema."""

import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from personal_store.database import keys
from personal_store.database.schema import create_tables
from personal_store.errors import (
    StoreError,
    StoreLockedError,
    faults,
    is_full,
    is_no_database,
)
from personal_store.files.private_files import make_private

PATIENCE = 30
"""Seconds to wait for another process that is writing."""

_PRAGMAS = (
    "synchronous = NORMAL",
    "foreign_keys = ON",
    "secure_delete = ON",
    "temp_store = MEMORY",
    "trusted_schema = OFF",
)


def connect_private(path: Path) -> Database:
    """The same for what the person runs: the file is made if need be, for its owner's
    eyes only.

    Raises StoreError if it cannot be opened.
    """
    try:
        make_private(path)
        return connect(path)
    except OSError as error:
        raise StoreError(f"The store {path} cannot be opened: {error}.") from error
    except faults() as error:
        why = "the disk is full: make room" if is_full(error) else f"{error}"
        raise StoreError(f"The store {path} cannot be opened: {why}.") from error


def holds_own_texts(path: Path) -> bool:
    """Whether the store holds a text that the person wrote. Asked here, as the modules
    that clean and search take a tenth of a second to import, and the app paints its
    page without them."""
    with closing(connect_private(path)) as db:
        return db.execute("SELECT 1 FROM doc LIMIT 1").fetchone() is not None


def connect(path: Path) -> Database:
    """The store in this file, whose tables are created if it is new.

    Raises StoreLockedError if it is encrypted and no key that fits is found.
    """
    db = connect_as_it_is(path)
    try:
        for pragma in _PRAGMAS:
            db.execute(f"PRAGMA {pragma}")
        # SQLite does not wait for others when it begins to keep a log, so we do.
        deadline = time.monotonic() + PATIENCE
        while db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            try:
                db.execute("PRAGMA journal_mode = WAL")
            except faults() as error:
                if is_full(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
        create_tables(db)
    except BaseException:
        db.close()
        raise
    return db


def connect_as_it_is(path: Path, likely: str | None = None) -> Database:
    """A connection that has read the file's header, and changed nothing.

    `likely` is a key to try before anybody is asked: that of the store it belongs to.
    """
    known = keys.known(path)
    if known is not None:
        return _ciphered(path, known)
    try:
        return _readable(sqlite3, path, None)
    except sqlite3.DatabaseError as error:
        if not is_no_database(error):
            raise
    if likely is not None:
        with suppress(StoreLockedError):
            return _ciphered(path, likely)
    return _ciphered(path, keys.find(path))


def _ciphered(path: Path, key: str) -> Database:
    try:
        db = _readable(keys.cipher(), path, key)
    except faults() as error:
        if is_no_database(error):
            raise StoreLockedError(
                f"The store {path} cannot be opened: the key does not fit. Give the "
                f"right one in {keys.VARIABLE}, or have it asked for in a terminal."
            ) from error
        raise
    keys.remember(path, key)
    return db


def _readable(library: Any, path: Path, key: str | None) -> Database:
    try:
        return _connected(library, path, key, alone=False)
    except faults() as error:
        if not is_full(error):
            raise
    return _connected(library, path, key, alone=True)


def _connected(library: Any, path: Path, key: str | None, *, alone: bool) -> Database:
    """A connection that can read; `alone`, it locks all others out, and so keeps the
    index of the log in memory, which a full disk has no room for."""
    connection = library.connect(str(path), timeout=PATIENCE, isolation_level=None)
    try:
        if key is not None:
            connection.execute(keys.pragma(key))
        if alone:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA user_version").fetchone()
        return Database(connection, execute_plugins=False)
    except BaseException:
        connection.close()
        raise
