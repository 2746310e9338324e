"""Tombstones: marks that keep forgotten texts forgotten, and reveal nothing.

A mark is HMAC-SHA256 under a random key of the store, over the key of a record or over
its words. Nobody can read a text out of it. Who holds the store file can test a guess,
but has to guess the whole text, or the whole identifier, exactly.
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Self

from sqlite_utils import Database

from personal_store.text.tokens import normalised

SHORTEST = 40
"""Characters from which the words alone identify a text: 'Thanks!' does not."""


@dataclass(frozen=True, slots=True)
class Tombstones:
    """The marks of a store, and of the stores that were merged into it."""

    db: Database
    secrets: dict[int, bytes]
    """Keys by id; the first is this store's own. Empty if nothing was forgotten."""

    @classmethod
    def of(cls, db: Database) -> Self:
        """The tombstones of an open store, as of now."""
        rows = db.execute("SELECT id, secret FROM tombstone_key ORDER BY id")
        any_mark = db.execute("SELECT 1 FROM tombstone LIMIT 1").fetchone()
        return cls(db, dict(rows.fetchall()) if any_mark else {})

    def cover(self, key: str, text: str = "") -> bool:
        """Whether this text was forgotten: by its key, or by its words if given."""
        sql = "SELECT 1 FROM tombstone WHERE key_id = ? AND mark = ?"
        return any(
            self.db.execute(sql, [key_id, mark]).fetchone() is not None
            for key_id, secret in self.secrets.items()
            for _, mark in marks(secret, key, text)
        )


def add_tombstone(db: Database, key: str, text: str) -> None:
    """Remember that the text of this record is forgotten."""
    key_id, secret = db.execute(
        "SELECT id, secret FROM tombstone_key ORDER BY id LIMIT 1"
    ).fetchone()
    db.conn.executemany(
        "INSERT OR IGNORE INTO tombstone VALUES (?, ?, ?)",
        [(key_id, mark, of) for of, mark in marks(secret, key, text)],
    )


def marks(secret: bytes, key: str, text: str) -> list[tuple[str, bytes]]:
    """The marks of a forgotten text, each with what it is of: its key, and its words if
    they have `SHORTEST` characters."""
    found = [("key", _mark(secret, "key", key))]
    words = normalised(text)
    if len(words) >= SHORTEST:
        found.append(("words", _mark(secret, "words", words)))
    return found


def count(db: Database) -> int:
    """How many texts have been forgotten for good."""
    row = db.execute("SELECT count(*) FROM tombstone WHERE of = 'key'").fetchone()
    return int(row[0])


def _mark(secret: bytes, of: str, value: str) -> bytes:
    message = f"{of}\0{value}".encode("utf-8", "replace")
    return hmac.new(secret, message, hashlib.sha256).digest()
