-- The tables of people.db; `SCHEMA` in database.py numbers them.
CREATE TABLE user(
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    created INTEGER NOT NULL
) STRICT;
CREATE TABLE device(
    id TEXT PRIMARY KEY,
    user_id INTEGER NOT NULL REFERENCES user(id),
    name TEXT NOT NULL,
    token BLOB NOT NULL UNIQUE,
    scopes TEXT NOT NULL,
    origin TEXT NOT NULL,
    created INTEGER NOT NULL,
    last_used INTEGER,
    expires INTEGER,
    revoked INTEGER
) STRICT;
CREATE UNIQUE INDEX device_name ON device(user_id, name) WHERE revoked IS NULL;
CREATE TABLE retired_token(
    token BLOB PRIMARY KEY,
    device_id TEXT NOT NULL REFERENCES device(id)
) STRICT, WITHOUT ROWID;
CREATE TABLE pairing(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user_id INTEGER NOT NULL REFERENCES user(id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    scopes TEXT NOT NULL,
    token_expires INTEGER,
    secret TEXT NOT NULL,
    own_certificate INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    used INTEGER
) STRICT;
CREATE TABLE exchange(
    id TEXT PRIMARY KEY,
    pairing_id INTEGER NOT NULL REFERENCES pairing(id) ON DELETE CASCADE,
    proof BLOB NOT NULL
) STRICT;
CREATE TABLE certificate(
    id INTEGER PRIMARY KEY CHECK (id = 1),
    pem TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    created INTEGER NOT NULL
) STRICT;
CREATE TABLE listening(
    url TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    since INTEGER NOT NULL
) STRICT;
CREATE TABLE refusal(
    place TEXT NOT NULL,
    device_id TEXT NOT NULL,
    times INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY(place, device_id)
) STRICT, WITHOUT ROWID;
