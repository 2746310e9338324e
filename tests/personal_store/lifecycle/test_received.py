"""Texts of others: indexed when they are first searched for, and kept in step."""

import pytest

from personal_store import Store, import_source
from personal_store.lifecycle.forgetting import (
    exclude,
    forget,
    put_into_trash,
    take_out_of_trash,
)
from personal_store.lifecycle.identities import add_identities
from personal_store.search.tables import check
from tests.mailboxes import ME, mailbox, message
from tests.personal_store.stores import found, ids

ANNA = "Anna <anna@example.org>"


def letters(first, count):
    return [
        message(f"Number{n} says the kettle is on, come over.", sender=ANNA, to=ME,
                number=n, subject=f"Tea {n}")
        for n in range(first, first + count)
    ]  # fmt: skip


def bring(store, folder, first, count):
    path = folder / f"letters{first}.mbox"
    own = message(f"I shall bring a cake for {first}.", number=1000 + first)
    path.write_bytes(mailbox([*letters(first, count), own]))
    import_source(store, "mbox", path, me=[ME])


def heard(store, query):
    return [p.record_id for p in store.find(query, limit=50, received_ones=True)]


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store.db") as opened:
        bring(opened, tmp_path, 1, 3)
        yield opened


def test_they_are_indexed_by_the_first_search_alone(store, tmp_path):
    """So that an import takes no time for what may never be looked for."""
    rows = "SELECT count(*) FROM heard"
    assert store.db.execute(rows).fetchone() == (0,)
    assert len(heard(store, "number2")) == 1
    assert store.db.execute(rows).fetchone() == (3,)

    bring(store, tmp_path, 10, 4)
    assert store.db.execute(rows).fetchone() == (3,)
    assert len(heard(store, "number12")) == 1
    assert store.db.execute(rows).fetchone() == (7,)
    assert check(store.db) == []


def test_they_are_never_found_as_own(store):
    assert heard(store, "number1")
    assert found(store, "number1 kettle") == []
    assert store.passage(heard(store, "number1")[0]) is None
    assert store.received(heard(store, "number1")[0]).text.startswith("Number1")
    assert store.received(ids(store, "author != 0")[0]) is None


def test_what_happens_to_a_record_happens_to_its_index(store, tmp_path):
    """Excluded, in the trash, forgotten, or found to be one's own."""
    one, two, three = (heard(store, f"number{n}")[0] for n in (1, 2, 3))
    exclude(store.db, [one])
    put_into_trash(store.db, [two])
    forget(store.db, store.path, [three])
    assert heard(store, "number1 number2 number3 kettle") == []
    assert store.db.execute("SELECT count(*) FROM heard").fetchone() == (0,)
    assert check(store.db) == []

    exclude(store.db, [one], excluded=False)
    take_out_of_trash(store.db, [two])
    assert heard(store, "number1") == [one]
    assert heard(store, "number2") == [two]

    add_identities(store.db, ["anna@example.org"], "told so")
    assert heard(store, "number1 number2") == []
    assert sorted(found(store, "number1 number2")) == [one, two]
    assert check(store.db) == []
    for path in store.path.parent.glob("store.db*"):
        assert b"number3" not in path.read_bytes()


def test_a_number_that_is_given_again_is_indexed_again(store, tmp_path):
    """SQLite gives the highest number of a deleted record to the next one."""
    assert heard(store, "kettle number3")
    forget(store.db, store.path, ids(store, "id >= 3"))
    bring(store, tmp_path, 20, 2)

    assert len(heard(store, "number20")) == 1
    assert len(heard(store, "number21")) == 1
    assert check(store.db) == []
