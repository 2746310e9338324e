BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'personal_store','m001_initial','2026-11-21 09:25:21.499109+00:00');
CREATE TABLE doc(
    id INTEGER PRIMARY KEY REFERENCES record(id) ON DELETE CASCADE,
    n INTEGER NOT NULL,
    tok TEXT NOT NULL
) STRICT;
INSERT INTO "doc" VALUES(1,7,'plan the plan is ready for review');
INSERT INTO "doc" VALUES(2,10,'quote the quote came in too high ask anna again');
INSERT INTO "doc" VALUES(5,8,'garten grüsse aus dem garten ein langer satz');
CREATE TABLE identity(
    address TEXT PRIMARY KEY,
    why TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "identity" VALUES('sam@example.com','told so');
CREATE TABLE import_error(
    run_id INTEGER NOT NULL REFERENCES import_run(id) ON DELETE CASCADE,
    place TEXT NOT NULL,
    reason TEXT NOT NULL
) STRICT;
INSERT INTO "import_error" VALUES(1,'letters.mbox, message at byte 1,060','it does not say who sent it');
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
INSERT INTO "import_run" VALUES(1,1,'/home/sam/letters.mbox',1247,'2cd82dbb188c52f84d2cc60cdd5eed92e8485477ebca8779527e257f8c91e4e1','[1, {}] [''sam@example.com'']',1247,2,0,2,1,'2026-11-21T09:25:21+00:00','2026-11-21T09:25:22+00:00');
INSERT INTO "import_run" VALUES(2,2,'/home/sam/notes.jsonl',115,'7e6861fade43504b0c0744a23098589838c060a413f89786b74fda78b295fcf5','[1, {}] [''sam@example.com'']',115,1,0,0,0,'2026-11-21T09:25:22+00:00','2026-11-21T09:25:22+00:00');
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
INSERT INTO "record" VALUES(1,1,'mid:1@example.com:32eeccc941717f27','email','Plan','The plan is ready for review.','Anna','anna@example.org','sam@example.com',1710237723,NULL,'','',1,0,1,X'7FBE46ABC32BD52C3292BA0D6A6B55026969F31A547E8FE924F9E152A21091C1');
INSERT INTO "record" VALUES(2,1,'mid:2@example.com:895e74a3aac26235','email','Quote','The quote came in too high, ask Anna again.','Anna','anna@example.org','sam@example.com',1710237723,NULL,'','',2,1,1,X'2D45FA7F9C60252BF9E8B81AB21CA7E9D4415DB92C7C7DB117ED8EEEF9F0DD70');
INSERT INTO "record" VALUES(3,1,'mid:3@example.com:c2da0c83d5cd8348','email','Garden','Shall we meet in the garden on Friday?','sam@example.com','sam@example.com','anna@example.org',1710237723,NULL,'2@example.com','2@example.com',0,0,1,X'B298642274C8ECE5FB79F84219A84368520070848B466E8E00F423411B507FD4');
INSERT INTO "record" VALUES(4,1,'mid:4@example.com:af1a90ce7aa4df07','email','Second','From my second address, with best wishes to all.','Anna','anna@example.org','sam@work.example',1710237723,NULL,'','',0,0,1,X'3546811C7A9CCFB971C55B9B761E9394804FF6D67A8774D6132CCADE42EAA41A');
INSERT INTO "record" VALUES(5,2,'row:e0bc603f423e238720ac8878a02edea7b6a4ef661000bb2e48e8bdf87028fad8','review','Garten','Grüße aus dem Garten, ein langer Satz.','','','',1710201600,4.0,'','',1,0,1,X'2A1231BD503552B2AF7BE92A4E521A66C6E822FD962079656C3AE5B8752A2151');
CREATE TABLE record_label(
    record_id INTEGER NOT NULL REFERENCES record(id) ON DELETE CASCADE,
    label TEXT NOT NULL,
    PRIMARY KEY(record_id, label)
) STRICT, WITHOUT ROWID;
INSERT INTO "record_label" VALUES(1,'Opened');
INSERT INTO "record_label" VALUES(1,'Sent');
INSERT INTO "record_label" VALUES(2,'Sent');
INSERT INTO "record_label" VALUES(3,'Inbox');
CREATE TABLE source(
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    label TEXT NOT NULL,
    UNIQUE(kind, label)
) STRICT;
INSERT INTO "source" VALUES(1,'mbox','letters.mbox');
INSERT INTO "source" VALUES(2,'jsonl','notes.jsonl');
CREATE TABLE state(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO "state" VALUES('changes','3');
INSERT INTO "state" VALUES('store','0123456789abcdef');
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE INDEX import_run_place ON import_run(place, ended);
CREATE INDEX record_sender ON record(sender);
CREATE INDEX record_sent_at ON record(sent_at);
COMMIT;
PRAGMA user_version = 1;
