"""A store that an older schema wrote comes to the newest, whole, once, backed up."""

import sqlite3
from pathlib import Path

import pytest

from personal_store import Store
from personal_store.database.copies import backup_path
from personal_store.database.migrations import NEWEST, version
from personal_store.lifecycle.identities import identities
from personal_store.search.derived import OWN_TEXTS, check
from personal_store.search.index import Index
from tests.personal_store.stores import found, ids
from tests.waiting import at_once

SCHEMAS = Path(__file__).parent / "schemas"
OPEN = """
import sys
from pathlib import Path
from personal_store import Store
print("ready", flush=True)
sys.stdin.readline()
with Store.open(Path(sys.argv[1])) as store:
    print(len(list(store.records())))
"""


def old_store(path, schema):
    """As a released version left it; the dumps say what was in it."""
    connection = sqlite3.connect(path)
    connection.executescript((SCHEMAS / f"{schema}.sql").read_text("utf-8"))
    connection.close()
    return path


def is_older_and_whole(backup):
    """Whether it has the records at an older schema; SQLite would make what is not."""
    assert backup.exists()
    connection = sqlite3.connect(backup)
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    (records,) = connection.execute("SELECT count(*) FROM record").fetchone()
    connection.close()
    return 0 < schema < NEWEST and records > 3


@pytest.fixture(params=sorted(path.stem for path in SCHEMAS.glob("*.sql")))
def path(request, tmp_path):
    return old_store(tmp_path / "store.db", request.param)


def test_nothing_is_lost_on_the_way(path):
    """Rows, search, labels; every check is clean."""
    connection = sqlite3.connect(path)
    tables = ("record", "record_label", "source", "import_run", "import_error", "doc")
    counts = {
        table: connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
        for table in tables
    }
    connection.close()
    with Store.open(path) as store:
        assert version(store.db) == NEWEST
        assert counts == {
            table: store.db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in tables
        }
        assert check(store.db) == []
        assert found(store, "quote Anna") == ids(store, "title = 'Quote'")
        assert [one.confirmed for one in identities(store.db)] == [True]
    with Store.open(path) as store:
        assert version(store.db) == NEWEST


FAR = """
INSERT INTO record SELECT 3000, source_id, 'far', kind, title, 'far plan', recipient,
    recipient_address, sender, sent_at, rating, thread, reply_to, author, trimmed,
    cleaning, body_sha, excluded, trashed_at FROM record WHERE id = 1;
INSERT INTO doc VALUES (3000, 3, 'plan far plan');
INSERT INTO doc_posting VALUES ('plan', 1, x'b803020003000000');
INSERT INTO doc_posting VALUES ('far', 1, x'b803010003000000');
INSERT INTO doc_term VALUES ('far', 1);
UPDATE doc_term SET texts = texts + 1 WHERE term = 'plan';
DELETE FROM doc_spread;
INSERT INTO doc_spread SELECT texts, count(*) FROM doc_term GROUP BY 1;
INSERT INTO doc_spread VALUES (77, 0);
UPDATE total SET texts = texts + 1, words = words + 3 WHERE name = 'doc'
"""


def test_blocks_of_postings_are_joined(tmp_path):
    """Schema 4 held 2,048 records in each, and counts that were of no term any more."""
    path = old_store(tmp_path / "store.db", "schema4")
    connection = sqlite3.connect(path)
    connection.executescript(FAR)
    connection.close()
    with Store.open(path) as store:
        assert check(store.db) == []
        there = Index(store.db, OWN_TEXTS)
        assert set(there.matching(["far"])) == {3000}
        assert set(there.matching(["plan"])) == {1, 3000}


def test_the_store_is_backed_up_before(path):
    """As it was; a second opening makes no other."""
    Store.open(path).close()
    backup = backup_path(path)
    made = backup.stat().st_mtime_ns
    Store.open(path).close()

    assert is_older_and_whole(backup)
    assert backup.stat().st_mtime_ns == made


def test_the_migrated_schema_is_that_of_a_new_store(path):
    """But for the order of columns nothing differs between old and new stores."""
    query = (
        "SELECT name, (SELECT group_concat(name) FROM (SELECT name FROM "
        "pragma_table_info(t.name) ORDER BY name)) FROM sqlite_schema AS t "
        "WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
    )
    with Store.open(path) as old, Store.open(path.with_name("new.db")) as new:
        assert old.db.execute(query).fetchall() == new.db.execute(query).fetchall()


@pytest.mark.slow
@pytest.mark.parametrize("path", ["schema1"], indirect=True)
def test_processes_at_once(path):
    """Each opens the old store at the same moment."""
    said = at_once(OPEN, *[[path]] * 3)

    assert len(set(said)) == 1
    with Store.open(path) as store:
        assert check(store.db) == []
        assert len(store.db.execute("SELECT * FROM tombstone_key").fetchall()) == 1
    assert is_older_and_whole(backup_path(path))
