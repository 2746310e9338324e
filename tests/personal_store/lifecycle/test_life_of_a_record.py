"""Excluded, in the trash, forgotten: what is found, what is stored, what comes back."""

from datetime import date
from functools import partial

import pytest

from personal_store import Store
from personal_store.copies import back_up, backup_path
from personal_store.lifecycle import forgetting
from personal_store.lifecycle.overview import Which, outlines
from personal_store.lifecycle.tombstones import count
from personal_store.search.tables import check
from tests.mailboxes import ME, message
from tests.personal_store.stores import BALLOON, SECRET, fill, found, ids, put_letters


@pytest.mark.parametrize(
    ("put_away", "fetch_back"),
    [
        (forgetting.exclude, partial(forgetting.exclude, excluded=False)),
        (forgetting.put_into_trash, forgetting.take_out_of_trash),
    ],
)
def test_what_is_put_away_is_never_found(store, tmp_path, put_away, fetch_back):
    """Neither by search, nor as a recent text, nor by its id, nor after a re-import."""
    balloon = ids(store, BALLOON)
    put_away(store.db, balloon)
    fill(store, tmp_path)

    assert found(store, "balloon Quedlinburg") == []
    assert not {p.record_id for p in store.recent(limit=99)} & set(balloon)
    assert store.passage(balloon[0]) is None
    assert ids(store, BALLOON) == balloon
    excluded = put_away is forgetting.exclude
    assert forgetting.in_trash(store.db) == ([] if excluded else balloon)

    fetch_back(store.db, balloon)
    assert found(store, "balloon Quedlinburg") == balloon
    assert forgetting.in_trash(store.db) == []


def test_the_trash_is_emptied_after_thirty_days(store, tmp_path):
    """And what was in it does not return; not a day earlier."""
    day = 86_400
    forgetting.put_into_trash(store.db, ids(store, BALLOON), now=1000 * day)
    forgetting.put_into_trash(store.db, ids(store), now=1020 * day)

    assert forgetting.empty_if_due(store.db, store.path, now=1029.9 * day) == 0
    assert forgetting.empty_if_due(store.db, store.path, now=1030 * day) == 1
    assert ids(store, BALLOON) == []
    assert len(forgetting.in_trash(store.db)) == 5

    fill(store, tmp_path)
    assert ids(store, BALLOON) == []


def test_opening_the_store_empties_the_trash(store):
    """Nobody has to remember it."""
    forgetting.put_into_trash(store.db, ids(store, BALLOON), now=0)
    with Store.open(store.path) as again:
        assert ids(again, BALLOON) == []
        assert not forgetting.is_untidy(again.db)
    assert SECRET[:40].encode() not in store.path.read_bytes()


def test_a_forgotten_text_stays_away(store, tmp_path):
    """By its key, and by its words from another source under another key. A short one
    by its key alone: another letter may say the same few words."""
    forgetting.forget(store.db, store.path, ids(store, BALLOON))
    again = fill(store, tmp_path)
    other = put_letters(store, [message(SECRET, number=77, subject="Fwd")])

    assert again.reasons["forgotten before"] == 1
    assert other.reasons["forgotten before"] == 1
    assert ids(store, BALLOON) == []
    assert count(store.db) == 1
    assert check(store.db) == []

    letters = [message("Thanks a lot, Anna!", number=n) for n in (20, 21)]
    put_letters(store, letters[:1])
    forgetting.forget(store.db, store.path, ids(store, "body = 'Thanks a lot, Anna!'"))
    assert put_letters(store, letters).added == 1


def test_a_tombstone_reveals_nothing(store, tmp_path):
    """Two stores mark the same text differently, and neither mark holds a word."""

    def marks(store):
        forgetting.forget(store.db, store.path, ids(store, BALLOON))
        assert store.db.execute("SELECT count(*) FROM tombstone_key").fetchone() == (1,)
        return {bytes(row[0]) for row in store.db.execute("SELECT mark FROM tombstone")}

    with Store.open(tmp_path / "other.db") as other:
        fill(other, tmp_path)
        assert len(marks(store) | marks(other)) == 4
        assert {len(mark) for mark in marks(store) | marks(other)} == {32}


def test_forgetting_everything_leaves_a_new_store(store, tmp_path):
    """With no memory of it: an import brings texts back."""
    back_up(store.db, store.path)
    proof = forgetting.forget_everything(store.db, store.path)
    path = store.path
    store.close()

    assert not backup_path(path).exists()
    assert proof.left == ()
    assert b"zanzibarensis" not in path.read_bytes()
    assert b"anna@example.org" not in path.read_bytes()
    with Store.open(path) as again:
        assert again.identities() == []
        assert fill(again, tmp_path).added == 3


def test_selectors(store):
    """Conditions add up."""
    anna, new, old = "anna@example.org", date(2024, 1, 1), date(2019, 3, 12)
    mine = ["Plan", "Confidential balloon", "Garden"]
    for chosen, titles in (
        (Which(person=anna, since=new), [*mine, "Second"]),
        (Which(person="ANNA", until=old), ["Plan again"]),
        (Which(person="Ann"), []),
        (Which(person=ME), [*mine, "Plan again"]),
        (Which(kind="review"), ["Grüße aus dem Garten 😀"]),
        (Which(source="LETTERS", words="balloon zanzibarensis"), mine[1:2]),
        (Which(words="balloon plan"), []),
        (Which(ids=[1, 4]), ["Plan", "Second"]),
        (Which(ids=[1, 4], words="plan"), ["Plan"]),
    ):
        every = outlines(store.db, chosen.find(store.db))
        assert [one.title for one in every] == titles, chosen
