"""Kills while forgetting, full disks, 4 processes at once: nothing is lost or twice."""

import json
import os
import random
import re
import shutil
import subprocess
import sys

import pytest

from personal_store import Store, import_source
from personal_store.copies import back_up, backup_path
from personal_store.lifecycle.forgetting import forget, tidy
from personal_store.search.tables import check
from tests.dying import run_to
from tests.mailboxes import ME, mailbox, many
from tests.personal_store.stores import content, ids
from tests.waiting import ROOT, at_once

IMPORT = """
import sys
from pathlib import Path
from personal_store import Store, import_source
from personal_store import importing
from personal_store.errors import StoreBusyError
from tests.waiting import moments
importing.BATCH = 25
print("ready", flush=True)
sys.stdin.readline()
with Store.open(Path(sys.argv[1])) as store:
    for path in sys.argv[2:]:
        for _ in moments("the other imports do not end"):
            try:
                import_source(store, "mbox", Path(path), me=["sam@example.com"])
                break
            except StoreBusyError:
                pass
"""
FORGET = """
import sys
from pathlib import Path
from personal_store import Store
from personal_store.lifecycle.forgetting import forget, tidy
with Store.open(Path(sys.argv[1])) as store:
    forget(store.db, store.path, list(range(1, 60)))
"""

FINISH = """
import sys
from pathlib import Path
from personal_store import Store
from personal_store.lifecycle.forgetting import delete
from personal_store.lifecycle.writing import keep_finished
from personal_store.records import Document
if sys.argv[3:]:
    print("ready", flush=True)
    sys.stdin.readline()
with Store.open(Path(sys.argv[1])) as store:
    for number in range(int((sys.argv[3:] or [1])[0])):
        name = f"{sys.argv[2]}:{number}"
        text = f"Dear Anna, number {number} of {sys.argv[2]} came today."
        made = Document(0, "", "email", text, recipient="Anna", drafted=f"{text} Bye")
        kept = keep_finished(store.db, name, made)
        if number % 2:
            delete(store.db, [kept])
"""
PAIRS = """SELECT body, drafted FROM record LEFT JOIN edit ON record_id = id
           WHERE key LIKE 'draft:%'"""


def rows(path):
    """All of a sound store, but for ids and sources: who came first is not settled."""
    with Store.open(path) as store:
        assert check(store.db) == []
        records, labels = content(store)
        return [(row[0], *row[3:]) for row in records], labels


def clean_import(folder, *paths):
    with Store.open(folder / "clean.db") as store:
        for path in paths:
            import_source(store, "mbox", path, me=[ME])
    return folder / "clean.db"


def sources(folder, count, size):
    """Mailboxes that overlap."""
    letters = many(size, 3)
    rng = random.Random(3)
    paths = [folder / f"{number}.mbox" for number in range(count)]
    for path in paths:
        path.write_bytes(mailbox(rng.sample(letters, 3 * len(letters) // 4)))
    paths[0].write_bytes(mailbox(letters))
    return paths


@pytest.mark.slow
def test_kills_while_forgetting(tmp_path):
    """Wherever it dies: gone or not, never half, and sound; the next one ends it."""
    clean = clean_import(tmp_path, *sources(tmp_path, 1, 600))

    def with_a_backup(name):
        store = shutil.copy(clean, tmp_path / f"{name}.db")
        with Store.open(store) as opened:
            back_up(opened.db, store)
            return store, len(ids(opened))

    store, before = with_a_backup("whole")
    _, steps = run_to(0, FORGET, tmp_path, store)
    counts = []
    for number in range(40):
        store, _ = with_a_backup(number)
        died, _ = run_to(1 + number * (steps - 1) // 39, FORGET, tmp_path, store)
        assert died
        with Store.open(store) as opened:
            assert check(opened.db) == []
            counts.append(before - len(ids(opened)))
            forget(opened.db, store, list(range(1, 60)))
            assert len(ids(opened)) == before - 59
        assert list(tmp_path.glob("*.part*")) == []
    assert counts == sorted(counts)
    assert set(counts) == {0, 59}


@pytest.mark.slow
def test_kills_while_a_finished_draft_is_kept(tmp_path):
    """Wherever it dies: letter and draft are there or not, never one without the other;
    what the mailbox held is there, and the next one keeps it."""
    clean = clean_import(tmp_path, *sources(tmp_path, 1, 3))
    whole = shutil.copy(clean, tmp_path / "whole.db")
    _, steps = run_to(0, FINISH, tmp_path, whole, "page")
    seen = set()
    for step in (*range(steps, 0, -max(1, steps // 4)), 0):  # the last commits
        store = shutil.copy(clean, tmp_path / f"{step}.db")
        assert run_to(step, FINISH, tmp_path, store, "page")[0] == (step > 0)
        with Store.open(store) as opened:
            assert check(opened.db) == []
            seen.add(tuple(opened.db.execute(PAIRS)))
        run_to(0, FINISH, tmp_path, store, "page")
        assert rows(store) == rows(whole)
    letter = "Dear Anna, number 0 of page came today."
    assert seen == {(), ((letter, f"{letter} Bye"),)}


@pytest.mark.slow
def test_several_keep_and_forget_at_once(tmp_path):
    """Finished drafts of four processes, every second of which is forgotten again."""
    store = clean_import(tmp_path, *sources(tmp_path, 1, 3))
    at_once(FINISH, *([store, f"page{n}", 20] for n in range(4)))
    with Store.open(store) as opened:
        assert check(opened.db) == []
        found = sorted(opened.db.execute(PAIRS))
        wanted = [f"number {n} of page{p}" for n in range(0, 20, 2) for p in range(4)]
        assert len(found) == len(wanted)
        assert all(any(one in body for body, _ in found) for one in wanted)
        assert all(drafted == f"{body} Bye" for body, drafted in found)
        assert tidy(opened.db, store).left == ()
    assert b"number 11 of" not in store.read_bytes()


@pytest.mark.slow
def test_a_really_full_disk(tmp_path):
    """A file system of 2 MB: a sentence, and what was committed is there."""
    mounted = tmp_path / "small"
    mounted.mkdir()
    script = f"""
mount -t tmpfs -o size=2m small {mounted} && {sys.executable} - <<'END'
from pathlib import Path
from personal_store import Store, StoreError, import_source
from personal_store import import_runs, importing
from personal_store.search.tables import check
importing.BATCH = 25
import_runs.check_room = lambda *_, **__: None
with Store.open(Path("{mounted}/store.db")) as store:
    try:
        import_source(store, "mbox", Path("{tmp_path}/0.mbox"), me=["{ME}"])
    except StoreError as error:
        print("sentence:", error)
    print("stored:", len(list(store.records())), check(store.db))
END
cat /dev/zero > {mounted}/rest 2> {mounted}/complaint
export SPECSTEER_HOME={mounted} SPECSTEER_EXTRA_BUFFERS=off
{sys.executable} -m edge_app.cli status --json
{sys.executable} -m edge_app.cli write --max-tokens 5 Tea < {os.devnull}
"""
    sources(tmp_path, 1, 4000)
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", script],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    if done.returncode and "sentence" not in done.stdout:
        pytest.skip(f"no file system can be mounted here: {done.stderr[-200:]}")
    sentence, stored, status, text = done.stdout.splitlines()[:4]
    said = re.search(r"full\..* \((\d+) of yours, (\d+) by others\): make", sentence)
    own, others = map(int, said.groups())
    assert stored == f"stored: {own + others} []"
    assert json.loads(status)["store"]["usable"] == own
    assert text
    assert "the disk is full: what leaves cannot be noted" in done.stderr


@pytest.mark.slow
def test_four_processes_at_once(tmp_path):
    """Overlapping mailboxes from four sides into a store that does not exist yet."""
    paths, store = sources(tmp_path, 4, 120), tmp_path / "store.db"
    at_once(IMPORT, *([store, *paths[turn:], *paths[:turn]] for turn in range(4)))
    assert rows(store) == rows(clean_import(tmp_path, *paths))


def test_an_interrupted_backup_leaves_the_old_one(tmp_path, monkeypatch):
    with Store.open(tmp_path / "store.db") as store:
        back_up(store.db, store.path)
        before = backup_path(store.path).read_bytes()

        def fail(*_):
            raise OSError("no")

        monkeypatch.setattr("base.owner_only.sync", fail)
        with pytest.raises(OSError, match="no"):
            back_up(store.db, store.path)
        assert backup_path(store.path).read_bytes() == before
        assert list(tmp_path.glob("*.part*")) == []
