"""Letters read by other processes: the same store, and nobody is left behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.store.prose import ME, mailbox_file
from personal_store import (
    ImportFailure,
    SourceError,
    Store,
    StoreError,
    import_source,
    importing,
)
from personal_store.reading import parallel
from personal_store.reading.letters import Letter, read_now
from personal_store.reading.parallel import Readers, processes_for
from personal_store.records import Skipped
from tests.mailboxes import mailbox, many, message
from tests.personal_store.stores import content, ids, lay
from tests.waiting import PATIENCE, wait_until

ROOT = Path(__file__).parents[3]
IMPORT = """
import signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's "&" ignores it
from personal_store import Store, import_source
from personal_store import importing
from personal_store.reading import parallel
from tests.waiting import forever
importing.BATCH = 20
parallel.WORTHWHILE = 0
parallel._LETTERS = 10
class Held(parallel.Readers):
    def read(self, letters):
        for item in super().read(letters):
            if item.position > 30_000:
                print(*(one.process.pid for one in self._all), flush=True)
                forever()
            yield item
if "held" in sys.argv:
    importing.Readers = Held
with Store.open(Path(sys.argv[1])) as store:
    import_source(store, "mbox", Path(sys.argv[2]), me=["sam@example.com"])
"""
FAULTY = """
from personal_store.reading import parallel
def read(one):
    if one.position == 41:
        raise MemoryError("at 41")
    return right(one)
right, parallel.read_now = parallel.read_now, read
serve = parallel.serve
"""


@pytest.fixture
def small_counts(monkeypatch):
    """A mailbox of a few kilobytes is read by two processes, in many portions."""
    monkeypatch.setattr(parallel, "WORTHWHILE", 0)
    monkeypatch.setattr(parallel, "_LETTERS", 7)
    monkeypatch.setattr(parallel, "_cores", lambda: 2)


def letters(count=100):
    return [Letter(raw, at, f"at {at}") for at, raw in enumerate(many(count), 1)]


def stored(path, box):
    with Store.open(path) as store:
        report = import_source(store, "mbox", box, me=[ME])
        tables = [
            store.db.execute(sql).fetchall()
            for sql in (
                "SELECT position, added, skipped, failed, ended > 0 FROM import_run",
                "SELECT place, reason FROM import_error",
                "SELECT record_id, data FROM raw ORDER BY record_id",
            )
        ]
        return report, content(store), tables


def test_many_processes_make_the_same_store(tmp_path, monkeypatch, small_counts):
    """Texts, order, bodies kept, failures, counts and places."""
    box = mailbox_file(tmp_path / "takeout.mbox", 120)
    with box.open("ab") as file:
        file.write(mailbox([b"Subject: by nobody\n\nThree words here.\n"]))
    popen, started = subprocess.Popen, []

    def start(*arguments, **options):
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr("base.python_child.subprocess.Popen", start)
    together = stored(tmp_path / "together.db", box)
    monkeypatch.setattr(parallel, "MOST", 0)
    alone = stored(tmp_path / "alone.db", box)

    assert together == alone
    assert alone[0].failed == 1
    assert [one.returncode for one in started] == [-signal.SIGKILL] * 2


@pytest.mark.parametrize("number", [0, 2])
def test_what_comes_before_damage_is_read(number, small_counts):
    """Then the error is raised, as in one process."""
    mixed = letters(60)
    mixed[30:30] = [Skipped(30, "drafts"), ImportFailure(30, "here", "it is gone")]

    def damaged():
        yield from mixed
        raise EOFError("cut off")

    found = []
    with Readers(number) as readers, pytest.raises(EOFError, match="cut off"):
        found.extend(readers.read(damaged()))
    assert found == [read_now(one) for one in mixed]


def read_by(code, folder, monkeypatch):
    """Readers run this code instead of ours."""
    monkeypatch.syspath_prepend(lay(folder, {"other_reader.py": code}))
    monkeypatch.setattr(parallel, "_ENTRY", "other_reader:serve")


def test_a_fault_in_reading_stops_where_it_is(tmp_path, small_counts, monkeypatch):
    """Nothing behind it is taken for read: its place would be passed over."""
    read_by(FAULTY, tmp_path, monkeypatch)
    found = []
    with Readers(2) as readers, pytest.raises(MemoryError, match="at 41"):
        found.extend(readers.read(letters(100)))
    assert found == [read_now(one) for one in letters(100)][: min(len(found), 40)]


def test_a_killed_reader_is_a_sentence(tmp_path, small_counts, monkeypatch):
    def deadly():
        for place, one in enumerate(letters(300)):
            for reader in readers._all if place == 150 else ():
                reader.process.kill()
            yield one

    with Readers(2) as readers, pytest.raises(StoreError, match=r"signal 9.*is safe"):
        list(readers.read(deadly()))
    assert all(one.process.returncode is not None for one in readers._all)
    read_by("raise SystemExit('no module here')", tmp_path, monkeypatch)
    with Readers(1) as readers, pytest.raises(StoreError, match="1: no module here"):
        list(readers.read(letters(5)))


@pytest.mark.slow
def test_little_is_underway_at_any_time(small_counts, monkeypatch):
    """Letters are taken from the source only as fast as they are written."""
    monkeypatch.setattr(parallel, "_UNDERWAY", 100_000)
    taken = []

    def source():
        for at in range(60):
            taken.append(at)
            yield Letter(message("word " * 8_000, number=at), at, "here")

    with Readers(2) as readers:
        next(iter(readers.read(source())))
        assert len(taken) <= 10


def test_small_imports_stay_in_one_process(monkeypatch):
    monkeypatch.setattr(parallel, "_cores", lambda: 8)
    assert processes_for(parallel.WORTHWHILE - 1) == 0
    assert processes_for(parallel.WORTHWHILE) == parallel.MOST
    monkeypatch.setattr(parallel, "_cores", lambda: 1)
    assert processes_for(parallel.WORTHWHILE) == 0


def test_readers_load_neither_database_nor_search():
    """Their memory counts several times."""
    heavy = {"numpy", "sqlite_utils", "rank_bm25", "personal_store.store"}
    module = "personal_store.reading.parallel"
    code = f"import sys, {module}; print({heavy!r} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True
    )
    assert done.stdout == b"set()\n"


def is_there(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="asks the system")
@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_import_leaves_nobody_and_goes_on(tmp_path, how):
    """Killed, or by Ctrl-C: the readers end as well, and a second run ends it."""
    box = lay(tmp_path, {"letters.mbox": mailbox(many(900))}) / "letters.mbox"
    command = [sys.executable, "-c", IMPORT, str(tmp_path / "store.db"), str(box)]
    child = subprocess.Popen([*command, "held"], cwd=ROOT, stdout=subprocess.PIPE)
    readers = [int(pid) for pid in child.stdout.readline().split()]
    assert len(readers) > 0
    child.send_signal(how)
    child.wait(PATIENCE)
    child.stdout.close()
    assert child.returncode in (-how, 128 + how)
    wait_until(lambda: not any(map(is_there, readers)), "readers were left behind")
    subprocess.run(command, cwd=ROOT, check=True, timeout=PATIENCE)
    with Store.open(tmp_path / "clean.db") as store:
        import_source(store, "mbox", box, me=[ME])
        expected = content(store)
    with Store.open(tmp_path / "store.db") as store:
        assert content(store) == expected


def test_readers_leave_ctrl_c_to_us(small_counts):
    """The terminal sends it to all of them."""
    with Readers(1) as readers:
        found = readers.read(letters(100))
        first = next(found)
        for one in readers._all:
            os.kill(one.process.pid, signal.SIGINT)
        assert len([first, *found]) == len(letters(100))


@pytest.mark.slow
def test_a_mailbox_that_goes_away_is_said(store, tmp_path, monkeypatch, small_counts):
    """What was read before is safe, and the same import goes on."""
    box = tmp_path / "all.mbox"
    box.write_bytes(mailbox(many(100)))
    monkeypatch.setattr(importing, "BATCH", 10)
    monkeypatch.setattr(parallel, "_CHUNKS", 1)
    hidden = []

    def hide(done, total):
        if done > total // 4 and not hidden:
            hidden.append(box.rename(tmp_path / "elsewhere"))

    gone = "cannot be read to its end: no such file"
    with pytest.raises(SourceError, match=gone):
        import_source(store, "mbox", box, me=[ME], progress=hide)
    before = len(ids(store))
    hidden[0].rename(box)
    report = import_source(store, "mbox", box, me=[ME])
    assert 0 < before < len(ids(store))
    assert "going on at" in report.notes[0]
