"""50 random kills, 20 full disks, 4 processes at once: nothing lost, nothing twice."""

import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from stores import content, ids

from personal_store import Store, StoreError, import_source
from personal_store.copies import back_up, backup_path
from personal_store.derived import check
from personal_store.forgetting import forget
from tests.mailboxes import ME, mailbox, many

ROOT = Path(__file__).parents[2]
IMPORT = """
import sys, time
from pathlib import Path
from personal_store import Store, import_source, importing
from personal_store.errors import StoreBusyError
importing.BATCH = 25
print("ready", flush=True)
with Store.open(Path(sys.argv[1])) as store:
    for path in sys.argv[2:]:
        while True:
            try:
                import_source(store, "mbox", Path(path), me=["sam@example.com"])
                break
            except StoreBusyError:
                time.sleep(0.05)
print("done", flush=True)
"""
FORGET = """
import sys
from pathlib import Path
from personal_store import Store
from personal_store.forgetting import forget
print("ready", flush=True)
with Store.open(Path(sys.argv[1])) as store:
    forget(store.db, store.path, list(range(1, 60)))
"""


def child_of(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)


def killed(code, wait, *arguments):
    """Whether it came to its end before it was killed."""
    with child_of(code, *arguments) as child:
        assert child.stdout.readline() == b"ready\n"
        try:
            child.wait(wait)
        except subprocess.TimeoutExpired:
            os.kill(child.pid, signal.SIGKILL)
        return child.wait() == 0


def without_ids(path):
    with Store.open(path) as store:
        assert check(store.db) == []
        return content(store)


def clean_import(folder, *paths):
    with Store.open(folder / "clean.db") as store:
        for path in paths:
            import_source(store, "mbox", path, me=[ME])
    return without_ids(folder / "clean.db")


def sources(folder, count, size, seed=3):
    """Mailboxes that overlap."""
    letters = many(size, seed)
    rng = random.Random(seed)
    paths = [folder / f"{number}.mbox" for number in range(count)]
    for path in paths:
        path.write_bytes(mailbox(rng.sample(letters, 3 * len(letters) // 4)))
    paths[0].write_bytes(mailbox(letters))
    return paths


@pytest.mark.slow
def test_fifty_kills_during_imports(tmp_path):
    """A mailbox is imported again and again, into a new store when it is done."""
    (path,) = sources(tmp_path, 1, 2500)
    expected = clean_import(tmp_path, path)
    rng = random.Random(11)
    kills, stores, longest = 0, 0, 0.4
    while kills < 50:
        store = tmp_path / f"killed{stores}.db"
        if killed(IMPORT, rng.uniform(0.01, longest), store, path):
            assert without_ids(store) == expected
            stores += 1
        else:
            kills += 1
            longest *= 1.02  # a slow machine must come to an end as well
            with Store.open(store) as opened:
                assert check(opened.db) == []
    while not killed(IMPORT, 600, store, path):
        pass
    assert without_ids(store) == expected


@pytest.mark.slow
def test_kills_while_forgetting(tmp_path):
    """Wherever it dies: gone or not, never half, and sound; the next one ends it."""
    (path,) = sources(tmp_path, 1, 600)
    clean_import(tmp_path, path)
    rng = random.Random(5)
    for number in range(15):
        store = tmp_path / f"{number}.db"
        shutil.copy(tmp_path / "clean.db", store)
        with Store.open(store) as opened:
            before = len(ids(opened))
            back_up(opened.db, store)
        killed(FORGET, rng.uniform(0.05, 1.0), store)
        with Store.open(store) as opened:
            assert check(opened.db) == []
            assert before - len(ids(opened)) in (0, 59)
            forget(opened.db, store, list(range(1, 60)))
            assert len(ids(opened)) == before - 59
        assert list(tmp_path.glob("*.part*")) == []


@pytest.mark.slow
def test_twenty_full_disks(tmp_path):
    """SQLite's own limit stands in for the disk, at another place each time."""
    (path,) = sources(tmp_path, 1, 600)
    expected = clean_import(tmp_path, path)
    pages = (tmp_path / "clean.db").stat().st_size // 4096
    rng = random.Random(7)
    for number in range(20):
        with Store.open(tmp_path / f"full{number}.db") as store:
            limit = rng.randrange(50, pages - 5)
            store.db.execute(f"PRAGMA max_page_count = {limit}")
            with pytest.raises(StoreError, match="disk is full"):
                import_source(store, "mbox", path, me=[ME])
            assert check(store.db) == []
            store.db.execute("PRAGMA max_page_count = 1000000")
            import_source(store, "mbox", path, me=[ME])
        assert without_ids(tmp_path / f"full{number}.db") == expected


@pytest.mark.slow
def test_a_really_full_disk(tmp_path, monkeypatch):
    """A file system of 2 MB: a sentence, and what was committed is there."""
    mounted = tmp_path / "small"
    mounted.mkdir()
    script = f"""
mount -t tmpfs -o size=2m small {mounted} && {sys.executable} - <<'END'
from pathlib import Path
from personal_store import Store, StoreError, import_source, importing
from personal_store.derived import check
importing.BATCH = 25
importing.check_room = lambda *_, **__: None
with Store.open(Path("{mounted}/store.db")) as store:
    try:
        import_source(store, "mbox", Path("{tmp_path}/0.mbox"), me=["{ME}"])
    except StoreError as error:
        print("sentence:", error)
    print("stored:", len(list(store.records())), check(store.db))
END"""
    sources(tmp_path, 1, 4000)
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", script],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    if done.returncode and "sentence" not in done.stdout:
        pytest.skip(f"no file system can be mounted here: {done.stderr[-200:]}")
    assert "sentence: The disk is full" in done.stdout
    assert done.stdout.rstrip().endswith("[]")


def test_four_processes_at_once(tmp_path, monkeypatch):
    """Overlapping mailboxes from four sides into a store that does not exist yet."""
    paths = sources(tmp_path, 4, 120)
    clean_import(tmp_path, *paths)
    children = [
        child_of(IMPORT, tmp_path / "store.db", *paths[turn:], *paths[:turn])
        for turn in range(4)
    ]
    for child in children:
        child.communicate(timeout=300)

    assert [child.returncode for child in children] == [0, 0, 0, 0]
    mine, clean = (content_of(tmp_path / f"{name}.db") for name in ("store", "clean"))
    assert mine == clean


def content_of(path):
    """Without sources: who came first is not settled."""
    records, labels = without_ids(path)
    return [(row[0], *row[3:]) for row in records], labels


def test_an_interrupted_backup_leaves_the_old_one(tmp_path, monkeypatch):
    with Store.open(tmp_path / "store.db") as store:
        back_up(store.db, store.path)
        before = backup_path(store.path).read_bytes()

        def fail(*_):
            raise OSError("no")

        monkeypatch.setattr("personal_store.private_files.sync", fail)
        with pytest.raises(OSError, match="no"):
            back_up(store.db, store.path)
        assert backup_path(store.path).read_bytes() == before
        assert list(tmp_path.glob("*.part*")) == []
