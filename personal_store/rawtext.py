"""The bodies that texts were cleaned out of, packed, so that they can be cleaned again.

Only those of own texts are kept: what others wrote is stored no more than need be.
"""

import json
import zlib

from sqlite_utils import Database

from personal_store.cleaning import MAX_TEXT
from personal_store.migrations import immediate
from personal_store.records import OWN, RawText

LONGEST = 5 * MAX_TEXT
"""Characters of markup that are kept; a body with more of it is kept without."""

_LEVEL = 3
"""Takes half the time of zlib's own choice, and 7 % more room."""


def is_wanted(db: Database) -> bool:
    """Whether raw bodies are kept; they are unless the owner said no."""
    row = db.execute("SELECT value FROM state WHERE name = 'keep_raw'").fetchone()
    return bool(row[0] == "1")


def want(db: Database, wanted: bool) -> int:
    """Keep raw bodies from now on, or drop all; returns how many were dropped."""
    with immediate(db):
        db.execute(
            "UPDATE state SET value = ? WHERE name = 'keep_raw'", [str(int(wanted))]
        )
        if wanted:
            return 0
        return db.execute("DELETE FROM raw").rowcount


def keep(db: Database, record_id: int, raw: RawText) -> None:
    """Store the raw body of a record, or replace it."""
    db.execute(
        """INSERT INTO raw(record_id, data) VALUES (?, ?)
           ON CONFLICT(record_id) DO UPDATE SET data = excluded.data""",
        [record_id, pack(raw)],
    )


def drop_of_others(db: Database) -> None:
    """Raw bodies of texts that turned out not to be the owner's go."""
    own = tuple(map(int, OWN))
    db.execute(
        "DELETE FROM raw WHERE record_id IN "  # noqa: S608
        f"(SELECT id FROM record WHERE author NOT IN {own})"
    )


def read(db: Database, record_id: int) -> RawText | None:
    """The raw body of a record; None if none is kept."""
    row = db.execute("SELECT data FROM raw WHERE record_id = ?", [record_id]).fetchone()
    return unpack(row[0]) if row else None


def pack(raw: RawText) -> bytes:
    """As it is stored: the length of the plain body, both bodies; deflated."""
    plain = raw.plain[:MAX_TEXT]
    html = raw.html if len(raw.html) <= LONGEST else ""
    return zlib.compress(f"{len(plain)} {plain}{html}".encode(), _LEVEL)


def unpack(data: bytes) -> RawText:
    """The inverse of `pack`."""
    text = zlib.decompress(data).decode()
    if text.startswith("["):  # as it was stored at first: JSON, which took longer
        return RawText(*json.loads(text))
    length, _, bodies = text.partition(" ")
    return RawText(bodies[: int(length)], bodies[int(length) :])
