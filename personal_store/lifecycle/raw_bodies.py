"""The bodies that texts are cleaned out of, as they came, packed.

Those of own texts are kept, so that newer rules can clean them again. Of texts by
others no more is stored than need be: received mail, which is most of a mailbox and
seldom looked at, lies here until somebody wants its text, and is cleaned then; to clean
it at once took a quarter of the work of an import. Until then its record has an empty
body, and `UNREAD` for its rules.
"""

import json
from collections.abc import Iterable, Sequence

from sqlite_utils import Database

from personal_store.cleaning.cleaning import VERSION, Cleaned, clean_raw
from personal_store.database.transactions import immediate
from personal_store.reading.letters import MAX_STORED, says_something, unpack
from personal_store.records import OWN, UNREAD, Author, RawText, fingerprint

_CLEANED = f"(SELECT id FROM record WHERE cleaning <> {UNREAD})"  # noqa: S608

_WAITING = f"""
    SELECT title, rating, author, data FROM record LEFT JOIN raw ON record_id = id
    WHERE id = ? AND cleaning = {UNREAD}
"""  # noqa: S608


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
        return db.execute(f"DELETE FROM raw WHERE record_id IN {_CLEANED}").rowcount  # noqa: S608


def keep(db: Database, bodies: Iterable[tuple[int, bytes]]) -> None:
    """Store the packed bodies of records, or replace them."""
    db.conn.executemany(
        """INSERT INTO raw(record_id, data) VALUES (?, ?)
           ON CONFLICT(record_id) DO UPDATE SET data = excluded.data""",
        bodies,
    )


def drop_of_others(db: Database) -> None:
    """Delete the raw bodies of texts that turned out not to be the owner's."""
    own = tuple(map(int, OWN))
    db.execute(
        "DELETE FROM raw WHERE record_id IN "  # noqa: S608
        f"(SELECT id FROM record WHERE author NOT IN {own} AND cleaning <> {UNREAD})"
    )


def read(db: Database, record_id: int) -> RawText | None:
    """The raw body of a record; None if none is kept."""
    row = db.execute("SELECT data FROM raw WHERE record_id = ?", [record_id]).fetchone()
    return unpack(row[0]) if row else None


def waiting(db: Database, among: Sequence[int] | None = None) -> list[int]:
    """The records that wait to be cleaned, of all or of these."""
    sql = f"SELECT id FROM record WHERE cleaning = {UNREAD}"  # noqa: S608
    if among is None:
        rows = db.execute(f"{sql} ORDER BY id")
    else:
        sql += " AND id IN (SELECT value FROM json_each(?)) ORDER BY id"
        rows = db.execute(sql, [json.dumps(list(among))])
    return [row[0] for row in rows]


def clean_bodies(db: Database, ids: Iterable[int]) -> list[int]:
    """Clean those of these records that wait, within a transaction of the caller.

    Their packed bodies go; that of a text which has become the owner's stays, if such
    are kept. One that says nothing stays somebody else's. Returns which were cleaned.
    """
    keeps = is_wanted(db)
    cleaned = []
    for record_id in ids:
        row = db.execute(_WAITING, [record_id]).fetchone()
        if row is None:
            continue
        title, rating, author, packed = row
        own = text_of(packed)
        if author in OWN:
            author = Author.MIXED if own.trimmed else Author.ME
        author = author if own.text else Author.OTHER
        sha = fingerprint(title, rating, own.text)
        db.execute(
            """UPDATE record SET body = ?, body_sha = ?, trimmed = ?, author = ?,
                   cleaning = ? WHERE id = ?""",
            [own.text, sha, own.trimmed, author, VERSION, record_id],
        )
        cleaned.append(record_id)
        if author not in OWN or not keeps:
            db.execute("DELETE FROM raw WHERE record_id = ?", [record_id])
    return cleaned


def text_of(packed: bytes | None) -> Cleaned:
    """What cleaning makes of a packed body; empty if that says nothing."""
    cleaned = clean_raw(unpack(packed) if packed else RawText(""))
    text = cleaned.text[:MAX_STORED] if says_something(cleaned.text) else ""
    return Cleaned(text, cleaned.trimmed)
