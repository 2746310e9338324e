"""The store's file: private, versioned, safe with several processes and threads."""

import os
import sqlite3
import stat

import pytest

from base.owner_only import put_in_place, shred
from personal_store import Store, StoreError, StoreTooNewError
from personal_store.connection import SCHEMA, holds_own_texts
from tests.personal_store.stores import fill


def test_only_the_owner_may_read_it(tmp_path):
    path = tmp_path / "state" / "store.db"
    with Store.open(path) as store:
        store.add_identities(["sam@example.com"])
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in path.parent.iterdir()}
        for pragma in ("secure_delete", "foreign_keys"):
            assert store.db.execute(f"PRAGMA {pragma}").fetchone() == (1,)

    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert set(modes.values()) == {0o600}
    assert "store.db-wal" in modes


def test_the_log_waits_for_a_writer(tmp_path, monkeypatch):
    """SQLite gives up at once where a file that is written to shall get a log."""
    path = tmp_path / "store.db"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("CREATE TABLE any(thing)")
    writer.execute("BEGIN IMMEDIATE")
    waits = []

    def sleep(seconds):
        waits.append(seconds)
        writer.close()

    monkeypatch.setattr("personal_store.connection.time.sleep", sleep)
    with Store.open(path) as store:
        assert store.db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert len(waits) == 1


def test_what_is_removed_is_overwritten(tmp_path):
    """Who has the file open sees it, as whoever reads the disk would. No pipe or device
    is replaced or removed."""
    path, part, pipe = (tmp_path / name for name in ("store.db", "part", "pipe"))
    path.write_bytes(b"secret" * 300_000)
    with path.open("rb") as before:
        shred(path)
        assert not path.exists()
        assert before.read() == bytes(1_800_000)

    path.write_bytes(b"secret" * 300)
    part.write_bytes(b"new")
    with path.open("rb") as before:
        put_in_place(part, path)
        assert before.read() == bytes(1_800)
    assert path.read_bytes() == b"new"

    os.mkfifo(pipe)
    with pytest.raises(OSError, match="no file"):
        put_in_place(path, pipe)
    shred(pipe)
    assert pipe.is_fifo()


def test_an_older_store_gets_what_it_lacks(tmp_path):
    path = tmp_path / "store.db"
    with Store.open(path) as store:
        fill(store, tmp_path)
        wanted = list(store.db.conn.iterdump())
        for table in ("habit", "edit", "voice_mark"):
            store.db.execute(f"DROP TABLE {table}")
        store.db.execute("PRAGMA user_version = 9")
    assert holds_own_texts(path)
    with Store.open(path) as store:
        assert sorted(store.db.conn.iterdump()) == sorted(wanted)
        assert 'INSERT INTO "habit"' in "".join(wanted)
        assert store.db.execute("PRAGMA user_version").fetchone() == (SCHEMA,)
        number = store.db.execute("SELECT max(id) FROM record").fetchone()[0]
        store.db.execute("ALTER TABLE edit DROP COLUMN asked")
        store.db.execute("INSERT INTO edit VALUES (?, 'drafted', 0.5)", [number])
        store.db.execute("PRAGMA user_version = 10")
    with Store.open(path) as store:
        assert list(store.db.execute("SELECT * FROM edit")) == [
            (number, "", "drafted", 0.5)
        ]
        store.db.execute("DELETE FROM edit")
        assert sorted(store.db.conn.iterdump()) == sorted(wanted)
        store.db.execute("PRAGMA user_version = 8")
    with pytest.raises(StoreError, match="export it with that one"):
        Store.open(path)


def test_what_is_no_store_or_a_newer_one_is_refused_and_left_alone(tmp_path):
    """Older code must not write what it does not know."""
    path, content = tmp_path / "store.db", b"this is no database, but long enough " * 9
    with Store.open(path) as store:
        store.db.execute(f"PRAGMA user_version = {SCHEMA + 1}")
    with pytest.raises(StoreTooNewError, match="update SpecSteer"):
        Store.open(path)

    path.write_bytes(content)
    with pytest.raises(StoreError, match="cannot be opened"):
        Store.open(path)
    assert path.read_bytes() == content
