"""What has been imported is not read again, and what changes is."""

import os

import pytest

from personal_store import Store, import_runs, import_source, importing
from personal_store.importers import load
from personal_store.lifecycle import writing
from personal_store.lifecycle.forgetting import forget
from tests.mailboxes import ME, mailbox, many, message
from tests.personal_store.stores import content, lay, zipped

OLD = 1_700_000_000


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store.db") as store:
        store.add_identities([ME])
        yield store


@pytest.fixture
def read(monkeypatch):
    """The places from which sources were read, one after the other."""
    begun = []
    items = importing._Import._items

    def noted(self, source, options):
        begun.append(options.start)
        return items(self, source, options)

    monkeypatch.setattr(importing._Import, "_items", noted)
    return begun


def write(path, data, at=OLD):
    path.write_bytes(data)
    os.utime(path, (at, at))
    return path


def counts(report):
    return report.added, report.received, report.skipped, report.failed


def test_an_unchanged_file_is_not_read_again(store, tmp_path, read):
    """The same things are counted, failures too."""
    path = write(tmp_path / "a.mbox", mailbox(many(60)))
    first = import_source(store, "mbox", path)
    again = import_source(store, "mbox", path)

    assert read == [0]
    assert again.reasons["in files that have not changed"] == sum(counts(first)[:3])
    assert [str(one) for one in again.failures] == [str(one) for one in first.failures]
    assert first.failed > 0
    assert again.notes == []
    import_source(store, "mbox", path, again=True)
    assert read == [0, 0]


LETTERS = [message(f"This is letter {n} of all.", number=n) for n in range(30)]


def test_what_is_told_otherwise_is_read_otherwise(store, tmp_path, read, monkeypatch):
    """Addresses, raw bodies, cleaning rules, the program, the importer; once each."""
    path = write(tmp_path / "a.txt", mailbox(many(9)))

    def reads_once(kind="mbox", **options):
        del read[:]
        import_source(store, kind, path, **options)
        assert len(read) == 1
        import_source(store, kind, path)
        assert len(read) == 1

    reads_once()
    reads_once(me=["p1@example.org"])
    writing.keep_bodies(store.db, False)
    reads_once()
    monkeypatch.setattr(importing, "VERSION", importing.VERSION + 1)
    reads_once()
    monkeypatch.setattr(import_runs, "_program", lambda: "another")
    reads_once()
    reads_once("text")
    import_source(store, "mbox", path)
    assert len(read) == 1


def test_forgotten_texts_stay_away(store, tmp_path, read):
    """With the last one, what is known of the file goes."""
    letters = [message(), message("And something else again.", number=2)]
    path = write(tmp_path / "a.mbox", mailbox(letters))
    assert import_source(store, "mbox", path).added == 2
    forget(store.db, store.path, [1])
    assert import_source(store, "mbox", path).added == 0
    assert read == [0]
    assert store.counts()["own"] == 1
    forget(store.db, store.path, [2])
    report = import_source(store, "mbox", path)
    assert read == [0, 0]
    assert report.reasons == {"forgotten before": 2}


def at_once(path):
    """What an import of all of it reports, and makes of a new store: rows, texts."""
    with Store.open(path.with_name("whole.db")) as whole:
        whole.add_identities([ME])
        report = import_source(whole, "mbox", path)
        return report, content(whole), {record.text for record in whole.records()}


@pytest.mark.parametrize("cut", [1, 7, 30])
def test_of_a_grown_mailbox_only_the_new_part_is_read(store, tmp_path, read, cut):
    """With the same rows and counts in the end as of one that was read whole."""
    messages = many(40, seed=cut)
    path = write(tmp_path / "a.mbox", mailbox(messages[:cut]))
    size = path.stat().st_size
    first = import_source(store, "mbox", path)
    write(path, mailbox(messages), OLD + 5)
    second = import_source(store, "mbox", path)
    third = import_source(store, "mbox", path)

    assert read == [0, size]
    whole, rows, _ = at_once(path)
    assert content(store) == rows
    assert first.added + second.added == whole.added
    assert sum(counts(second)) == sum(counts(third)) == len(messages)
    assert second.failed == third.failed == whole.failed


BEFORE, AFTER = mailbox(LETTERS[:9]), mailbox(LETTERS[:20])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (BEFORE, AFTER.replace(b"letter 4", b"letter F")),
        (BEFORE, AFTER.replace(mailbox(LETTERS[4:5]), b"")),
        (BEFORE[:-30], AFTER),
    ],
    ids=["one changed in the middle", "one gone from the middle", "one was cut short"],
)
def test_one_that_did_more_is_read_whole(store, tmp_path, read, before, after):
    path = write(tmp_path / "a.mbox", before)
    import_source(store, "mbox", path)
    write(path, after, OLD + 5)
    import_source(store, "mbox", path)

    assert read == [0, 0]
    assert at_once(path)[2] <= {record.text for record in store.records()}


def test_a_killed_import_of_the_new_part_goes_on(store, tmp_path, read, monkeypatch):
    """And what was counted before is counted once."""
    monkeypatch.setattr(importing, "BATCH", 4)
    path = write(tmp_path / "a.mbox", BEFORE)
    import_source(store, "mbox", path)
    write(path, mailbox(LETTERS), OLD + 5)

    def die(done, total):
        if store.counts()["own"] > 15:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_source(store, "mbox", path, progress=die)
    report = import_source(store, "mbox", path)
    assert 9 < store.counts()["own"] == 30
    assert read[2] > read[1] > 0
    assert report.failed == 0
    assert import_source(store, "mbox", path).skipped == 30


@pytest.mark.parametrize("packed", [False, True])
def test_folders_and_archives(store, tmp_path, read, packed):
    """As a whole; another file in it, and it is read."""

    def put(count):
        files = {f"{number}.eml": LETTERS[number] for number in range(count)}
        if packed:
            return write(tmp_path / "mails.zip", zipped(files))
        folder = lay(tmp_path / "mails", files)
        for name in files:
            os.utime(folder / name, (OLD, OLD))
        return folder

    path = put(3)
    assert len(load("eml").sources(path)) == 1
    assert import_source(store, "eml", path).added == 3
    assert import_source(store, "eml", path).skipped == 3
    assert read == [0]
    assert import_source(store, "eml", put(4)).added == 1
    assert read == [0, 0]
