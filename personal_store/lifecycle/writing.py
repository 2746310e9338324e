"""What an import writes: batches of documents, and the bodies they were cleaned out of.

A batch and the place it brings the import to are one transaction, so a killed import
goes on exactly where the file and the store agree.

The bodies of own mail are kept as they came, packed, so that newer rules can clean them
again. Received mail, which is most of a mailbox and seldom looked at, waits: to clean
it at once took a quarter of the work of an import. Until somebody wants its text, its
record has an empty body and `UNREAD` for its rules; once cleaned, its packed body goes.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any

from sqlite_utils import Database

from personal_store.cleaning.cleaning import COMPARED, VERSION, Cleaned, clean_raw
from personal_store.connection import immediate
from personal_store.files import Source
from personal_store.lifecycle.tombstones import Tombstones
from personal_store.reading.letters import MAX_STORED, says_something, unpack
from personal_store.records import (
    OWN,
    UNREAD,
    Author,
    Document,
    ImportFailure,
    ImportReport,
    Item,
    RawText,
    Skipped,
    fingerprint,
)
from personal_store.search.tables import MINE, drop, refresh, set_state, state
from personal_store.text.charset import storable
from personal_store.text.tokens import normalised

KNOWN = "already stored"
UNCHANGED = "in files that have not changed"
FORGOTTEN = "forgotten before"
FINISHED = "draft", "finished here"
"""Kind and label of the source of texts that the owner finished in this program."""
FINISHED_KEY = "draft:"
EVIDENCE = 1 / 3
"""Share of the words of a drafted text that the owner must have typed, or it is no
evidence of how they write: it is kept, and excluded."""
_SENT_WITHIN = (
    7 * 86_400
)  # seconds between a text that is kept and the mail that is sent

_TEXTS = [one.name for one in fields(Document) if one.type is str]
_FIELDS = (
    *("key", "kind", "title", "recipient", "recipient_address", "sender"),
    *("sender_name", "answer_to", "sent_at", "rating", "thread", "reply_to"),
    *("trimmed", "cleaning", "excluded", "trashed_at"),
)
"""Fields of a document that are columns of the same name."""
_INSERT = f"""
    INSERT INTO record(source_id, body, author, body_sha, {", ".join(_FIELDS)})
    VALUES (?, ?, ?, ?, {", ".join("?" * len(_FIELDS))}) ON CONFLICT(key) DO NOTHING
"""  # noqa: S608
_REWRITTEN = ("title", "recipient", "rating", "trimmed", "cleaning")
_UPDATE = f"""
    UPDATE record SET body = ?, author = ?, body_sha = ?,
        {", ".join(f"{name} = ?" for name in _REWRITTEN)} WHERE id = ?
"""  # noqa: S608
_START_RUN = """
    INSERT INTO import_run(
        source_id, place, size, fingerprint, options, position, started
    ) VALUES (?, ?, ?, ?, ?, 0, ?)
"""
_ADVANCE_RUN = """
    UPDATE import_run SET position = ?, added = added + ?, updated = updated + ?,
        skipped = skipped + ?, failed = failed + ? WHERE id = ?
"""
_WAITING = f"""
    SELECT title, rating, author, data FROM record LEFT JOIN raw ON record_id = id
    WHERE id = ? AND cleaning = {UNREAD}
"""  # noqa: S608


@dataclass(slots=True)
class ImportRun:
    """One source on its way into the store."""

    db: Database
    id: int
    source_id: int
    position: int  # the position that an earlier, interrupted run has committed
    me: frozenset[str]

    @classmethod
    def begin(
        cls, db: Database, kind: str, source: Source, me: frozenset[str], options: str
    ) -> "ImportRun":
        """A new run, or the interrupted one over the same file with equal options."""
        same = [source.place, source.size, source.fingerprint(), stored(options, me)]
        with immediate(db):
            source_id = _source_id(db, kind, source.name)
            row = db.execute(
                """SELECT id, position FROM import_run WHERE ended IS NULL AND
                   place = ? AND size = ? AND fingerprint = ? AND options = ?
                   ORDER BY id DESC""",
                same,
            ).fetchone()
            if row is None:
                values = [source_id, *same, _now()]
                row = (db.execute(_START_RUN, values).lastrowid, 0)
        return cls(db, row[0], source_id, row[1], me)

    def commit(self, items: Sequence[Item], report: ImportReport) -> None:
        """Store a batch and the position behind it, all or nothing."""
        if not items:
            return
        with immediate(self.db):
            batch = _Batch(self, Tombstones.of(self.db), keeps_bodies(self.db))
            for item in items:
                batch.take(item)
            batch.finish()
            new = batch.report
            counts = [new.added, new.updated, new.skipped + new.received, new.failed]
            self.db.execute(_ADVANCE_RUN, [items[-1].position, *counts, self.id])
        report.added += new.added
        report.updated += new.updated
        report.received += new.received
        report.met += new.met
        report.reasons += new.reasons
        report.failures += new.failures

    def end(self, reader: str, mark: str, digest: str) -> None:
        """Note that the source was read to its end, how, and what identifies it."""
        with immediate(self.db):
            self.db.execute(
                """UPDATE import_run SET ended = ?, reader = ?, mark = ?, digest = ?
                   WHERE id = ?""",
                [_now(), reader, mark, digest, self.id],
            )


@dataclass(slots=True)
class _Batch:
    """One transaction of a run. What need not be written at once is written together
    at its end, which is several times faster."""

    run: ImportRun
    tombstones: Tombstones
    with_raw: bool
    report: ImportReport = field(default_factory=ImportReport)
    labels: list[tuple[int, str]] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    """Own records that are new or read differently."""
    bodies: list[tuple[int, bytes]] = field(default_factory=list)
    """Packed bodies by record."""

    def take(self, item: Item) -> None:
        """Write one item that was read."""
        db = self.run.db
        if isinstance(item, Skipped):
            self.report.reasons[item.reason] += 1
            if item.mark:  # what was said here stays
                sql = "INSERT OR IGNORE INTO voice_mark VALUES (?, ?, ?, ?, ?, ?)"
                db.execute(sql, list(map(storable, item.mark)))
            return
        if isinstance(item, ImportFailure):
            self.report.failures.append(item)
            values = [self.run.id, item.where, item.reason]
            db.execute("INSERT INTO import_error VALUES (?, ?, ?)", values)
            return
        if self.tombstones.cover(item.key, item.text):
            self.report.reasons[FORGOTTEN] += 1
            return
        document = _storable(item)
        source_id = self.run.source_id
        if document.origin is not None:
            kind, label = map(storable, document.origin)
            source_id = _source_id(db, kind, label)
        author = _author(document, self.run.me)
        twin = twin_of(db, document.key, document.text) if author in OWN else None
        if twin is not None:
            self.report.reasons[KNOWN] += 1
            self.labels += [(twin, storable(label)) for label in document.labels]
            return
        sha = fingerprint(document.title, document.rating, document.text)
        columns = [getattr(document, name) for name in _FIELDS]
        inserted = db.execute(
            _INSERT, [source_id, document.text, author, sha, *columns]
        )
        is_new = bool(inserted.rowcount)
        record_id = int(inserted.lastrowid or 0)
        if not is_new:
            record_id = self._meet_again(document, author, sha)
        elif author in OWN:
            self.report.added += 1
            self.changed.append(record_id)
        else:
            self.report.received += 1
        if document.drafted:
            _keep_pair(db, record_id, document)
        wanted = (author in OWN and self.with_raw) or document.cleaning == UNREAD
        raw = document.raw if wanted else None
        if raw and (is_new or self._lacks_raw(record_id, document.cleaning)):
            self.bodies.append((record_id, raw))
        self.labels += [(record_id, storable(label)) for label in document.labels]

    def finish(self) -> dict[int, int]:
        """Write labels and bodies, and index what changed; returns what was joined."""
        connection = self.run.db.conn
        joined = join_finished(self.run.db, self.changed)
        connection.executemany(
            "INSERT OR IGNORE INTO record_label VALUES (?, ?)", self.labels
        )
        connection.executemany(
            """INSERT INTO raw(record_id, data) VALUES (?, ?)
               ON CONFLICT(record_id) DO UPDATE SET data = excluded.data""",
            self.bodies,
        )
        refresh(self.run.db, dict.fromkeys([*self.changed, *joined.values()]))
        return joined

    def _lacks_raw(self, record_id: int, cleaning: int) -> bool:
        """Whether a record has no raw body, and no newer rules have read its text."""
        lacking = self.run.db.execute(
            """SELECT 1 FROM record LEFT JOIN raw ON record_id = id
               WHERE id = ? AND cleaning <= ? AND record_id IS NULL""",
            [record_id, cleaning],
        )
        return lacking.fetchone() is not None

    def _meet_again(self, document: Document, author: Author, sha: bytes) -> int:
        """A key that is already there: update the record if its text reads differently.

        Texts made by newer cleaning rules than ours stay as they are.
        """
        db = self.run.db
        record_id, known_sha, cleaning = db.execute(
            "SELECT id, body_sha, cleaning FROM record WHERE key = ?", [document.key]
        ).fetchone()
        if author not in OWN:
            self.report.reasons[KNOWN] += 1
            self.report.met += 1
        elif known_sha == sha or document.cleaning < cleaning:
            self.report.reasons[KNOWN] += 1
        else:
            self.report.updated += 1
            columns = [getattr(document, name) for name in _REWRITTEN]
            db.execute(_UPDATE, [document.text, author, sha, *columns, record_id])
            db.execute("DELETE FROM raw WHERE record_id = ?", [record_id])
            self.changed.append(record_id)
        return int(record_id)


def keep_finished(db: Database, name: str, document: Document) -> int | None:
    """Keep a text that the owner finished from a draft, as the last one of this name;
    its record, None if it had been forgotten."""
    kept = replace(
        document,
        key=f"{FINISHED_KEY}{name}",
        author=Author.ME,
        cleaning=VERSION,
        excluded=document.own_share < EVIDENCE,
    )
    with immediate(db):
        before = db.execute(
            """SELECT excluded AND own_share >= ? FROM record JOIN edit
               ON record_id = id WHERE key = ?""",
            [EVIDENCE, kept.key],
        ).fetchone()
        run = ImportRun(db, 0, _source_id(db, *FINISHED), 0, frozenset())
        batch = _Batch(run, Tombstones.of(db), with_raw=False)
        batch.take(kept)
        row = db.execute("SELECT id FROM record WHERE key = ?", [kept.key]).fetchone()
        if row is None:
            return None
        # It may be for somebody else by now; what the owner excluded stays so.
        to = (storable(one) for one in (kept.recipient, kept.recipient_address))
        db.execute(
            """UPDATE record SET recipient = ?, recipient_address = ?, excluded = ?
               WHERE id = ?""",
            [*to, kept.excluded or bool(before and before[0]), row[0]],
        )
        batch.changed += row
        joined = batch.finish()
    return int(joined.get(row[0], row[0]))


def _keep_pair(db: Database, record_id: int, document: Document) -> None:
    """Keep how a text was drafted beside it."""
    db.execute(
        "INSERT OR REPLACE INTO edit VALUES (?, ?, ?, ?)",
        [record_id, document.asked, document.drafted, document.own_share],
    )


def join_finished(db: Database, ids: Iterable[int]) -> dict[int, int]:
    """Let a mail that was finished here and the same mail as it was sent be one record,
    if one of the two is among these: the sent one, with the draft of the other. Returns
    the records that have gone, each with the one in its place."""
    to = "lower(iif(recipient_address = '', recipient, recipient_address))"
    mails = f"""SELECT id, {to}, body, sent_at FROM record
                WHERE kind = 'email' AND {MINE} AND"""  # noqa: S608
    drafts = f"key LIKE '{FINISHED_KEY}%'"
    finished = {
        number: (whom, normalised(body), at)
        for number, whom, body, at in db.execute(
            f"{mails} {drafts} AND id IN (SELECT record_id FROM edit)"  # noqa: S608
        )
    }
    joined = dict[int, int]()
    for record_id in ids if finished else ():
        known = finished.get(record_id)
        condition, value = ("id", record_id) if known is None else (to, known[0])
        for new, whom, body, sent_at in db.execute(
            f"{mails} NOT {drafts} AND {condition} = ?", [value]
        ).fetchall():
            said = whom, normalised(body)
            for old, (*same, at) in list(finished.items()):
                apart = abs(sent_at - at) if sent_at and at else 0
                if (*same,) != said or apart > _SENT_WITHIN:
                    continue
                del finished[old]
                joined[old] = new
                for sql in (
                    "UPDATE OR REPLACE edit SET record_id = ?1 WHERE record_id = ?2",
                    """UPDATE record SET excluded = excluded OR
                       (SELECT excluded FROM record WHERE id = ?2) WHERE id = ?1""",
                ):
                    db.execute(sql, [new, old])
                drop(db, [old])
                db.execute("DELETE FROM record WHERE id = ?", [old])
    return joined


def twin_of(db: Database, key: str, text: str) -> int | None:
    """The own record that says the same under the same Message-ID: what a list or a
    server has sent back differs in its footer or its encoding, and so in its key.

    What was stored may have lost lines since, which its thread holds.
    """
    if not message_id(key):
        return None
    rows = db.execute(
        f"""SELECT id, body, cleaning FROM record WHERE key > ? AND key < ?
            AND key <> ? AND {MINE} AND body <> ''""",  # noqa: S608
        [*keys_of(message_id(key)), key],
    )
    for record_id, body, cleaning in rows:
        lines = {normalised(line) for line in text.split("\n")}
        rest = {normalised(line) for line in body.split("\n")}
        if normalised(body) == normalised(text) or (
            cleaning == COMPARED and rest <= lines
        ):
            return int(record_id)
    return None


def message_id(key: str) -> str:
    """The Message-ID in the key of a mail; empty for another key."""
    return key[4:].rpartition(":")[0] if key.startswith("mid:") else ""


def keys_of(message_id: str) -> list[str]:
    """The keys between which those of a Message-ID lie: a colon ends it in a key, and
    a semicolon is the letter behind the colon."""
    return [f"mid:{message_id}:", f"mid:{message_id};"]


def stored(options: str, me: frozenset[str]) -> str:
    """The options of an import, as they are stored with a run."""
    return f"{options} {sorted(me)}"


def newest(db: Database) -> int:
    """The largest id of a record; 0 in an empty store."""
    return int(db.execute("SELECT coalesce(max(id), 0) FROM record").fetchone()[0])


def keeps_bodies(db: Database) -> bool:
    """Whether raw bodies are kept; they are unless the owner said no."""
    return state(db, "keep_raw") == "1"


def keep_bodies(db: Database, wanted: bool) -> int:
    """Keep raw bodies from now on, or drop all; returns how many were dropped."""
    with immediate(db):
        set_state(db, "keep_raw", int(wanted))
        return 0 if wanted else _drop_bodies(db, "cleaning <> ?", UNREAD)


def drop_bodies_of_others(db: Database) -> None:
    """Delete the raw bodies of texts that turned out not to be the owner's."""
    _drop_bodies(db, f"NOT {MINE} AND cleaning <> ?", UNREAD)


def body_of(db: Database, record_id: int) -> RawText | None:
    """The raw body of a record; None if it was not kept."""
    row = db.execute("SELECT data FROM raw WHERE record_id = ?", [record_id]).fetchone()
    return unpack(row[0]) if row else None


def waiting(db: Database, among: Sequence[int] | None = None) -> list[int]:
    """The records that wait to be cleaned, of all or of these."""
    sql, values = f"SELECT id FROM record WHERE cleaning = {UNREAD}", []  # noqa: S608
    if among is not None:
        sql += " AND id IN (SELECT value FROM json_each(?))"
        values.append(json.dumps(list(among)))
    return [row[0] for row in db.execute(f"{sql} ORDER BY id", values)]


def clean_bodies(db: Database, ids: Iterable[int]) -> list[int]:
    """Clean those of these records that wait, within a transaction of the caller.

    Their packed bodies go; that of a text which has become the owner's stays, if such
    are kept. One without words stays somebody else's. Returns which were cleaned.
    """
    keeps = keeps_bodies(db)
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
    """The cleaned text of a packed body; empty if it holds no words."""
    cleaned = clean_raw(unpack(packed) if packed else RawText(""))
    text = cleaned.text[:MAX_STORED] if says_something(cleaned.text) else ""
    return Cleaned(text, cleaned.trimmed)


def _drop_bodies(db: Database, condition: str, *values: int) -> int:
    return db.execute(
        "DELETE FROM raw WHERE record_id IN "  # noqa: S608
        f"(SELECT id FROM record WHERE {condition})",
        values,
    ).rowcount


def _author(document: Document, me: frozenset[str]) -> Author:
    """Only the From address decides: sent labels and list addresses do not."""
    if document.author is not None:
        return document.author
    if document.sender and document.sender not in me:
        return Author.OTHER
    return Author.MIXED if document.trimmed else Author.ME


def _storable(document: Document) -> Document:
    """The document without characters that SQLite refuses."""
    texts = {name: getattr(document, name) for name in _TEXTS}
    clean: dict[str, Any] = {name: storable(text) for name, text in texts.items()}
    return document if clean == texts else replace(document, **clean)


def _source_id(db: Database, kind: str, label: str) -> int:
    """The row of a source, made if need be."""
    names = [kind, label]
    db.execute("INSERT OR IGNORE INTO source(kind, label) VALUES (?, ?)", names)
    sql = "SELECT id FROM source WHERE kind = ? AND label = ?"
    return int(db.execute(sql, names).fetchone()[0])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
