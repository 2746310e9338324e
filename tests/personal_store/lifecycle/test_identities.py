"""Who is "me": with evidence, suggested, confirmed, changed without a second import."""

from personal_store import Author, Store
from personal_store.lifecycle.identities import remove_identities, suggestions
from personal_store.lifecycle.writing import body_of
from tests.mailboxes import ME, message
from tests.personal_store.stores import BALLOON, found, ids, put_letters

WORK = "sam@work.example"


def authors(store, sender):
    return {record.author for record in store.records() if record.sender == sender}


def test_an_added_address_makes_its_texts_own_and_a_removed_one_others(store):
    """Not found any more, and their raw bodies go."""
    assert authors(store, WORK) == {Author.OTHER}
    assert store.add_identities([f" {WORK.upper()} "]) == 1
    assert authors(store, WORK) == {Author.ME}
    assert found(store, "second wishes") == ids(store, "title = 'Second'")

    balloon = ids(store, BALLOON)
    assert body_of(store.db, balloon[0]) is not None
    assert remove_identities(store.db, [ME, WORK]) == 4
    assert authors(store, ME) == {Author.OTHER}
    assert found(store, "balloon") == store.identities() == []
    assert body_of(store.db, balloon[0]) is None

    assert store.add_identities([ME]) == 3
    assert found(store, "balloon") == balloon
    assert Author.MIXED in authors(store, ME)  # a quote had been cut from it


def test_what_sent_labelled_mail_is_suggested(store):
    """With the evidence; not after it was turned down, until the person says so."""
    (one,) = suggestions(store.db)
    assert (one.address, one.texts) == (WORK, 1)
    assert "labelled sent" in one.why

    remove_identities(store.db, [WORK])
    assert suggestions(store.db) == []
    assert store.add_identities([WORK], "it sent the sent mail") == 0
    assert store.add_identities([WORK]) == 1


def test_who_is_at_one_end_of_most_mail_is_suggested(tmp_path):
    home = "sam@home.example"
    senders = [*(f"p{n}@example.org" for n in range(6)), home]
    letters = [
        message(f"What do you think of number {n}?", number=n, sender=one, to=home)
        for n, one in enumerate(senders)
    ]
    with Store.open(tmp_path / "another.db") as store:
        put_letters(store, letters, me=["sam@elsewhere.example"])
        assert [one.address for one in suggestions(store.db)] == [home]
