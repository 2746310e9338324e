"""Two stores into one, such as those of two devices. Done twice, it changes nothing.

A text is the same where its key is. What one of the two has forgotten goes from both,
and what one of them has excluded or put into the trash is put away.
"""

from dataclasses import dataclass
from pathlib import Path

from sqlite_utils import Database

from personal_store.database.attaching import NAME, attached
from personal_store.database.transactions import immediate
from personal_store.lifecycle import raw_bodies
from personal_store.lifecycle.forgetting import forgotten_among, take_out, tidy
from personal_store.lifecycle.identities import judge
from personal_store.records import OWN, UNREAD, Author
from personal_store.search.derived import count_change, refresh
from personal_store.transfer.restoring import join_tombstones

_COLUMNS = (
    "kind, title, body, recipient, recipient_address, sender, sender_name, sent_at,"
    " rating, thread, reply_to, author, trimmed, cleaning, body_sha, excluded,"
    " trashed_at"
)
_RECORDS = f"""
    INSERT INTO main.record(source_id, key, {_COLUMNS})
    SELECT (SELECT mine.id FROM main.source AS mine
            JOIN {NAME}.source AS theirs USING (kind, label)
            WHERE theirs.id = record.source_id),
           key, {_COLUMNS}
    FROM {NAME}.record WHERE true
    ON CONFLICT(key) DO NOTHING
"""  # noqa: S608
_TEXTS = "title, body, recipient, rating, trimmed, cleaning, body_sha"
_CLEANER = f"""
    UPDATE main.record SET ({_TEXTS}) =
        (SELECT {_TEXTS} FROM {NAME}.record AS theirs WHERE theirs.key = record.key)
    WHERE cleaning <
        (SELECT cleaning FROM {NAME}.record AS theirs WHERE theirs.key = record.key)
    RETURNING id
"""  # noqa: S608
_PUT_AWAY = f"""
    UPDATE main.record SET excluded = record.excluded OR theirs.excluded,
        trashed_at = coalesce(record.trashed_at, theirs.trashed_at)
    FROM {NAME}.record AS theirs WHERE theirs.key = record.key
        AND (theirs.excluded > record.excluded
             OR (record.trashed_at IS NULL AND theirs.trashed_at IS NOT NULL))
    RETURNING record.id
"""  # noqa: S608
_LABELS = f"""
    INSERT OR IGNORE INTO main.record_label
    SELECT mine.id, label FROM {NAME}.record_label
    JOIN {NAME}.record AS theirs ON theirs.id = record_label.record_id
    JOIN main.record AS mine ON mine.key = theirs.key
"""  # noqa: S608
_RAW = f"""
    INSERT OR IGNORE INTO main.raw
    SELECT mine.id, data FROM {NAME}.raw
    JOIN {NAME}.record AS theirs ON theirs.id = raw.record_id
    JOIN main.record AS mine
        ON mine.key = theirs.key AND mine.cleaning <= theirs.cleaning
"""  # noqa: S608
_RAW_UNREAD = f"{_RAW} WHERE mine.cleaning = {UNREAD}"
_NEW_PEOPLE = f"""
    SELECT address FROM {NAME}.identity
    WHERE address NOT IN (SELECT address FROM main.identity)
      AND address NOT IN (SELECT address FROM main.stranger)
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge came to."""

    added: int
    """Texts that only the other store had."""
    changed: int
    """Texts of both that were cleaned better, or put away, there."""
    forgotten: int
    """Texts that went because one of the two had forgotten them."""
    addresses: tuple[str, ...]
    """Addresses of the owner that only the other store knew."""


def merge(db: Database, path: Path, other: Path) -> Merged:
    """Take everything from another store that this one lacks; the other stays as it is.

    Where both know a text, the newer cleaning rules win, else ours. Where they disagree
    on whose an address is, ours stays. Raises StoreError if the file is no store.
    """
    with attached(db, path, other), immediate(db):
        join_tombstones(db)
        db.execute(
            f"""INSERT OR IGNORE INTO main.source(kind, label)
                SELECT kind, label FROM {NAME}.source ORDER BY id"""  # noqa: S608
        )
        (last,) = db.execute("SELECT coalesce(max(id), 0) FROM main.record").fetchone()
        db.execute(_RECORDS)
        new = _ids(db, "SELECT id FROM main.record WHERE id > ?", last)
        cleaner = _ids(db, _CLEANER)
        for record_id in cleaner:
            db.execute("DELETE FROM main.raw WHERE record_id = ?", [record_id])
            db.execute(
                """UPDATE main.record SET author = iif(trimmed, ?, ?)
                   WHERE id = ? AND author IN (?, ?)""",
                [Author.MIXED, Author.ME, record_id, *OWN],
            )
        changed = {*cleaner, *_ids(db, _PUT_AWAY)}
        db.execute(_LABELS)
        db.execute(_RAW if raw_bodies.is_wanted(db) else _RAW_UNREAD)
        gone = forgotten_among(db)
        refresh(db, {*new, *changed} - set(gone))
        take_out(db, gone)
        # The owner's addresses of both; every record of either is judged by all.
        people = tuple(sorted(row[0] for row in db.execute(_NEW_PEOPLE)))
        db.execute(
            f"""INSERT OR IGNORE INTO main.identity(address, why, confirmed)
                SELECT address, why, confirmed FROM {NAME}.identity
                WHERE address NOT IN (SELECT address FROM main.stranger)"""  # noqa: S608
        )
        db.execute(
            f"""INSERT OR IGNORE INTO main.stranger SELECT address FROM {NAME}.stranger
                WHERE address NOT IN (SELECT address FROM main.identity)"""  # noqa: S608
        )
        mine = {row[0] for row in db.execute("SELECT address FROM main.identity")}
        strangers = {row[0] for row in db.execute("SELECT address FROM main.stranger")}
        judge(db, sorted(mine | strangers))
        if new or changed or gone or people:
            count_change(db)
    if gone:
        tidy(db, path)
    stayed = set(new) - set(gone)
    return Merged(len(stayed), len(changed), len(set(gone) - set(new)), people)


def _ids(db: Database, sql: str, *values: int) -> list[int]:
    return [row[0] for row in db.execute(sql, list(values)).fetchall()]
