"""A killed import, run again, ends with the same rows as one that was left alone."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from personal_store import Store, import_source, importing
from tests.mailboxes import mailbox, many

ROOT = Path(__file__).parents[2]
IMPORT = """
import sys
from pathlib import Path
from personal_store import Store, import_source, importing
importing.BATCH = 50
print("ready", flush=True)
with Store.open(Path(sys.argv[1])) as store:
    import_source(store, "mbox", Path(sys.argv[2]))
print("done", flush=True)
"""
COLUMNS = (
    "key, kind, title, body, recipient, recipient_address, sender, sent_at, rating,"
    " thread, reply_to, author, trimmed, cleaning, body_sha"
)


def rows(path):
    """All rows without ids, with their labels and search terms."""
    with Store.open(path) as store:
        records = f"SELECT {COLUMNS} FROM record ORDER BY key"
        labels = "SELECT key, label FROM record_label JOIN record ON id = record_id"
        terms = "SELECT key, n, tok FROM doc JOIN record USING (id) ORDER BY key"
        sane = store.db.execute("PRAGMA integrity_check").fetchone()
        return [
            sane,
            store.db.execute(records).fetchall(),
            sorted(store.db.execute(labels).fetchall()),
            store.db.execute(terms).fetchall(),
        ]


def import_in_child(store, path, wait):
    """Start an import and kill it after `wait` seconds of work; whether it ended."""
    command = [sys.executable, "-c", IMPORT, str(store), str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"ready\n"
        time.sleep(wait)
        child.kill()
        return b"done" in child.stdout.read()


def killed_until_done(tmp_path, path, seed, longest):
    rng = random.Random(seed)
    kills = 0
    while not import_in_child(tmp_path / "killed.db", path, rng.uniform(0.02, longest)):
        kills += 1
        longest *= 1.1  # a slow machine must come to an end as well
    return kills


def test_a_killed_import_goes_on(tmp_path):
    """Killed again and again at random moments."""
    path = tmp_path / "letters.mbox"
    path.write_bytes(mailbox(many(900)))
    with Store.open(tmp_path / "clean.db") as store:
        import_source(store, "mbox", path)

    kills = killed_until_done(tmp_path, path, seed=4, longest=0.6)

    assert kills > 0
    assert rows(tmp_path / "killed.db") == rows(tmp_path / "clean.db")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_many_killed_imports_go_on(tmp_path, seed):
    """The same with other mailboxes and moments."""
    path = tmp_path / "letters.mbox"
    path.write_bytes(mailbox(many(4000, seed)))
    with Store.open(tmp_path / "clean.db") as store:
        import_source(store, "mbox", path)

    killed_until_done(tmp_path, path, seed, longest=0.6)

    assert rows(tmp_path / "killed.db") == rows(tmp_path / "clean.db")


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    """And says so; what was committed is not read again."""
    monkeypatch.setattr(importing, "BATCH", 10)
    path = tmp_path / "letters.mbox"
    path.write_bytes(mailbox(many(200)))

    def stop(done, total):
        if done > total / 2:
            raise KeyboardInterrupt

    with Store.open(tmp_path / "store.db") as store:
        with pytest.raises(KeyboardInterrupt):
            import_source(store, "mbox", path, progress=stop)
        stored = store.counts()["own"]
        report = import_source(store, "mbox", path)

        assert stored > 0
        assert report.added == store.counts()["own"] - stored
        assert "letters.mbox: going on at 4" in report.notes[0]


def test_a_file_that_changed_is_read_from_its_start(tmp_path, monkeypatch):
    """An offset into another file would lose messages."""
    monkeypatch.setattr(importing, "BATCH", 10)
    path = tmp_path / "letters.mbox"
    messages = many(200)
    path.write_bytes(mailbox(messages))

    def stop(done, total):
        if done > total / 2:
            raise KeyboardInterrupt

    with Store.open(tmp_path / "store.db") as store:
        with pytest.raises(KeyboardInterrupt):
            import_source(store, "mbox", path, progress=stop)
        path.write_bytes(mailbox(messages[::-1]))
        import_source(store, "mbox", path)
    with Store.open(tmp_path / "clean.db") as store:
        import_source(store, "mbox", path)

    with (
        Store.open(tmp_path / "store.db") as one,
        Store.open(tmp_path / "clean.db") as other,
    ):
        assert {r.key for r in one.records()} == {r.key for r in other.records()}


def test_a_full_disk_is_a_sentence_and_loses_nothing(tmp_path):
    """SQLite's own limit stands in for the disk."""
    path = tmp_path / "letters.mbox"
    path.write_bytes(mailbox(many(900)))
    with Store.open(tmp_path / "store.db") as store:
        store.db.execute("PRAGMA max_page_count = 70")
        with pytest.raises(importing.StoreError, match="The disk is full"):
            import_source(store, "mbox", path)
        store.db.execute("PRAGMA max_page_count = 1000000")
        import_source(store, "mbox", path)
    with Store.open(tmp_path / "clean.db") as store:
        import_source(store, "mbox", path)

    assert rows(tmp_path / "store.db") == rows(tmp_path / "clean.db")
