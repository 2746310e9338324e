"""One import at a time, room on the disk, and files that change while one looks."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from personal_store import StoreError, import_runs, import_source
from personal_store.discovery import settled
from personal_store.errors import SourceError, StoreBusyError
from personal_store.import_runs import importing_alone
from tests.mailboxes import ME, mailbox, message
from tests.waiting import ROOT

HOLD = """
import sys
from pathlib import Path
from personal_store.import_runs import importing_alone
from tests.waiting import forever
with importing_alone(Path(sys.argv[1])):
    print("held", flush=True)
    forever()
"""


@pytest.fixture
def letters(tmp_path):
    path = tmp_path / "letters.mbox"
    path.write_bytes(mailbox([message()]))
    return path


def test_a_second_import_is_told_who_is_ahead(store, letters):
    """Since when, and which process; nothing is written. One that was killed locks
    nothing."""
    command = [sys.executable, "-c", HOLD, str(store.path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(StoreBusyError, match=f" since .*process {child.pid}"):
            import_source(store, "mbox", letters, me=[ME])
        assert not store.identities()
        child.kill()

    assert import_source(store, "mbox", letters).added == 1


def test_two_threads_of_a_process_exclude_each_other_too(store, letters):
    """As when the app imports while a command would; nonsense in the file of the lock
    changes nothing."""
    with importing_alone(store.path):
        store.path.with_name("store.db.lock").write_text("[] what")
        with pytest.raises(StoreBusyError, match="is running: wait"):
            import_source(store, "mbox", letters)

    assert import_source(store, "mbox", letters).added == 1


def test_a_nearly_full_disk_is_one_sentence(store, letters, monkeypatch):
    """Before anything is written; bytes are said in words."""
    for free, words in ((0, "0 bytes"), (9_960_000, "10.0 MB")):
        usage = SimpleNamespace(free=free)
        monkeypatch.setattr(import_runs.shutil, "disk_usage", lambda _, it=usage: it)
        with pytest.raises(StoreError, match=f"is nearly full: .* {words} are free"):
            import_source(store, "mbox", letters)
    assert not store.identities()

    words = {999: "999 bytes", 1500: "1.5 kB", 320_400: "320 kB", 14 * 10**8: "1.4 GB"}
    assert {count: import_runs.in_words(count) for count in words} == words
    assert import_runs.in_words(3 * 10**15) == "3000.0 TB"


def test_files_are_told_of_when_they_rest(tmp_path):
    """A growing one waits; a changed one comes again; one that went does not matter."""
    for name in ("a", "grows", "goes"):
        (tmp_path / name).write_text("1")

    def grow(_):
        nonlocal rounds
        rounds += 1
        if rounds < 4:
            (tmp_path / "grows").write_text("1" * (rounds + 1))
        if rounds == 5:
            (tmp_path / "a").write_text("other")
            (tmp_path / "goes").unlink()
        if rounds > 8:
            raise KeyboardInterrupt

    rounds, told = 0, []
    with pytest.raises(KeyboardInterrupt):
        for files in settled(tmp_path, sleep=grow):
            told += [(rounds, sorted(file.name for file in files))]

    assert told == [(1, ["a", "goes"]), (4, ["grows"]), (6, ["a"])]
    with pytest.raises(SourceError, match="no file or folder"):
        next(settled(tmp_path / "gone"))
