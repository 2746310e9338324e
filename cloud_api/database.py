"""The file `people.db`: how it is opened, its tables, its copies.

Several processes share it: servers, and the commands that change it. Whoever writes
takes SQLite's lock first, and waits for others. Nobody but the owner may read it: it
holds digests of tokens, and the key of the server's certificate.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from base.owner_only import close_to_others, create
from cloud_api.auth import OWNER
from cloud_api.errors import PeopleError

FILE_NAME = "people.db"
BACKUP_NAME = "people-backup.db"
PATIENCE_SECONDS = 10.0  # how long to wait for another process that writes
_PRAGMAS = (
    "foreign_keys = ON",
    "secure_delete = ON",  # codes and keys do not stay behind
    "synchronous = FULL",  # a token that was revoked stays so when the power fails
    "temp_store = MEMORY",
    "trusted_schema = OFF",
)
_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full: make room; nothing was changed",
    sqlite3.SQLITE_BUSY: "another program is writing in it: try again",
    sqlite3.SQLITE_READONLY: "it may not be written: look at its owner and rights",
    sqlite3.SQLITE_IOERR: "the disk failed; nothing was changed",
}
_DAMAGED = sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT
_TABLES = Path(__file__).with_name("people.sql").read_text("utf-8")


SCHEMA = 2  # number of the schema below, written to the file as `user_version`


def open_database(folder: Path) -> sqlite3.Connection:
    """A connection to the file in `folder`, which is created if it is absent; any
    thread may use it, one at a time. Raises PeopleError if it cannot be opened, is
    damaged, or has another schema."""
    path = folder / FILE_NAME
    # SQLite gives the files beside it the rights of this one. One that is there is not
    # opened but by SQLite: closing any handle of it drops the locks of this process.
    with suppress(FileExistsError):
        create(path).close()
    if path.is_symlink():
        raise PeopleError(f"{path} is a link and may lead anywhere; remove it")
    close_to_others(path)
    with explained(path):
        connection = connect(path)
        try:
            for pragma in _PRAGMAS:
                connection.execute(f"PRAGMA {pragma}")
            _keep_log(connection)
            _create_tables(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def connect(path: Path) -> sqlite3.Connection:
    """A connection to a file as it is; raises sqlite3.Error."""
    return sqlite3.connect(
        path, timeout=PATIENCE_SECONDS, isolation_level=None, check_same_thread=False
    )


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing; waits for others that write at its start, not in its middle."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        yield


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """SQLite's errors as sentences; raises PeopleError for them."""
    try:
        yield
    except sqlite3.Error as error:
        # The low byte is the kind of error, the rest its variety.
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _DAMAGED:
            why = "it is damaged: 'specsteer-cloud restore' puts its backup in place"
        else:
            why = _REASONS.get(code, str(error))
        raise PeopleError(f"{path} cannot be used: {why}") from error


def write_copy(connection: sqlite3.Connection, target: Path) -> None:
    """Put a copy of the database in place of `target`, whole or not at all. It holds
    no codes: one that is open now would be open again when the copy is restored."""
    part = target.with_name(f"{target.name}.{secrets.token_hex(4)}.part")
    create(part).close()
    try:
        connection.execute("VACUUM INTO ?", [str(part)])
        with closing(connect(part)) as copy:
            copy.execute("PRAGMA secure_delete = ON")
            copy.execute("DELETE FROM pairing")
            copy.execute("DELETE FROM listening")
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
        part.with_name(part.name + "-journal").unlink(missing_ok=True)


def _keep_log(connection: sqlite3.Connection) -> None:
    """Have SQLite keep a write-ahead log, so that reading never waits for writing. For
    this one change it does not wait for others by itself."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")
            continue
        if time.monotonic() > deadline:
            raise PeopleError(f"another program keeps {FILE_NAME} locked: try again")
        time.sleep(0.02)


def _create_tables(connection: sqlite3.Connection, path: Path) -> None:
    version = "PRAGMA user_version"
    (found,) = connection.execute(version).fetchone()
    if found not in (0, SCHEMA):
        raise PeopleError(
            f"{path} has schema {found}, and this specsteer-cloud reads schema "
            f"{SCHEMA}. Update, or let SPECSTEER_HOME name another folder"
        )
    if found == SCHEMA:
        return
    with transaction(connection):
        if connection.execute(version).fetchone() == (0,):  # nobody was faster
            # `executescript` would end the transaction.
            for statement in _TABLES.strip().split(";\n"):
                connection.execute(statement)
            connection.execute(
                "INSERT INTO user(name, created) VALUES (?, unixepoch())", (OWNER.user,)
            )
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
