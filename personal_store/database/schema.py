"""The tables of a store, and the number of their schema."""

import secrets

from sqlite_utils import Database

from personal_store.database.transactions import immediate
from personal_store.errors import StoreTooNewError
from personal_store.records import UNREAD

SCHEMA = 8
"""Number of the schema below, written to the file as `user_version`."""


def create_tables(db: Database) -> None:
    """Create the tables of a new store, or add what a store of the schema before lacks;
    several processes may try at the same time.

    Raises:
        StoreTooNewError: the store has another schema.
    """
    found = version(db)
    if found not in (0, SCHEMA - 1, SCHEMA):
        raise StoreTooNewError(
            f"The store has schema {found}, and this SpecSteer reads schema {SCHEMA}: "
            "update SpecSteer, or point it to another store."
        )
    if found == SCHEMA:
        return
    with immediate(db):
        if version(db) == SCHEMA - 1:  # no other process was faster
            db.execute(
                "ALTER TABLE record ADD COLUMN sender_name TEXT NOT NULL DEFAULT ''"
            )
            db.execute(f"PRAGMA user_version = {SCHEMA}")
        elif version(db) == 0:
            for statement in _TABLES.strip().split(";\n"):
                db.execute(statement)
            db.execute(
                "INSERT INTO state VALUES ('store', ?), ('changes', '0'), "
                "('keep_raw', '1'), ('untidy', '0'), ('heard_upto', '0')",
                [secrets.token_hex(8)],
            )
            db.execute("INSERT INTO total VALUES ('doc', 0, 0), ('heard', 0, 0)")
            db.execute("INSERT INTO tombstone_key(secret) VALUES (?)", [new_secret()])
            db.execute(f"PRAGMA user_version = {SCHEMA}")


def new_secret() -> bytes:
    """A random key without which the tombstones of a store are unreadable."""
    return secrets.token_bytes(32)


def version(db: Database) -> int:
    """The schema that last wrote this file; 0 for a new one."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


_TABLES = f"""
CREATE TABLE state(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE identity(
    address TEXT PRIMARY KEY,
    why TEXT NOT NULL,
    confirmed INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE TABLE stranger(address TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
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
    ended TEXT,
    reader TEXT NOT NULL DEFAULT '',
    mark TEXT NOT NULL DEFAULT '',
    digest TEXT NOT NULL DEFAULT ''
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
    sender_name TEXT NOT NULL DEFAULT '',
    sent_at INTEGER,
    rating REAL,
    thread TEXT NOT NULL,
    reply_to TEXT NOT NULL,
    author INTEGER NOT NULL,
    trimmed INTEGER NOT NULL,
    cleaning INTEGER NOT NULL,
    body_sha BLOB NOT NULL,
    excluded INTEGER NOT NULL DEFAULT 0,
    trashed_at INTEGER
) STRICT;
CREATE INDEX record_sender ON record(sender);
CREATE INDEX record_sent_at ON record(sent_at);
CREATE INDEX record_trashed ON record(trashed_at) WHERE trashed_at IS NOT NULL;
CREATE INDEX record_unread ON record(id) WHERE cleaning = {UNREAD};
CREATE TABLE record_label(
    record_id INTEGER NOT NULL REFERENCES record(id) ON DELETE CASCADE,
    label TEXT NOT NULL,
    PRIMARY KEY(record_id, label)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE total(
    name TEXT PRIMARY KEY,
    texts INTEGER NOT NULL,
    words INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
""" + "".join(
    f"""
CREATE TABLE {name}(
    id INTEGER PRIMARY KEY REFERENCES record(id) ON DELETE CASCADE,
    n INTEGER NOT NULL,
    tok TEXT NOT NULL
) STRICT;
CREATE TABLE {name}_posting(
    term TEXT NOT NULL,
    block INTEGER NOT NULL,
    postings BLOB NOT NULL,
    PRIMARY KEY(term, block)
) STRICT, WITHOUT ROWID;
CREATE TABLE {name}_length(
    block INTEGER PRIMARY KEY,
    lengths BLOB NOT NULL
) STRICT;
CREATE TABLE {name}_term(
    term TEXT PRIMARY KEY,
    texts INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE {name}_spread(
    texts INTEGER PRIMARY KEY,
    terms INTEGER NOT NULL
) STRICT;
"""
    for name in ("doc", "heard")  # own texts, and received ones
)
