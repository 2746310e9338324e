PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE "_sqlite_migrations" (
   "id" INTEGER PRIMARY KEY,
   "migration_set" TEXT,
   "name" TEXT,
   "applied_at" TEXT
);
INSERT INTO "_sqlite_migrations" VALUES(1,'personal_store','m001_initial','2026-11-21 09:25:21.499109+00:00');
INSERT INTO "_sqlite_migrations" VALUES(2,'personal_store','m002_life_of_a_record','2026-11-21 16:02:05.254933+00:00');
INSERT INTO "_sqlite_migrations" VALUES(3,'personal_store','m003_indexes','2026-11-21 16:02:05.255716+00:00');
INSERT INTO "_sqlite_migrations" VALUES(4,'personal_store','m004_counts','2026-11-21 18:14:53.911320+00:00');
INSERT INTO "_sqlite_migrations" VALUES(5,'personal_store','m005_lengths','2026-11-22 07:29:14.699364+00:00');
INSERT INTO "_sqlite_migrations" VALUES(6,'personal_store','m006_unread','2026-11-22 07:29:14.699810+00:00');
CREATE TABLE doc(
    id INTEGER PRIMARY KEY REFERENCES record(id) ON DELETE CASCADE,
    n INTEGER NOT NULL,
    tok TEXT NOT NULL
) STRICT;
INSERT INTO "doc" VALUES(1,7,'plan the plan is ready for review');
INSERT INTO "doc" VALUES(2,10,'quote the quote came in too high ask anna again');
INSERT INTO "doc" VALUES(5,8,'garten grüsse aus dem garten ein langer satz');
CREATE TABLE doc_length(
    block INTEGER PRIMARY KEY,
    lengths BLOB NOT NULL
) STRICT
;
INSERT INTO "doc_length" VALUES(0,X'00000000070000000A000000000000000000000008000000');
CREATE TABLE doc_posting(
    term TEXT NOT NULL,
    block INTEGER NOT NULL,
    postings BLOB NOT NULL,
    PRIMARY KEY(term, block)
) STRICT, WITHOUT ROWID;
INSERT INTO "doc_posting" VALUES('again',0,X'02000100');
INSERT INTO "doc_posting" VALUES('anna',0,X'02000100');
INSERT INTO "doc_posting" VALUES('ask',0,X'02000100');
INSERT INTO "doc_posting" VALUES('aus',0,X'05000100');
INSERT INTO "doc_posting" VALUES('came',0,X'02000100');
INSERT INTO "doc_posting" VALUES('dem',0,X'05000100');
INSERT INTO "doc_posting" VALUES('ein',0,X'05000100');
INSERT INTO "doc_posting" VALUES('for',0,X'01000100');
INSERT INTO "doc_posting" VALUES('garten',0,X'05000200');
INSERT INTO "doc_posting" VALUES('grüsse',0,X'05000100');
INSERT INTO "doc_posting" VALUES('high',0,X'02000100');
INSERT INTO "doc_posting" VALUES('in',0,X'02000100');
INSERT INTO "doc_posting" VALUES('is',0,X'01000100');
INSERT INTO "doc_posting" VALUES('langer',0,X'05000100');
INSERT INTO "doc_posting" VALUES('plan',0,X'01000200');
INSERT INTO "doc_posting" VALUES('quote',0,X'02000200');
INSERT INTO "doc_posting" VALUES('ready',0,X'01000100');
INSERT INTO "doc_posting" VALUES('review',0,X'01000100');
INSERT INTO "doc_posting" VALUES('satz',0,X'05000100');
INSERT INTO "doc_posting" VALUES('the',0,X'0100010002000100');
INSERT INTO "doc_posting" VALUES('too',0,X'02000100');
CREATE TABLE doc_spread(
    texts INTEGER PRIMARY KEY,
    terms INTEGER NOT NULL
) STRICT;
INSERT INTO "doc_spread" VALUES(1,20);
INSERT INTO "doc_spread" VALUES(2,1);
CREATE TABLE doc_term(
    term TEXT PRIMARY KEY,
    texts INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "doc_term" VALUES('again',1);
INSERT INTO "doc_term" VALUES('anna',1);
INSERT INTO "doc_term" VALUES('ask',1);
INSERT INTO "doc_term" VALUES('aus',1);
INSERT INTO "doc_term" VALUES('came',1);
INSERT INTO "doc_term" VALUES('dem',1);
INSERT INTO "doc_term" VALUES('ein',1);
INSERT INTO "doc_term" VALUES('for',1);
INSERT INTO "doc_term" VALUES('garten',1);
INSERT INTO "doc_term" VALUES('grüsse',1);
INSERT INTO "doc_term" VALUES('high',1);
INSERT INTO "doc_term" VALUES('in',1);
INSERT INTO "doc_term" VALUES('is',1);
INSERT INTO "doc_term" VALUES('langer',1);
INSERT INTO "doc_term" VALUES('plan',1);
INSERT INTO "doc_term" VALUES('quote',1);
INSERT INTO "doc_term" VALUES('ready',1);
INSERT INTO "doc_term" VALUES('review',1);
INSERT INTO "doc_term" VALUES('satz',1);
INSERT INTO "doc_term" VALUES('the',2);
INSERT INTO "doc_term" VALUES('too',1);
CREATE TABLE heard(
    id INTEGER PRIMARY KEY REFERENCES record(id) ON DELETE CASCADE,
    n INTEGER NOT NULL,
    tok TEXT NOT NULL
) STRICT;
INSERT INTO "heard" VALUES(3,9,'garden shall we meet in the garden on friday');
INSERT INTO "heard" VALUES(4,10,'second from my second address with best wishes to all');
CREATE TABLE heard_length(
    block INTEGER PRIMARY KEY,
    lengths BLOB NOT NULL
) STRICT
;
INSERT INTO "heard_length" VALUES(0,X'000000000000000000000000090000000A000000');
CREATE TABLE heard_posting(
    term TEXT NOT NULL,
    block INTEGER NOT NULL,
    postings BLOB NOT NULL,
    PRIMARY KEY(term, block)
) STRICT, WITHOUT ROWID;
INSERT INTO "heard_posting" VALUES('address',0,X'04000100');
INSERT INTO "heard_posting" VALUES('all',0,X'04000100');
INSERT INTO "heard_posting" VALUES('best',0,X'04000100');
INSERT INTO "heard_posting" VALUES('friday',0,X'03000100');
INSERT INTO "heard_posting" VALUES('from',0,X'04000100');
INSERT INTO "heard_posting" VALUES('garden',0,X'03000200');
INSERT INTO "heard_posting" VALUES('in',0,X'03000100');
INSERT INTO "heard_posting" VALUES('meet',0,X'03000100');
INSERT INTO "heard_posting" VALUES('my',0,X'04000100');
INSERT INTO "heard_posting" VALUES('on',0,X'03000100');
INSERT INTO "heard_posting" VALUES('second',0,X'04000200');
INSERT INTO "heard_posting" VALUES('shall',0,X'03000100');
INSERT INTO "heard_posting" VALUES('the',0,X'03000100');
INSERT INTO "heard_posting" VALUES('to',0,X'04000100');
INSERT INTO "heard_posting" VALUES('we',0,X'03000100');
INSERT INTO "heard_posting" VALUES('wishes',0,X'04000100');
INSERT INTO "heard_posting" VALUES('with',0,X'04000100');
CREATE TABLE heard_spread(
    texts INTEGER PRIMARY KEY,
    terms INTEGER NOT NULL
) STRICT;
INSERT INTO "heard_spread" VALUES(1,17);
CREATE TABLE heard_term(
    term TEXT PRIMARY KEY,
    texts INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "heard_term" VALUES('address',1);
INSERT INTO "heard_term" VALUES('all',1);
INSERT INTO "heard_term" VALUES('best',1);
INSERT INTO "heard_term" VALUES('friday',1);
INSERT INTO "heard_term" VALUES('from',1);
INSERT INTO "heard_term" VALUES('garden',1);
INSERT INTO "heard_term" VALUES('in',1);
INSERT INTO "heard_term" VALUES('meet',1);
INSERT INTO "heard_term" VALUES('my',1);
INSERT INTO "heard_term" VALUES('on',1);
INSERT INTO "heard_term" VALUES('second',1);
INSERT INTO "heard_term" VALUES('shall',1);
INSERT INTO "heard_term" VALUES('the',1);
INSERT INTO "heard_term" VALUES('to',1);
INSERT INTO "heard_term" VALUES('we',1);
INSERT INTO "heard_term" VALUES('wishes',1);
INSERT INTO "heard_term" VALUES('with',1);
CREATE TABLE identity(
    address TEXT PRIMARY KEY,
    why TEXT NOT NULL
, confirmed INTEGER NOT NULL DEFAULT 0) STRICT, WITHOUT ROWID;
INSERT INTO "identity" VALUES('sam@example.com','told so',1);
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
CREATE TABLE raw(
    record_id INTEGER PRIMARY KEY REFERENCES record(id) ON DELETE CASCADE,
    data BLOB NOT NULL
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
, excluded INTEGER NOT NULL DEFAULT 0, trashed_at INTEGER) STRICT;
INSERT INTO "record" VALUES(1,1,'mid:1@example.com:32eeccc941717f27','email','Plan','The plan is ready for review.','Anna','anna@example.org','sam@example.com',1710237723,NULL,'','',1,0,1,X'7FBE46ABC32BD52C3292BA0D6A6B55026969F31A547E8FE924F9E152A21091C1',0,NULL);
INSERT INTO "record" VALUES(2,1,'mid:2@example.com:895e74a3aac26235','email','Quote','The quote came in too high, ask Anna again.','Anna','anna@example.org','sam@example.com',1710237723,NULL,'','',2,1,1,X'2D45FA7F9C60252BF9E8B81AB21CA7E9D4415DB92C7C7DB117ED8EEEF9F0DD70',0,NULL);
INSERT INTO "record" VALUES(3,1,'mid:3@example.com:c2da0c83d5cd8348','email','Garden','Shall we meet in the garden on Friday?','sam@example.com','sam@example.com','anna@example.org',1710237723,NULL,'2@example.com','2@example.com',0,0,1,X'B298642274C8ECE5FB79F84219A84368520070848B466E8E00F423411B507FD4',0,NULL);
INSERT INTO "record" VALUES(4,1,'mid:4@example.com:af1a90ce7aa4df07','email','Second','From my second address, with best wishes to all.','Anna','anna@example.org','sam@work.example',1710237723,NULL,'','',0,0,1,X'3546811C7A9CCFB971C55B9B761E9394804FF6D67A8774D6132CCADE42EAA41A',0,NULL);
INSERT INTO "record" VALUES(5,2,'row:e0bc603f423e238720ac8878a02edea7b6a4ef661000bb2e48e8bdf87028fad8','review','Garten','Grüße aus dem Garten, ein langer Satz.','','','',1710201600,4.0,'','',1,0,1,X'2A1231BD503552B2AF7BE92A4E521A66C6E822FD962079656C3AE5B8752A2151',0,NULL);
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
INSERT INTO "state" VALUES('heard_upto','5');
INSERT INTO "state" VALUES('keep_raw','1');
INSERT INTO "state" VALUES('store','0123456789abcdef');
INSERT INTO "state" VALUES('untidy','0');
CREATE TABLE stranger(address TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE tombstone(
    key_id INTEGER NOT NULL REFERENCES tombstone_key(id),
    mark BLOB NOT NULL,
    of TEXT NOT NULL,
    PRIMARY KEY(key_id, mark)
) STRICT, WITHOUT ROWID;
CREATE TABLE tombstone_key(
    id INTEGER PRIMARY KEY,
    secret BLOB NOT NULL UNIQUE
) STRICT;
INSERT INTO "tombstone_key" VALUES(1,X'D2648039F6448BD19F5870FE1E98EC00BD54A4F3D411E3DB0C955320A2C936A0');
CREATE TABLE total(
    name TEXT PRIMARY KEY,
    texts INTEGER NOT NULL,
    words INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO "total" VALUES('doc',3,25);
INSERT INTO "total" VALUES('heard',2,19);
CREATE UNIQUE INDEX "idx__sqlite_migrations_migration_set_name"
    ON "_sqlite_migrations" ("migration_set", "name");
CREATE INDEX import_run_place ON import_run(place, ended);
CREATE INDEX record_sender ON record(sender);
CREATE INDEX record_sent_at ON record(sent_at);
CREATE INDEX record_trashed ON record(trashed_at) WHERE trashed_at IS NOT NULL;
CREATE INDEX record_unread ON record(id) WHERE cleaning = -1;
COMMIT;
PRAGMA user_version = 6;
