"""A killed import, run again, ends with the same rows as one that was left alone."""

import random
import re

import pytest

from personal_store import Store, import_source, importing
from tests.dying import run_to
from tests.mailboxes import ME, mailbox, many, message
from tests.personal_store.stores import content, stopping

IMPORT = """
import sys
from pathlib import Path
from personal_store import Store, import_source
from personal_store import importing
importing.BATCH = 50
with Store.open(Path(sys.argv[1])) as store:
    import_source(store, "mbox", Path(sys.argv[2]))
"""


def rows(path):
    """All rows without ids, with their labels and search terms."""
    with Store.open(path) as store:
        return store.db.execute("PRAGMA integrity_check").fetchone(), *content(store)


def letters(count, seed=1):
    """Messages of all sorts; some answer one that comes later, and repeat it."""
    messages = many(count, seed)
    for number in range(1000, 1000 + count // 50):
        first, second = (f"The question of part {one} is open." for one in (number, 2))
        asked = f"{first} It will be long.\n{second} We shall see what they say."
        body, own_id = f"Yes, {number} times.\n\n{asked}", f"<{number}a@example.org>"
        answer = message(body, number=number, headers=f"In-Reply-To: {own_id}")
        other = {"sender": "P <p@example.org>", "to": ME, "number": None}
        messages.insert(7 * (number - 1000), answer)
        messages.append(message(asked, **other, headers=f"Message-ID: {own_id}"))
    return messages


def undisturbed(folder, path):
    """How many steps an undisturbed import takes; its rows."""
    clean = folder / "clean.db"
    return run_to(0, IMPORT, folder, clean, path)[1], rows(clean)


def test_a_killed_import_goes_on(tmp_path):
    """Killed half way; or when all was stored and answers were compared with what they
    answer."""
    path = tmp_path / "letters.mbox"
    path.write_bytes(mailbox(letters(80)))
    steps, clean = undisturbed(tmp_path, path)

    for part in (0.4, 0.995):
        store = tmp_path / f"{part}.db"
        died, _ = run_to(int(part * steps), IMPORT, tmp_path, store, path)
        assert died
        with Store.open(store) as killed:
            import_source(killed, "mbox", path)
        assert rows(store) == clean


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_many_killed_imports_go_on(tmp_path, seed):
    """The same with other mailboxes: each store is killed at one of ten places, the
    last of them in the last steps of all, and then at random until it is done."""
    path, rng = tmp_path / "letters.mbox", random.Random(seed)
    path.write_bytes(mailbox(letters(800, seed)))
    steps, clean = undisturbed(tmp_path, path)
    places = [int(steps * tenth / 9) for tenth in range(1, 9)] + [steps - seed]

    for place in places:
        store = tmp_path / f"killed{place}.db"
        died, _ = run_to(place, IMPORT, tmp_path, store, path)
        assert died
        kills = 1
        while died:
            died, _ = run_to(rng.randint(1, steps), IMPORT, tmp_path, store, path)
            kills += died
        assert rows(store) == clean, (place, kills)


@pytest.mark.parametrize("step", [1, -1], ids=["the same file", "another order"])
def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, monkeypatch, step):
    """And says so; what was committed is not read again. A changed file is read
    from its start: an offset into another file would lose messages."""
    monkeypatch.setattr(importing, "BATCH", 10)
    path = tmp_path / "letters.mbox"
    messages = many(200)
    path.write_bytes(mailbox(messages))

    with Store.open(tmp_path / "store.db") as store:
        with pytest.raises(KeyboardInterrupt):
            import_source(store, "mbox", path, progress=stopping(0.5))
        stored = store.counts()["own"]
        path.write_bytes(mailbox(messages[::step]))
        report = import_source(store, "mbox", path)
        found = {record.key for record in store.records()}

        assert stored > 0
        assert report.added == store.counts()["own"] - stored
        said = any("letters.mbox: going on at 4" in note for note in report.notes)
        assert said == (step == 1)
    with Store.open(tmp_path / "clean.db") as store:
        import_source(store, "mbox", path)
        assert {record.key for record in store.records()} == found


def test_a_full_disk_is_a_sentence_and_loses_nothing(tmp_path, monkeypatch):
    """SQLite's own limit stands in for the disk. What was committed is counted."""
    monkeypatch.setattr(importing, "BATCH", 50)
    path = tmp_path / "letters.mbox"
    path.write_bytes(mailbox(many(500)))
    with Store.open(tmp_path / "store.db") as store:
        store.db.execute("PRAGMA max_page_count = 70")
        with pytest.raises(importing.StoreError, match="The disk is full") as full:
            import_source(store, "mbox", path)
        said = re.search(r"safe \((\d+) of yours, (\d+) by others\):", str(full.value))
        counts = store.counts()
        assert tuple(map(int, said.groups())) == (counts["own"], counts["received"])
        assert counts["own"] > 0
        with pytest.raises(importing.StoreError, match="This run stored no text: make"):
            import_source(store, "mbox", path)
        store.db.execute("PRAGMA max_page_count = 1000000")
        import_source(store, "mbox", path)
    with Store.open(tmp_path / "clean.db") as store:
        import_source(store, "mbox", path)
    assert rows(tmp_path / "store.db") == rows(tmp_path / "clean.db")
