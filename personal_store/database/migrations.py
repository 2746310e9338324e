"""The schema, one function per step, and how a store file comes to the newest one."""

import secrets
from pathlib import Path

import numpy as np
from sqlite_utils import Database, Migrations

from personal_store.database.copies import back_up_before
from personal_store.database.transactions import immediate
from personal_store.errors import StoreTooNewError
from personal_store.records import UNREAD
from personal_store.search.derived import OWN_TEXTS, RECEIVED, index_terms
from personal_store.search.postings import write_lengths

NEWEST = 7
"""Grows with each step below; written to the file as `user_version`."""

steps = Migrations("personal_store")


@steps()
def m001_initial(db: Database) -> None:
    """Sources, runs, records of any author, and the search terms of own ones."""
    for statement in _INITIAL.strip().split(";\n"):
        db.execute(statement)
    db.execute(
        "INSERT INTO state VALUES ('store', ?), ('changes', '0')",
        [secrets.token_hex(8)],
    )


@steps()
def m002_life_of_a_record(db: Database) -> None:
    """Exclude, trash, forget; raw bodies; which addresses the owner has confirmed."""
    for statement in _LIFE.strip().split(";\n"):
        db.execute(statement)
    db.execute("INSERT INTO tombstone_key(secret) VALUES (?)", [new_secret()])


@steps()
def m003_indexes(db: Database) -> None:
    """Indexes over own and received texts: where each term stands, and how often."""
    for statement in _INDEXES.strip().split(";\n"):
        db.execute(statement)


@steps()
def m004_counts(db: Database) -> None:
    """In how many texts each term stands, and how many terms in so many texts."""
    for texts in (OWN_TEXTS, RECEIVED):
        for statement in _COUNTS.strip().split(";\n"):
            db.execute(statement.format(texts.name))


@steps()
def m005_lengths(db: Database) -> None:
    """The lengths of texts apart from their postings, which are half as large so, and
    lie in blocks of twice as many texts."""
    db.conn.create_function("shortened", 2, _shortened)
    for texts in (OWN_TEXTS, RECEIVED):
        db.execute(_LENGTHS.format(texts.name))
        (indexed,) = db.execute(
            "SELECT texts FROM total WHERE name = ?", [texts.name]
        ).fetchone()
        if indexed:
            rows = db.execute(f"SELECT id, n FROM {texts.name}").fetchall()  # noqa: S608
            write_lengths(db, texts.name, dict(rows))
            for statement in _SHORTER.strip().split(";\n"):
                db.execute(statement.format(texts.name))
        else:  # it may come from before there was an index
            index_terms(db, texts)


@steps()
def m006_unread(db: Database) -> None:
    """Received mail that waits to be cleaned is found at once."""
    db.execute(f"CREATE INDEX record_unread ON record(id) WHERE cleaning = {UNREAD}")


@steps()
def m007_unchanged(db: Database) -> None:
    """What a source was like when it was read to its end, and how it was read."""
    for column in ("reader", "mark", "digest"):
        db.execute(
            f"ALTER TABLE import_run ADD COLUMN {column} TEXT NOT NULL DEFAULT ''"
        )


def _shortened(postings: bytes, odd: int) -> bytes:
    """Postings of 8 bytes, without the lengths in the last four; those of an odd block
    stand in the second half of one twice as large."""
    return (np.frombuffer(postings, "<u4")[::2] + np.uint32(2048 * odd)).tobytes()


def new_secret() -> bytes:
    """What makes the tombstones of a store unreadable without it."""
    return secrets.token_bytes(32)


def migrate(db: Database, path: Path | None = None) -> None:
    """Bring the schema up to date; several processes may try at the same time.

    With the path of the store, what was there before is backed up first.
    """
    found = version(db)
    if found > NEWEST:
        raise StoreTooNewError(
            f"The store was written by a newer SpecSteer (schema {found}, this one "
            f"knows {NEWEST}): update SpecSteer, or point it to another store."
        )
    if found == NEWEST:
        return
    if found and path is not None:
        back_up_before(db, path, found)
    with immediate(db):
        steps.apply(db)
        db.execute(f"PRAGMA user_version = {NEWEST}")


def version(db: Database) -> int:
    """The schema that last wrote this file; 0 for a new one."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


_INITIAL = """
CREATE TABLE state(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE identity(
    address TEXT PRIMARY KEY,
    why TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE source(
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    label TEXT NOT NULL,
    UNIQUE(kind, label)
) STRICT;
CREATE TABLE import_run(
    id INTEGER PRIMARY KEY,
    source_id INTEGER NOT NULL REFERENCES source(id),
    place TEXT NOT NULL,
    size INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    options TEXT NOT NULL,
    position INTEGER NOT NULL,
    added INTEGER NOT NULL DEFAULT 0,
    updated INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    started TEXT NOT NULL,
    ended TEXT
) STRICT;
CREATE INDEX import_run_place ON import_run(place, ended);
CREATE TABLE import_error(
    run_id INTEGER NOT NULL REFERENCES import_run(id) ON DELETE CASCADE,
    place TEXT NOT NULL,
    reason TEXT NOT NULL
) STRICT;
CREATE TABLE record(
    id INTEGER PRIMARY KEY,
    source_id INTEGER NOT NULL REFERENCES source(id),
    key TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    recipient TEXT NOT NULL,
    recipient_address TEXT NOT NULL,
    sender TEXT NOT NULL,
    sent_at INTEGER,
    rating REAL,
    thread TEXT NOT NULL,
    reply_to TEXT NOT NULL,
    author INTEGER NOT NULL,
    trimmed INTEGER NOT NULL,
    cleaning INTEGER NOT NULL,
    body_sha BLOB NOT NULL
) STRICT;
CREATE INDEX record_sender ON record(sender);
CREATE INDEX record_sent_at ON record(sent_at);
CREATE TABLE record_label(
    record_id INTEGER NOT NULL REFERENCES record(id) ON DELETE CASCADE,
    label TEXT NOT NULL,
    PRIMARY KEY(record_id, label)
) STRICT, WITHOUT ROWID;
CREATE TABLE doc(
    id INTEGER PRIMARY KEY REFERENCES record(id) ON DELETE CASCADE,
    n INTEGER NOT NULL,
    tok TEXT NOT NULL
) STRICT
"""

_LIFE = """
ALTER TABLE record ADD COLUMN excluded INTEGER NOT NULL DEFAULT 0;
ALTER TABLE record ADD COLUMN trashed_at INTEGER;
CREATE INDEX record_trashed ON record(trashed_at) WHERE trashed_at IS NOT NULL;
ALTER TABLE identity ADD COLUMN confirmed INTEGER NOT NULL DEFAULT 0;
UPDATE identity SET confirmed = 1 WHERE why = 'told so';
CREATE TABLE stranger(address TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE raw(
    record_id INTEGER PRIMARY KEY REFERENCES record(id) ON DELETE CASCADE,
    data BLOB NOT NULL
) STRICT;
CREATE TABLE tombstone_key(
    id INTEGER PRIMARY KEY,
    secret BLOB NOT NULL UNIQUE
) STRICT;
CREATE TABLE tombstone(
    key_id INTEGER NOT NULL REFERENCES tombstone_key(id),
    mark BLOB NOT NULL,
    of TEXT NOT NULL,
    PRIMARY KEY(key_id, mark)
) STRICT, WITHOUT ROWID;
INSERT INTO state VALUES ('keep_raw', '1'), ('untidy', '0')
"""

_INDEXES = """
CREATE TABLE heard(
    id INTEGER PRIMARY KEY REFERENCES record(id) ON DELETE CASCADE,
    n INTEGER NOT NULL,
    tok TEXT NOT NULL
) STRICT;
CREATE TABLE doc_posting(
    term TEXT NOT NULL,
    block INTEGER NOT NULL,
    postings BLOB NOT NULL,
    PRIMARY KEY(term, block)
) STRICT, WITHOUT ROWID;
CREATE TABLE heard_posting(
    term TEXT NOT NULL,
    block INTEGER NOT NULL,
    postings BLOB NOT NULL,
    PRIMARY KEY(term, block)
) STRICT, WITHOUT ROWID;
CREATE TABLE total(
    name TEXT PRIMARY KEY,
    texts INTEGER NOT NULL,
    words INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO total VALUES ('doc', 0, 0), ('heard', 0, 0);
INSERT INTO state VALUES ('heard_upto', '0')
"""

_COUNTS = """
CREATE TABLE {0}_term(
    term TEXT PRIMARY KEY,
    texts INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE {0}_spread(
    texts INTEGER PRIMARY KEY,
    terms INTEGER NOT NULL
) STRICT;
INSERT INTO {0}_term
    SELECT term, sum(length(postings)) / 8 FROM {0}_posting GROUP BY term;
INSERT INTO {0}_spread SELECT texts, count(*) FROM {0}_term GROUP BY texts
"""

_LENGTHS = """
CREATE TABLE {0}_length(
    block INTEGER PRIMARY KEY,
    lengths BLOB NOT NULL
) STRICT
"""

_SHORTER = """
ALTER TABLE {0}_posting RENAME TO longer;
CREATE TABLE {0}_posting(
    term TEXT NOT NULL,
    block INTEGER NOT NULL,
    postings BLOB NOT NULL,
    PRIMARY KEY(term, block)
) STRICT, WITHOUT ROWID;
INSERT INTO {0}_posting
    SELECT term, block / 2, shortened(postings, block % 2) FROM longer
    WHERE TRUE ORDER BY term, block
    ON CONFLICT(term, block)
    DO UPDATE SET postings = CAST(postings || excluded.postings AS BLOB);
DROP TABLE longer;
DELETE FROM {0}_spread WHERE terms = 0
"""
