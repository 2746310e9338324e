"""What the store can refuse, each with a sentence fit to show a person.

`faults` are the errors of SQLite itself, of whichever library opened the store.
"""

import errno
import sqlite3
import sys


class StoreError(Exception):
    """The store cannot do what was asked; the command line shows the message."""


class StoreTooNewError(StoreError):
    """A newer SpecSteer wrote this store; the person has to update the program."""


class StoreBusyError(StoreError):
    """Another program has the store open; the person closes it and tries again."""


class StoreLockedError(StoreError):
    """The store is encrypted and no key that fits was given."""


class UnknownImporterError(StoreError):
    """No importer has this name; the message lists the names there are."""


class SourceError(StoreError):
    """A file cannot be imported at all; the message says what is wrong with it."""


class SeveralOwnersError(SourceError):
    """Exports of several people lie together; it is unknown which is the owner's."""


def faults() -> tuple[type[Exception], ...]:
    """What SQLite raises; SQLCipher's errors are not those of Python's sqlite3."""
    cipher = sys.modules.get("sqlcipher3.dbapi2")
    return (sqlite3.Error, cipher.Error) if cipher else (sqlite3.Error,)


def is_full(error: Exception) -> bool:
    """Whether SQLite or the system failed because the disk has no room, be it for the
    index of SQLite's log, which every reader shares."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    code = getattr(error, "sqlite_errorcode", None)
    return code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)


def is_no_database(error: Exception) -> bool:
    """Whether SQLite cannot make sense of the file: encrypted, or something else."""
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB
