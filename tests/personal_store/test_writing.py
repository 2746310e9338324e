"""A batch is written partly at its end: what stands in it twice must not show it."""

import pytest

from personal_store import Store
from personal_store.files import of_file
from personal_store.packing import pack
from personal_store.records import Document, ImportReport, RawText
from personal_store.writing import ImportRun

ME = "sam@example.com"


def document(key, text, *, sender=ME, labels=()):
    raw = pack(RawText(text))
    return Document(1, key, "email", text, sender=sender, labels=labels, raw=raw)


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store.db") as store:
        store.add_identities([ME])
        yield store


def written(store, tmp_path, documents):
    file = tmp_path / "letters.mbox"
    file.write_bytes(b"-")
    run = ImportRun.begin(store.db, "mbox", of_file(file), frozenset([ME]), "")
    report = ImportReport()
    run.commit(documents, report)
    return report


def test_the_later_of_two_readings_in_a_batch_is_found(store, tmp_path):
    """And of the earlier one nothing is left, in the index or beside it."""
    both = [
        document("a", "The garden in spring.", labels=("Sent",)),
        document("b", "Another letter, about the train."),
        document("a", "The kitchen in autumn.", labels=("Home",)),
    ]

    report = written(store, tmp_path, both)

    assert (report.added, report.updated) == (2, 1)
    assert [hit.text for hit in store.search("kitchen")] == ["The kitchen in autumn."]
    assert store.search("garden") == []
    assert [record.labels for record in store.records()] == [("Home", "Sent"), ()]
    assert store.counts()["own"] == 2
    (kept,) = store.db.execute("SELECT count(*) FROM raw").fetchone()
    assert kept == 2


def test_a_text_of_an_earlier_batch_is_found_as_it_reads_now(store, tmp_path):
    written(store, tmp_path, [document("a", "The garden in spring.")])

    report = written(store, tmp_path, [document("a", "The kitchen in autumn.")])

    assert (report.added, report.updated) == (0, 1)
    assert [hit.text for hit in store.search("kitchen")] == ["The kitchen in autumn."]
    assert store.search("garden") == []


def test_a_batch_of_others_changes_nothing_that_can_be_found(store, tmp_path):
    before = dict(store.db.execute("SELECT * FROM state").fetchall())

    report = written(store, tmp_path, [document("a", "Dear Sam.", sender="b@x.org")])

    assert (report.added, report.received) == (0, 1)
    assert dict(store.db.execute("SELECT * FROM state").fetchall()) == before
    assert store.search("sam") == []


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("A day\0 off.", "A day off."),
        ("\ufeffA day off.", "A day off."),
        ("A day \ud800 off, été.", "A day ? off, été."),
        ("A day \ufeff off, été.", "A day \ufeff off, été."),
    ],
)
def test_what_sqlite_refuses_is_left_out(store, tmp_path, text, stored):
    bare = Document(1, "a", "email", text, sender=ME)
    assert written(store, tmp_path, [bare]).added == 1
    assert [record.text for record in store.records()] == [stored]
