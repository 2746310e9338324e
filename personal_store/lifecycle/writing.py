"""What an import writes: batches of documents, and how far it has come.

A batch and the place it brings the import to are one transaction, so a killed import
goes on exactly where the file and the store agree.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any

from sqlite_utils import Database

from personal_store.cleaning.cleaning import COMPARED
from personal_store.database.transactions import immediate
from personal_store.errors import is_full
from personal_store.files.sources import Source
from personal_store.lifecycle import raw_bodies
from personal_store.lifecycle.tombstones import Tombstones
from personal_store.records import (
    OWN,
    UNREAD,
    Author,
    Document,
    ImportFailure,
    ImportReport,
    Item,
    Skipped,
    fingerprint,
)
from personal_store.search.derived import count_change, refresh
from personal_store.text.charset import storable
from personal_store.text.tokens import normalised

__all__ = ["FORGOTTEN", "KNOWN", "UNCHANGED", "ImportRun", "is_full", "newest"]

KNOWN = "already stored"
UNCHANGED = "in files that have not changed"
FORGOTTEN = "forgotten before"

_INSERT = """
    INSERT INTO record(
        source_id, key, kind, title, body, recipient, recipient_address, sender,
        sender_name, sent_at, rating, thread, reply_to, author, trimmed, cleaning,
        body_sha, excluded, trashed_at
    ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT(key) DO NOTHING
"""
_UPDATE = """
    UPDATE record SET title = ?, body = ?, recipient = ?, rating = ?, trimmed = ?,
        cleaning = ?, author = ?, body_sha = ? WHERE id = ?
"""
_TEXTS = [one.name for one in fields(Document) if one.type is str]
_MARK = "\ufeff"
"""`storable` drops it at the beginning of a text."""
_START_RUN = """
    INSERT INTO import_run(
        source_id, place, size, fingerprint, options, position, started
    ) VALUES (?, ?, ?, ?, ?, 0, ?)
"""
_ADVANCE_RUN = """
    UPDATE import_run SET position = ?, added = added + ?, updated = updated + ?,
        skipped = skipped + ?, failed = failed + ? WHERE id = ?
"""


@dataclass(slots=True)
class ImportRun:
    """One source on its way into the store."""

    db: Database
    id: int
    source_id: int
    position: int
    """Up to where an earlier, interrupted run has committed."""
    me: frozenset[str]

    @classmethod
    def begin(
        cls, db: Database, kind: str, source: Source, me: frozenset[str], options: str
    ) -> "ImportRun":
        """A new run, or the interrupted one over the same file, equally told."""
        same = [source.place, source.size, source.fingerprint(), told_as(options, me)]
        with immediate(db):
            source_id = source_id_of(db, kind, source.name)
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
            batch = _Batch(self, Tombstones.of(self.db), raw_bodies.is_wanted(self.db))
            for item in items:
                batch.take(item)
            batch.finish()
            told = batch.report
            counts = [told.added, told.updated, told.skipped + told.received]
            values = [items[-1].position, *counts, told.failed, self.id]
            self.db.execute(_ADVANCE_RUN, values)
        report.added += batch.report.added
        report.updated += batch.report.updated
        report.received += batch.report.received
        report.met += batch.report.met
        report.reasons += batch.report.reasons
        report.failures += batch.report.failures

    def end(self, reader: str, mark: str, digest: str) -> None:
        """Say that the source was read to its end, how, and what it was like."""
        with immediate(self.db):
            self.db.execute(
                """UPDATE import_run SET ended = ?, reader = ?, mark = ?, digest = ?
                   WHERE id = ?""",
                [_now(), reader, mark, digest, self.id],
            )


@dataclass(slots=True)
class _Batch:
    """One transaction of a run. What need not be written at once waits for its end,
    where it is written together, which is several times faster."""

    run: ImportRun
    buried: Tombstones
    with_raw: bool
    report: ImportReport = field(default_factory=ImportReport)
    labels: list[tuple[int, str]] = field(default_factory=list)
    changed: list[int] = field(default_factory=list)
    """Own records that are new or read differently."""
    bodies: list[tuple[int, bytes]] = field(default_factory=list)
    """Packed bodies by record."""

    def take(self, item: Item) -> None:
        """Write one thing that was read."""
        db = self.run.db
        if isinstance(item, Skipped):
            self.report.reasons[item.reason] += 1
            return
        if isinstance(item, ImportFailure):
            self.report.failures.append(item)
            values = [self.run.id, item.where, item.reason]
            db.execute("INSERT INTO import_error VALUES (?, ?, ?)", values)
            return
        if self.buried.cover(item.key, item.text):
            self.report.reasons[FORGOTTEN] += 1
            return
        document = _storable(item)
        source_id = self.run.source_id
        if document.origin is not None:
            kind, label = map(storable, document.origin)
            source_id = source_id_of(db, kind, label)
        author = _author(document, self.run.me)
        twin = twin_of(db, document.key, document.text) if author in OWN else None
        if twin is not None:
            self.report.reasons[KNOWN] += 1
            self.labels += [(twin, storable(label)) for label in document.labels]
            return
        sha = fingerprint(document.title, document.rating, document.text)
        inserted = db.execute(
            _INSERT,
            [
                source_id,
                document.key,
                document.kind,
                document.title,
                document.text,
                document.recipient,
                document.recipient_address,
                document.sender,
                document.sender_name,
                document.sent_at,
                document.rating,
                document.thread,
                document.reply_to,
                author,
                document.trimmed,
                document.cleaning,
                sha,
                document.excluded,
                document.trashed_at,
            ],
        )
        is_new = bool(inserted.rowcount)
        if not is_new:
            record_id = self._meet_again(document, author, sha)
        else:
            record_id = int(inserted.lastrowid or 0)
            if author in OWN:
                self.report.added += 1
                self.changed.append(record_id)
            else:
                self.report.received += 1
        wanted = (author in OWN and self.with_raw) or document.cleaning == UNREAD
        if (
            document.raw is not None
            and wanted
            and (is_new or self._lacks_raw(record_id, document.cleaning))
        ):
            self.bodies.append((record_id, document.raw))
        self.labels += [(record_id, storable(label)) for label in document.labels]

    def finish(self) -> None:
        """Write what waited."""
        self.run.db.conn.executemany(
            "INSERT OR IGNORE INTO record_label VALUES (?, ?)", self.labels
        )
        raw_bodies.keep(self.run.db, self.bodies)
        refresh(self.run.db, dict.fromkeys(self.changed))
        if self.changed:
            count_change(self.run.db)

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
        record_id, known_sha, cleaning = self.run.db.execute(
            "SELECT id, body_sha, cleaning FROM record WHERE key = ?", [document.key]
        ).fetchone()
        if author not in OWN:
            self.report.reasons[KNOWN] += 1
            self.report.met += 1
        elif known_sha == sha or document.cleaning < cleaning:
            self.report.reasons[KNOWN] += 1
        else:
            self.report.updated += 1
            self.run.db.execute(
                _UPDATE,
                [
                    document.title,
                    document.text,
                    document.recipient,
                    document.rating,
                    document.trimmed,
                    document.cleaning,
                    author,
                    sha,
                    record_id,
                ],
            )
            self.run.db.execute("DELETE FROM raw WHERE record_id = ?", [record_id])
            self.changed.append(record_id)
        return int(record_id)


def twin_of(db: Database, key: str, text: str) -> int | None:
    """The own record that says the same under the same Message-ID: what a list or a
    server has sent back differs in its footer or its encoding, and so in its key.

    What was stored may have lost lines since, which its thread holds.
    """
    message = key.rpartition(":")[0]
    if not message.startswith("mid:"):
        return None
    own = tuple(map(int, OWN))
    rows = db.execute(
        f"""SELECT id, body, cleaning FROM record WHERE key > ? AND key < ?
            AND key <> ? AND author IN {own} AND body <> ''""",  # noqa: S608
        [f"{message}:", f"{message};", key],
    )
    for record_id, body, cleaning in rows:
        lines = {normalised(line) for line in text.split("\n")}
        rest = {normalised(line) for line in body.split("\n")}
        if normalised(body) == normalised(text) or (
            cleaning == COMPARED and rest <= lines
        ):
            return int(record_id)
    return None


def _author(document: Document, me: frozenset[str]) -> Author:
    """Only the From address decides: sent labels and list addresses do not."""
    if document.author is not None:
        return document.author
    if document.sender and document.sender not in me:
        return Author.OTHER
    return Author.MIXED if document.trimmed else Author.ME


def _storable(document: Document) -> Document:
    """The document without characters that SQLite refuses. Nearly all have none, which
    one look at all texts together tells."""
    every = "".join([getattr(document, name) for name in _TEXTS])
    if _MARK not in every and storable(every) is every:
        return document
    changed: dict[str, Any] = {}
    for name in _TEXTS:
        text = getattr(document, name)
        cleaned = storable(text)
        if cleaned is not text:
            changed[name] = cleaned
    return replace(document, **changed) if changed else document


def told_as(options: str, me: frozenset[str]) -> str:
    """What an import was told, as it is stored with a run."""
    return f"{options} {sorted(me)}"


def newest(db: Database) -> int:
    """The largest id of a record; 0 if there is none."""
    return int(db.execute("SELECT coalesce(max(id), 0) FROM record").fetchone()[0])


def source_id_of(db: Database, kind: str, label: str) -> int:
    """The row of a source, made if need be."""
    db.execute(
        "INSERT INTO source(kind, label) VALUES (?, ?) ON CONFLICT DO NOTHING",
        [kind, label],
    )
    row = db.execute(
        "SELECT id FROM source WHERE kind = ? AND label = ?", [kind, label]
    ).fetchone()
    return int(row[0])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
