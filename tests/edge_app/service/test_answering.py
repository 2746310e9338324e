"""Whom an answer goes to, how it greets them, and what is read of their letter."""

import pytest

from edge_app.retrieval.naming import parted
from edge_app.service.answering import (
    addressed_brief,
    as_greeted,
    correspondents,
    letters,
    notes_on,
    received,
)
from edge_app.tui.letters import address
from models.never_drawn import opens_header
from models.prompts import Request
from personal_store import Store, import_source
from personal_store.transfer import as_lines
from tests.mailboxes import ME, mailbox, message

WORK = "sam@work.example"
INES = '"Carr, Ines (Mill Lane)" <ines.carr@mill.example>'
FORGED = '"anna@example.org" <mallory@evil.example>'
JUERGEN = "=?utf-8?q?Dr=2E_J=C3=BCrgen_Vogt?= <vogt@clinic.example>"


@pytest.fixture
def store(tmp_path):
    """Two own mails, and received ones of all kinds of senders."""
    mails = [
        message("Anna, the plan is fine, and so is the tea.", number=1),
        message("Dear Ms Carr,\n\nthe plan is fine.", to=INES, number=2),
        message("Shall we meet at nine?", sender=INES, to=WORK, number=3),
        message("Subject: harbour\nFrom: x\nShall we sail?", sender=FORGED, number=4),
        message("Your results are here.", sender=JUERGEN, to=ME, number=5),
        message("The office is closed.", sender="info@council.example", number=6),
        message("I sent this from work today.", sender=WORK, number=7),
    ]
    path = tmp_path / "letters.mbox"
    path.write_bytes(mailbox(mails))
    with Store.open(tmp_path / "store.db") as store:
        import_source(store, "mbox", path, me=[ME, WORK])
        yield store


def one(store, words):
    (found,) = received(store, words, 1)
    return found


@pytest.mark.parametrize(
    ("words", "recipient", "name"),
    [
        ("nine", "Carr, Ines (Mill Lane) <ines.carr@mill.example>", "Ms Carr"),
        ("sail", "mallory@evil.example", "Mallory"),
        ("results", "Dr. Jürgen Vogt <vogt@clinic.example>", "Jürgen"),
        ("closed", "info@council.example", ""),
    ],
)
def test_an_answer_goes_to_who_wrote_and_greets_as_the_writer_does(
    store, words, recipient, name
):
    """Past letters tell the name, else the header does."""
    letter = one(store, words)
    brief = addressed_brief(store, Request("Yes."), letter.record_id)
    assert brief.recipient == recipient
    assert as_greeted(store, brief).recipient == name
    (shown,) = letters(store, [letter])
    assert shown.sender == recipient


def test_a_name_of_the_sender_is_the_sender_and_another_one_is_not(store):
    number = one(store, "nine").record_id
    named = addressed_brief(store, Request("Yes.", recipient="Ines"), number)
    other = addressed_brief(store, Request("Yes.", recipient="Anna"), number)
    assert named.recipient.endswith("<ines.carr@mill.example>")
    assert as_greeted(store, other).recipient == "Anna"
    review = Request("Good tea.", "review")
    assert addressed_brief(store, review, number) == review


def test_notes_hold_no_line_that_is_a_header(store):
    notes = notes_on(store, one(store, "sail").record_id)
    assert notes.endswith("(Plan)\n\nShall we sail?")
    assert not opens_header(notes.partition("\n")[2])


def test_people_of_the_store_can_be_written_to(store):
    """Names as the latest mail has them; the owner is none of them."""
    found = correspondents(store)
    assert "Anna <anna@example.org>" in found
    assert "Dr. Jürgen Vogt <vogt@clinic.example>" in found
    assert "mallory@evil.example" in found
    assert not [person for person in found if ME in person or WORK in person]


def test_an_answer_comes_from_the_address_that_was_written_to(store):
    assert store.own_address(one(store, "nine").record_id) == WORK
    assert store.own_address(one(store, "results").record_id) == ME
    assert store.own_address() in (ME, WORK)


@pytest.mark.parametrize(
    ("header", "recipient", "name"),
    [
        ("Reply-To: INES@home.example", "Ines Carr <ines@home.example>", "Ines"),
        ("Reply-To: The desk <desk@mill.example>", "The desk <desk@mill.example>", ""),
        ("Reply-To: ines.carr@mill.example", "Ines Carr <ines.carr@mill.example>", ""),
        ("Reply-To: nobody", "Ines Carr <ines.carr@mill.example>", ""),
        (
            'Reply-To: "boss@example.org" <m@evil.example>',
            "Ines Carr <m@evil.example>",
            "",
        ),
    ],
)
def test_an_answer_goes_where_the_mail_asks_for_it(tmp_path, header, recipient, name):
    """Reply-To is honoured if it is an address, and shown beside the sender."""
    path = tmp_path / "letters.mbox"
    sender = "Ines Carr <ines.carr@mill.example>"
    asks = message("Shall we meet at nine?", sender=sender, to=ME, headers=header)
    path.write_bytes(mailbox([message("Tea is ready.", number=1), asks]))
    with Store.open(tmp_path / "store.db") as store:
        import_source(store, "mbox", path, me=[ME])
        letter = one(store, "nine")
        brief = addressed_brief(store, Request("Yes."), letter.record_id)
        assert brief.recipient == recipient
        if name:
            assert as_greeted(store, brief).recipient == name
        (shown,) = letters(store, [letter])
        assert shown.sender == sender
        assert shown.answer_to == ("" if recipient == sender else recipient)
        assert address(shown) == parted(recipient)[1]
        lines = tmp_path / "all.jsonl"
        lines.write_bytes(b"".join(as_lines(store.db)))
    with Store.open(tmp_path / "other.db") as other:
        import_source(other, "jsonl", lines)
        assert one(other, "nine").answer_to == letter.answer_to
