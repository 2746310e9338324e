"""Who is "me": with evidence, suggested, confirmed, changed without a second import."""

from personal_store import Author, Store
from personal_store.lifecycle.identities import (
    Identity,
    identities,
    remove_identities,
    suggestions,
)
from personal_store.lifecycle.writing import body_of
from tests.mailboxes import ME, message
from tests.personal_store.stores import found, ids, put_letters

WORK = "sam@work.example"


def authors(store, sender):
    return {record.author for record in store.records() if record.sender == sender}


def test_an_added_address_makes_its_texts_own(store):
    assert authors(store, WORK) == {Author.OTHER}
    assert store.add_identities([f" {WORK.upper()} "]) == 1
    assert authors(store, WORK) == {Author.ME}
    assert found(store, "second wishes") == ids(store, "title = 'Second'")


def test_a_removed_address_makes_them_others_again(store):
    """Not found any more, and their raw bodies go."""
    balloon = ids(store, "title = 'Confidential balloon'")
    assert body_of(store.db, balloon[0]) is not None
    assert remove_identities(store.db, [ME]) == 3

    assert authors(store, ME) == {Author.OTHER}
    assert found(store, "balloon") == []
    assert body_of(store.db, balloon[0]) is None
    assert store.identities() == []

    assert store.add_identities([ME]) == 3
    assert found(store, "balloon") == balloon
    assert Author.MIXED in authors(store, ME)  # a quote had been cut from it


def test_evidence_is_kept(store, tmp_path):
    """What was found out is kept apart from what the person said."""
    assert identities(store.db) == [Identity(ME, "told so", True, 3)]
    with Store.open(tmp_path / "other.db") as other:
        sent = [
            message(
                f"Letter number {n} of some words.",
                number=n,
                headers="X-Gmail-Labels: Sent",
            )
            for n in range(3)
        ]
        put_letters(other, sent)
        (one,) = identities(other.db)
        assert (one.confirmed, one.why) == (False, "it sent the sent mail")
        other.add_identities([ME])
        (one,) = identities(other.db)
        assert (one.confirmed, one.why) == (True, "it sent the sent mail")


def test_what_sent_labelled_mail_is_suggested(store):
    """With the evidence; not after it was turned down, until the person says so."""
    (one,) = suggestions(store.db)
    assert (one.address, one.texts) == (WORK, 1)
    assert "labelled sent" in one.why

    remove_identities(store.db, [WORK])
    assert suggestions(store.db) == []
    assert store.add_identities([WORK], "it sent the sent mail") == 0
    assert store.add_identities([WORK]) == 1


def test_lists_and_receivers_are_not_suggested(store):
    """An address that only receives is a group, however often it does."""
    letters = [
        message(f"Dear all, this is number {n}.", number=50 + n, to="all@x.org")
        for n in range(30)
    ]
    put_letters(store, letters)
    assert [one.address for one in suggestions(store.db)] == [WORK]


def test_who_is_at_one_end_of_most_mail_is_suggested(tmp_path):
    letters = [
        message(f"What do you think of number {n}?", number=n,
                sender=f"p{n}@example.org", to="sam@home.example")
        for n in range(6)
    ]  # fmt: skip
    letters.append(message("I like it a lot.", number=9, sender="sam@home.example"))
    with Store.open(tmp_path / "another.db") as store:
        put_letters(store, letters, me=["sam@elsewhere.example"])
        assert [one.address for one in suggestions(store.db)] == ["sam@home.example"]
