"""Transactions of the store file."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlite_utils import Database


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
