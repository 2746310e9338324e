"""Texts from one store to another: exported, merged with another store, restored.

An export is JSON lines, which `import jsonl` reads back with nothing lost, or an mbox
of the owner's mails. A merge takes what the other store has; done twice, it changes
nothing: a text is the same if its key is. What one of the two has forgotten goes from
both, and what one of them has excluded or put into the trash is put away. A restore
puts back what a backup holds, but for what was forgotten since.
"""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email import policy
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path
from typing import Any

from sqlite_utils import Database

from base.owner_only import part_of, put_in_place
from personal_store import keys
from personal_store.connection import CONTENT, beside, connect_as_it_is, immediate
from personal_store.copies import NAME, attached, backup_path
from personal_store.errors import StoreError
from personal_store.importers.tables import EXPORTED, MARK
from personal_store.lifecycle.cleaning import clean_all_waiting
from personal_store.lifecycle.forgetting import forgotten_among, take_out, tidy
from personal_store.lifecycle.identities import judge
from personal_store.lifecycle.writing import join_finished, keeps_bodies
from personal_store.records import OWN, UNREAD, Author
from personal_store.search import tables
from personal_store.states import drop_states, sweep

_ALL = """
    SELECT record.id, source.kind AS source_kind, label AS source, key, record.kind,
           title, body AS text, recipient, recipient_address, sender, sender_name,
           answer_to, sent_at, rating, thread, reply_to, author, trimmed, cleaning,
           excluded, trashed_at,
           (SELECT json_group_array(label) FROM record_label WHERE record_id = record.id
           ) AS labels,
           (SELECT data FROM raw WHERE record_id = record.id) AS raw,
           coalesce(asked, '') AS asked, coalesce(drafted, '') AS drafted,
           coalesce(own_share, 1.0) AS own_share
    FROM record JOIN source ON source.id = source_id
    LEFT JOIN edit ON record_id = record.id ORDER BY record.id
"""
_MAILS = f"""
    SELECT key, title, body, recipient, recipient_address, sender, sent_at, thread,
           reply_to,
           (SELECT json_group_array(label) FROM record_label
            WHERE record_id = record.id)
    FROM record WHERE kind = 'email' AND {tables.MINE}
        AND trashed_at IS NULL ORDER BY record.id
"""  # noqa: S608
_FROM = re.compile(rb"^(>*From )", re.MULTILINE)
_MAIL_KEY = re.compile(r"mid:(.+):[0-9a-f]{16}")
_COLUMNS = (
    "kind, title, body, recipient, recipient_address, sender, sender_name, answer_to,"
    " sent_at,"
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
_EDITS = f"""
    INSERT OR IGNORE INTO main.edit
    SELECT mine.id, asked, drafted, own_share FROM {NAME}.edit
    JOIN {NAME}.record AS theirs ON theirs.id = edit.record_id
    JOIN main.record AS mine ON mine.key = theirs.key
"""  # noqa: S608
_RAW_UNREAD = f"{_RAW} WHERE mine.cleaning = {UNREAD}"
_NEW_PEOPLE = f"""
    SELECT address FROM {NAME}.identity
    WHERE address NOT IN (SELECT address FROM main.identity)
      AND address NOT IN (SELECT address FROM main.stranger)
"""  # noqa: S608


def as_lines(db: Database) -> Iterator[bytes]:
    """Every record, those of others and those in the trash too, as a line of JSON, then
    what the owner said of the voice.

    Received mail that waits is cleaned first.
    """
    clean_all_waiting(db)
    cursor = db.execute(_ALL)
    names = [column[0] for column in cursor.description]
    for row in cursor:
        fields: dict[str, Any] = dict(zip(names, row, strict=True))
        del fields["id"]
        fields["author"] = Author(fields["author"]).name.lower()
        fields["labels"] = json.loads(fields["labels"])
        for name in ("trimmed", "excluded"):
            fields[name] = bool(fields[name])
        if fields["raw"] is not None:
            fields["raw"] = base64.b64encode(fields["raw"]).decode()
        line = json.dumps({MARK: EXPORTED, **fields}, ensure_ascii=False)
        yield line.encode() + b"\n"
    for row in db.execute("SELECT * FROM voice_mark"):
        line = json.dumps({MARK: EXPORTED, "voice_mark": row}, ensure_ascii=False)
        yield line.encode() + b"\n"


def as_mailbox(db: Database) -> Iterator[bytes]:
    """The owner's mails as an mbox, each as it is stored: own words, plain text."""
    for row in db.execute(_MAILS):
        content = _FROM.sub(rb">\1", _message(*row).as_bytes())
        when = datetime.fromtimestamp(row[6] or 0, UTC)
        envelope = f"From - {when:%a %b %d %H:%M:%S %Y}\n".encode()
        yield envelope + content.rstrip(b"\n") + b"\n\n"


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge came to."""

    added: int  # texts that only the other store had
    changed: int  # texts of both that were cleaned better, or put away, there
    forgotten: int  # texts that went because one of the two had forgotten them
    addresses: tuple[str, ...]  # addresses of the owner that only the other store knew


def merge(db: Database, path: Path, other: Path) -> Merged:
    """Take everything from another store that this one lacks; the other stays as it is.

    Where both know a text, the newer cleaning rules win, else ours. Where they disagree
    on whose an address is, ours stays. Raises StoreError if the file is no store.
    """
    with attached(db, path, other), immediate(db):
        _join_tombstones(db)
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
        db.execute(_RAW if keeps_bodies(db) else _RAW_UNREAD)
        db.execute(_EDITS)
        db.execute(
            f"INSERT OR IGNORE INTO main.voice_mark SELECT * FROM {NAME}.voice_mark"  # noqa: S608
        )
        joined = join_finished(db, new)
        gone = forgotten_among(db)
        tables.refresh(db, {*new, *changed, *joined.values()} - {*gone, *joined})
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
    sweep(db)
    if gone:
        tidy(db, path)
    stayed = set(new) - {*gone, *joined}
    return Merged(len(stayed), len(changed), len(set(gone) - set(new)), people)


def restore(db: Database, path: Path, backup: Path) -> int:
    """Make the store what the backup is; how many of its texts stayed forgotten.

    All or nothing, and safe while other programs read: it is one transaction.
    """
    with attached(db, path, backup), immediate(db):
        tables.empty(db)
        for table in reversed(CONTENT):
            db.execute(f'DELETE FROM main."{table}"')  # noqa: S608
        for table in CONTENT:
            rows = db.execute(f'PRAGMA {NAME}.table_info("{table}")').fetchall()
            names = ", ".join(row[1] for row in rows)
            db.execute(
                f'INSERT INTO main."{table}"({names}) '  # noqa: S608
                f'SELECT {names} FROM {NAME}."{table}"'
            )
        _join_tombstones(db)
        gone = forgotten_among(db)
        take_out(db, gone)
        tables.rebuild(db)
    drop_states(path)  # the numbers of records name other texts now
    tidy(db, path)
    return len(gone)


def put_back(path: Path) -> Path:
    """Where the store itself cannot be opened any more: put its backup in its place.

    Returns where the damaged file went. Raises StoreError if there is no backup, or if
    that cannot be opened either, as when only the key is wrong.
    """
    backup = backup_path(path)
    if not backup.exists():
        raise StoreError(f"There is no backup of {path} to restore.")
    connect_as_it_is(backup, keys.in_keyring(path) or None).close()
    drop_states(path)
    part = part_of(path)
    part.write_bytes(backup.read_bytes())
    damaged = path.with_name(f"{path.stem}-damaged{path.suffix}")
    path.replace(damaged)
    for file in beside(path):
        file.unlink(missing_ok=True)
    put_in_place(part, path)
    return damaged


def _message(
    key: str, title: str, text: str, recipient: str, address: str, sender: str,
    sent_at: int | None, thread: str, reply_to: str, labels: str,
) -> EmailMessage:  # fmt: skip
    message = EmailMessage(policy.default.clone(cte_type="8bit", utf8=True))
    message["From"] = _line(sender) or "unknown@localhost"
    to = _line(address) or "undisclosed-recipients:;"
    name = _line(recipient).replace('"', "").replace("\\", "")
    if _line(address) and name and name != _line(address):
        to = f'"{name}" <{_line(address)}>'
    message["To"] = to
    message["Subject"] = _line(title)
    if sent_at is not None:
        message["Date"] = format_datetime(datetime.fromtimestamp(sent_at, UTC))
    found = _MAIL_KEY.fullmatch(key)
    if found:
        message["Message-ID"] = f"<{_line(found[1])}>"
    if reply_to:
        message["In-Reply-To"] = f"<{_line(reply_to)}>"
    if thread and not thread.startswith("gmail:"):
        message["References"] = f"<{_line(thread)}>"
    if json.loads(labels):
        quoted = (f'"{_line(label)}"' for label in json.loads(labels))
        message["X-Gmail-Labels"] = ",".join(quoted)
    message.set_content(text, charset="utf-8", cte="8bit")
    return message


def _line(value: str) -> str:
    """A value that cannot begin another header."""
    return " ".join(value.split())


def _ids(db: Database, sql: str, *values: int) -> list[int]:
    return [row[0] for row in db.execute(sql, list(values)).fetchall()]


def _join_tombstones(db: Database) -> None:
    """The other store's marks beside ours, under its own secrets."""
    db.execute(
        f"""INSERT OR IGNORE INTO main.tombstone_key(secret)
            SELECT secret FROM {NAME}.tombstone_key ORDER BY id"""  # noqa: S608
    )
    db.execute(
        f"""INSERT OR IGNORE INTO main.tombstone(key_id, mark, of)
            SELECT mine.id, theirs.mark, theirs.of
            FROM {NAME}.tombstone AS theirs
            JOIN {NAME}.tombstone_key AS key ON key.id = theirs.key_id
            JOIN main.tombstone_key AS mine ON mine.secret = key.secret"""  # noqa: S608
    )
