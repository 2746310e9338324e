"""The store file: its tables, connections, transactions, and what lies beside it.

Nothing here opens a store file that a connection of this process may have open:
closing any handle of a file drops all locks that the process holds on it.
"""

from __future__ import annotations

import re
import secrets
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from base.owner_only import make_private, part_of, shred
from personal_store import keys
from personal_store.errors import (
    StoreError,
    StoreLockedError,
    StoreTooNewError,
    faults,
    is_full,
    is_no_database,
)

if TYPE_CHECKING:
    from sqlite_utils import Database

SCHEMA = 11  # number of the schema in schema.sql, written to the file as `user_version`
_OLDEST = 9  # without edits and voices, of version 0.2.0
_NAME = re.compile(r"^CREATE (?:VIRTUAL )?(?:TABLE|INDEX|TRIGGER) (\w+)", re.MULTILINE)
PATIENCE = 30  # seconds to wait for another process that is writing
_PRAGMAS = (
    "synchronous = NORMAL",
    "foreign_keys = ON",
    "secure_delete = ON",
    "temp_store = MEMORY",
    "trusted_schema = OFF",
)

_TABLES = Path(__file__).with_name("schema.sql").read_text("utf-8")
CONTENT = (
    *("identity", "stranger", "source", "import_run", "import_error", "record"),
    *("record_label", "raw", "edit", "voice_mark"),
)
"""Tables of what is not derived; each refers to earlier ones alone."""


@contextmanager
def immediate(db: Database) -> Iterator[sqlite3.Connection]:
    """A write transaction that waits for others at its start, not in its middle."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db.conn
    except BaseException:
        db.rollback()
        raise
    db.commit()


def create_tables(db: Database) -> None:
    """Create the tables that a store lacks, all of them in a new one; several processes
    may try at the same time. Raises StoreTooNewError if the store is of a later
    schema."""
    if _is_made(db):
        return
    with immediate(db):
        found = version(db)
        if found == SCHEMA:
            return  # another process was faster
        # Numpy takes a tenth of a second to import, and the app paints without it.
        from personal_store import habits
        from personal_store.search.tables import FINDABLE, OWN_TEXTS, RECEIVED

        if found == 10:  # finished drafts without what was asked for
            db.execute("ALTER TABLE edit RENAME TO edit_10")
        there = {name for (name,) in db.execute("SELECT name FROM sqlite_schema")}
        tables = _TABLES + OWN_TEXTS.schema() + RECEIVED.schema() + habits.SCHEMA
        for statement in tables.strip().split(";\n"):
            if not there.intersection(_NAME.findall(statement)):
                db.execute(statement)
        if found == 10:
            db.execute(
                "INSERT INTO edit SELECT record_id, '', drafted, own_share FROM edit_10"
            )
            db.execute("DROP TABLE edit_10")
        elif found:
            ids = [one for (one,) in db.execute("SELECT id FROM record")]
            habits.refresh(db, ids, FINDABLE)
        else:
            db.execute(
                "INSERT INTO state VALUES ('keep_raw', '1'), ('untidy', '0'), "
                "('received_upto', '0')"
            )
            sql = "INSERT INTO tombstone_key(secret) VALUES (?)"
            db.execute(sql, [secrets.token_bytes(32)])
        db.execute(f"PRAGMA user_version = {SCHEMA}")


def version(db: Database | sqlite3.Connection) -> int:
    """The schema that last wrote this file; 0 for a new one."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _is_made(db: Database | sqlite3.Connection) -> bool:
    """Whether the store has all its tables."""
    found = version(db)
    if found > SCHEMA:
        raise StoreTooNewError(
            f"The store has schema {found}, and this SpecSteer reads schema {SCHEMA}: "
            "update SpecSteer, or point it to another store."
        )
    if 0 < found < _OLDEST:
        raise StoreError(
            f"The store has schema {found}, which only SpecSteer before 0.2 reads: "
            "export it with that one, or import your texts anew into another store."
        )
    return found == SCHEMA


def connect_private(path: Path) -> Database:
    """Open a store for the person, and create it readable by its owner alone.

    Raises StoreError if it cannot be opened.
    """
    with _explained(path):
        make_private(path)
        return connect(path)


def holds_own_texts(path: Path) -> bool:
    """Whether the store holds a text that the person wrote. Asked here, and without
    sqlite_utils, which takes a tenth of a second to import with numpy: the app paints
    without them. Raises StoreError if the store cannot be opened."""
    if not path.exists():
        return False
    with _explained(path), closing(_opened(path)) as db:
        made = _is_made(db) or version(db)
        return bool(made and db.execute("SELECT 1 FROM doc LIMIT 1").fetchone())


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Raise StoreError for what the system or SQLite says of a store."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"The store {path} cannot be opened: {error}.") from error
    except faults() as error:
        why = "the disk is full: make room" if is_full(error) else f"{error}"
        raise StoreError(f"The store {path} cannot be opened: {why}.") from error


def connect(path: Path) -> Database:
    """Open a store, and create its tables if it is new.

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

    `likely` is a key to try before the person is asked: that of the store it belongs
    to.
    """
    from sqlite_utils import Database

    return Database(_opened(path, likely), execute_plugins=False)


def _opened(path: Path, likely: str | None = None) -> sqlite3.Connection:
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


@contextmanager
def scratch(path: Path) -> Iterator[Path]:
    """A private file beside this one, overwritten and removed afterwards."""
    part = part_of(path)
    try:
        yield part
    finally:
        for leftover in (part, *beside(part)):
            shred(leftover)


def beside(path: Path) -> list[Path]:
    """What SQLite keeps beside a database, whether it is there or not."""
    return [path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal")]


def size_of(path: Path) -> int:
    """Bytes of a store with what SQLite keeps beside it."""
    files = [file for file in (path, *beside(path)) if file.exists()]
    return sum(file.stat().st_size for file in files)


def need_room(path: Path, times: int, why: str) -> None:
    """Raise StoreError, with the missing megabytes, if the disk has less room than
    `times` the store."""
    lacking = times * size_of(path) - shutil.disk_usage(path.parent).free
    if lacking > 0:
        megabytes = 1 + lacking // 1_000_000
        raise StoreError(f"The disk is too full {why}: free {megabytes:,} MB.")


def _ciphered(path: Path, key: str) -> sqlite3.Connection:
    try:
        db = _readable(keys.cipher(), path, key)
    except faults() as error:
        if not is_no_database(error):
            raise
        raise StoreLockedError(
            f"The store {path} cannot be opened: the key does not fit. Give the right "
            f"one in {keys.VARIABLE}, or have it asked for in a terminal."
        ) from error
    keys.remember(path, key)
    return db


def _readable(library: Any, path: Path, key: str | None) -> sqlite3.Connection:
    try:
        return _connected(library, path, key)
    except faults() as error:
        if not is_full(error):
            raise
    # A connection that locks all others out keeps the index of the log in memory, for
    # which a full disk has no room.
    return _connected(library, path, key, "PRAGMA locking_mode = EXCLUSIVE")


def _connected(
    library: Any, path: Path, key: str | None, *more: str
) -> sqlite3.Connection:
    """A connection that can read, after these statements."""
    connection: sqlite3.Connection
    connection = library.connect(str(path), timeout=PATIENCE, isolation_level=None)
    try:
        if key is not None:
            connection.execute(keys.pragma(key))
        for statement in (*more, "PRAGMA user_version"):
            connection.execute(statement).fetchone()
    except BaseException:
        connection.close()
        raise
    return connection
