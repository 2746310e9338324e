-- The tables of a store, but for those of the search (search/tables.py). A statement ends with its line; a record whose
-- cleaning is -1 has not been read (UNREAD in records.py).
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
    answer_to TEXT NOT NULL DEFAULT '',
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
CREATE INDEX record_unread ON record(id) WHERE cleaning = -1;
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
CREATE TABLE edit(
    record_id INTEGER PRIMARY KEY REFERENCES record(id) ON DELETE CASCADE,
    asked TEXT NOT NULL,
    drafted TEXT NOT NULL,
    own_share REAL NOT NULL
) STRICT;
CREATE TABLE voice_mark(
    person TEXT NOT NULL,
    kind TEXT NOT NULL,
    line TEXT NOT NULL,
    of TEXT NOT NULL,
    state TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY(person, kind, line, of)
) STRICT, WITHOUT ROWID;
