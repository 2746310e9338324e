"""Received mail waits packed until its text is wanted, is indexed when it is first
searched for, and kept in step."""

import pytest

from personal_store import Store
from personal_store.cleaning.cleaning import VERSION, clean_raw
from personal_store.lifecycle import forgetting, writing
from personal_store.lifecycle.identities import add_identities, remove_identities
from personal_store.reading.letters import pack, unpack
from personal_store.records import UNREAD, RawText
from personal_store.search.tables import check
from personal_store.transfer import as_lines, merge
from tests.mailboxes import ME, message
from tests.personal_store.stores import fill, found, ids, put_letters

ANNA = "Anna <anna@example.org>"
SAID = "Shall we meet in the garden behind the old observatory on Friday at noon?"
QUOTE = "\n\nOn 12.03.24 10:15, Sam wrote:\n> Quixotic parallelogram of the watch.\n"
CAME = message(SAID + QUOTE, sender=ANNA, to=ME, subject="Garden", number=7)


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store.db") as store:
        fill(store, tmp_path, [CAME, message("I wrote this one.", number=8)])
        yield store


def row(store, columns="body, cleaning, author", where="title = 'Garden'"):
    return store.db.execute(f"SELECT {columns} FROM record WHERE {where}").fetchone()


def bodies(store):
    return store.db.execute("SELECT count(*) FROM raw").fetchone()[0]


def test_of_endless_markup_the_beginning_waits():
    """It is all that cleaning looks at."""
    html = f"<p>{SAID}</p>" + "<i>x</i>" * 200_000
    assert clean_raw(unpack(pack(RawText("", html)))).text.startswith(SAID)


def heard(store, query):
    """The texts of others that are found."""
    return [passage.text for passage in store.find(query, received_ones=True)]


def test_received_mail_waits_until_a_search_cleans_it(store):
    """It has no text, no place in any index, and its body lies packed. Then its body
    goes, and nothing waits any more."""
    garden = ids(store, "title = 'Garden'")
    assert row(store) == ("", UNREAD, 0)
    assert writing.waiting(store.db) == garden
    assert found(store, "observatory") == []
    assert "Quixotic" in writing.body_of(store.db, garden[0]).plain
    assert check(store.db) == []

    assert heard(store, "observatory") == [SAID]
    assert row(store) == (SAID, VERSION, 0)
    assert bodies(store) == 1
    assert writing.waiting(store.db) == heard(store, "quixotic") == []
    assert check(store.db) == []


def test_a_text_that_is_asked_for_is_cleaned(store):
    """A look at all records shows what cleaning makes of them, and writes nothing."""
    assert SAID in [record.text for record in store.records()]
    assert row(store) == ("", UNREAD, 0)
    (number,) = ids(store, "title = 'Garden'")
    assert store.received(number).text == SAID
    assert row(store) == (SAID, VERSION, 0)


def test_an_export_has_its_text(store):
    lines = b"".join(as_lines(store.db)).decode()
    assert SAID in lines
    assert "Quixotic" not in lines


@pytest.mark.parametrize("keeps", [True, False])
def test_a_new_address_makes_it_own(store, keeps):
    """With its body if that is wanted, to be cleaned again; taken back, that goes. What
    says nothing of its own stays somebody else's, as an import would have it."""
    work = "sam@work.example"
    put_mails(store, [came(30, QUOTE, sender=f"Sam <{work}>")])
    writing.keep_bodies(store.db, keeps)
    assert add_identities(store.db, ["anna@example.org"]) == 1
    assert found(store, "observatory") == ids(store, "title = 'Garden'")
    assert row(store) == (SAID, VERSION, 2)
    assert bodies(store) == (3 if keeps else 1)
    assert remove_identities(store.db, ["anna@example.org"]) == 1
    assert bodies(store) == (2 if keeps else 1)

    add_identities(store.db, [work])
    add_identities(store.db, [work])
    assert row(store, where=f"sender = '{work}'") == ("", VERSION, 0)
    assert heard(store, "came") == []
    assert check(store.db) == []


def test_forgotten_words_stay_forgotten(store):
    """Where they were forgotten unread, and where they come again unread."""
    put_mails(store, [came(40, SAID, subject="Again")])
    forgetting.forget(store.db, store.path, ids(store, "title = 'Garden'"))
    assert row(store, where="title = 'Again'") is not None
    heard(store, "observatory")
    assert row(store, where="title = 'Again'") is None
    assert check(store.db) == []


@pytest.mark.parametrize("keeps", [True, False])
def test_a_merge_brings_it_packed(store, tmp_path, keeps):
    """Also into a store that keeps no raw bodies; read there is read here."""
    with Store.open(tmp_path / "second.db") as second:
        writing.keep_bodies(second.db, keeps)
        merge(second.db, second.path, store.path)
        assert row(second) == ("", UNREAD, 0)
        assert bodies(second) == 1 + keeps
        assert heard(second, "observatory") == [SAID]
        merge(store.db, store.path, second.path)
    assert row(store) == (SAID, VERSION, 0)
    assert bodies(store) == 1


def test_who_wants_no_raw_bodies_keeps_none(tmp_path):
    """Of others; of own mail that is new, met again, or reads differently."""
    mine = message("I wrote this one.", number=8)
    with Store.open(tmp_path / "bare.db") as bare:
        writing.keep_bodies(bare.db, False)
        fill(bare, tmp_path, [CAME])
        assert row(bare) == (SAID, VERSION, 0)
        assert put_mails(bare, [mine]).added == 1
        assert bodies(bare) == 0
        bare.db.execute("UPDATE record SET body_sha = x'00', cleaning = 0")
        assert put_mails(bare, [mine]).updated == 1
        assert bodies(bare) == 0


def test_an_answer_is_compared_with_what_waited(store):
    """What it repeats without a mark goes, and only its parent is cleaned for it. Where
    a body was lost of what goes on waiting, that does not stop the others."""
    own = "Yes, gladly, I will bring the lantern."
    headers = "In-Reply-To: <7@example.com>"
    answer = message(f"{own}\n\n{SAID}", number=60, subject="Re: it", headers=headers)
    put_mails(store, [came(61, "Something else entirely."), answer])
    assert row(store, where="title = 'Re: it'") == (own, VERSION + 1, 2)
    assert row(store) == (SAID, VERSION, 0)
    lost = ids(store, "title = 'Came'")
    assert writing.waiting(store.db) == lost

    store.db.execute("DELETE FROM raw WHERE record_id = ?", lost)
    store.db.commit()
    put_mails(store, [came(70, "Something after all.")])
    assert heard(store, "something") == ["Something after all."]


INDEXED = "SELECT count(*) FROM heard"


def kettle(store, *numbers):
    """Import a letter by somebody else for each of these numbers."""
    said = "says the kettle is on, come over."
    put_mails(store, [came(n, f"Number{n} {said}", subject=f"{n}") for n in numbers])


def received(store, query):
    return [p.record_id for p in store.find(query, limit=50, received_ones=True)]


def test_received_mail_is_indexed_by_the_first_search_alone(store):
    """So that an import takes no time for what may never be looked for."""
    kettle(store, 101, 102)
    assert store.db.execute(INDEXED).fetchone() == (0,)
    (one,) = received(store, "number101")
    assert store.db.execute(INDEXED).fetchone() == (3,)
    assert found(store, "number101 kettle") == []
    assert store.passage(one) is None
    assert store.received(ids(store, "author != 0")[0]) is None

    kettle(store, 103)
    assert store.db.execute(INDEXED).fetchone() == (3,)
    assert len(received(store, "number103")) == 1
    assert store.db.execute(INDEXED).fetchone() == (4,)
    assert check(store.db) == []


def test_what_happens_to_a_record_happens_to_its_index(store):
    """Excluded, in the trash, forgotten, or found to be one's own."""
    kettle(store, 101, 102, 103)
    one, two, three = (received(store, f"number{n}")[0] for n in (101, 102, 103))
    forgetting.exclude(store.db, [one])
    forgetting.put_into_trash(store.db, [two])
    forgetting.forget(store.db, store.path, [three])
    assert received(store, "number101 number102 number103 kettle") == []
    assert store.db.execute(INDEXED).fetchone() == (1,)
    assert check(store.db) == []

    forgetting.exclude(store.db, [one], excluded=False)
    forgetting.take_out_of_trash(store.db, [two])
    assert received(store, "number101") == [one]
    assert received(store, "number102") == [two]

    add_identities(store.db, ["anna@example.org"])
    assert received(store, "number101 number102") == []
    assert sorted(found(store, "number101 number102")) == [one, two]
    assert check(store.db) == []
    for path in store.path.parent.glob("store.db*"):
        assert b"number103" not in path.read_bytes()


def came(number, body, *, subject="Came", sender=ANNA):
    return message(body, sender=sender, to=ME, subject=subject, number=number)


def put_mails(store, mails):
    return put_letters(store, mails, me=[ME])
