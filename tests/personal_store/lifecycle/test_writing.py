"""A batch is written partly at its end: what stands in it twice must not show it."""

import sqlite3
from itertools import count
from pkgutil import resolve_name as resolve

import pytest

from personal_store import Store, StoreError, import_source, importing
from personal_store.files import of_file
from personal_store.lifecycle.writing import ImportRun
from personal_store.reading.letters import pack
from personal_store.records import Document, ImportReport, RawText
from personal_store.search.tables import check
from tests.mailboxes import mailbox, message
from tests.personal_store.stores import content, put_letters

ME = "sam@example.com"


def document(key, text, labels=()):
    raw = pack(RawText(text))
    return Document(1, key, "email", text, sender=ME, labels=labels, raw=raw)


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


@pytest.mark.parametrize("size", [1, 3])
def test_the_later_of_two_readings_is_found(store, tmp_path, size):
    """In one batch or in several; of the earlier reading nothing is left."""
    both = [
        document("a", "The garden in spring.", ("Sent",)),
        document("b", "Another letter, about the train."),
        document("a", "The kitchen in autumn.", ("Home",)),
    ]

    batches = [both[at : at + size] for at in range(0, 3, size)]
    reports = [written(store, tmp_path, batch) for batch in batches]

    assert sum(report.added for report in reports) == 2
    assert sum(report.updated for report in reports) == 1
    assert [hit.text for hit in store.search("kitchen")] == ["The kitchen in autumn."]
    assert store.search("garden") == []
    assert [record.labels for record in store.records()] == [("Home", "Sent"), ()]
    assert store.counts()["own"] == 2
    (kept,) = store.db.execute("SELECT count(*) FROM raw").fetchone()
    assert kept == 2


def test_what_sqlite_refuses_is_left_out(store, tmp_path):
    texts = ("A\0 day.", "\ufeffA day off.", "A \ud800 day, été.", "A \ufeff day, été.")
    bare = [Document(1, text, "email", text, sender=ME) for text in texts]
    assert written(store, tmp_path, bare).added == 4
    stored = ["A day.", "A day off.", "A ? day, été.", "A \ufeff day, été."]
    assert [record.text for record in store.records()] == stored


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_a_fault_at_the_end_of_a_batch_takes_it_back(tmp_path, monkeypatch, batch):
    """Rows, bodies, index and position are one transaction; the same import then ends
    with the store of one that was left alone."""
    monkeypatch.setattr(importing, "BATCH", 4)
    letters = tmp_path / "letters.mbox"
    many = [message(f"This is letter number {n}.", number=n) for n in range(10, 22)]
    letters.write_bytes(mailbox(many))
    with Store.open(tmp_path / "store.db") as store, monkeypatch.context() as patch:
        name = "personal_store.lifecycle.writing.refresh"
        real, calls = resolve(name), count(1)

        def fail(*given):
            real(*given)
            if next(calls) == batch:
                raise sqlite3.OperationalError("a fault")

        patch.setattr(name, fail)
        with pytest.raises(StoreError, match="a fault"):
            import_source(store, "mbox", letters, me=[ME])

    with Store.open(tmp_path / "store.db") as store:
        assert check(store.db) == []
        stored = 4 * (batch - 1)
        assert store.counts()["own"] == stored
        (position,) = store.db.execute("SELECT position FROM import_run").fetchone()
        assert position == letters.stat().st_size * stored // 12
        assert import_source(store, "mbox", letters, me=[ME]).added == 12 - stored
        with Store.open(tmp_path / "alone.db") as alone:
            import_source(alone, "mbox", letters, me=[ME])
            assert content(store) == content(alone)


GOOGLE_GROUPS = (
    "\n-- \nYou received this message because you are subscribed to the group.\n"
    "To unsubscribe, send a mail to boats+unsubscribe@googlegroups.com.\n"
)
LIST_FOOTER = (
    "\n____________________\nboats mailing list\nhttps://lists.example.org/boats\n"
)


def test_a_sent_letter_and_the_copy_of_a_list_are_one_text(store):
    """One Message-ID and one text; what the list added is no part of it. Also when the
    sender turns out to be the owner."""
    text = "The winch has a new rope.\n\nSam"
    sent = message(text, headers="X-Gmail-Labels: Sent")
    headers = "List-Id: <boats.lists.example.org>"
    for footer in (LIST_FOOTER, GOOGLE_GROUPS):
        copy = message(text + footer, headers=headers)
        for order in ([sent, copy], [copy, sent]):
            put_letters(store, order, again=True)
            assert [record.text for record in store.records()] == [text]
            assert [record.labels for record in store.records()] == [("Sent",)]

    work = "sam@work.example"
    text = "The boom has a new rope.\n\nSam"
    letters = [message(t, sender=work, number=2) for t in (text, text + LIST_FOOTER)]
    assert put_letters(store, letters).received == 2
    store.add_identities([work])
    assert [record.text for record in store.records()][1:] == [text]
    assert not check(store.db)
    assert put_letters(store, letters, again=True).added == 0
