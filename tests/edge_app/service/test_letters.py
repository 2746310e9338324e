"""Whom an answer goes to, how it greets them, what is read of their letter, and texts
that go on from what stands, with the real specialist on this device alone."""

import threading
from dataclasses import replace

import pytest

from edge_app.config.settings import Settings
from edge_app.decoding.events import Given, Settled
from edge_app.retrieval.naming import parted
from edge_app.service import answering
from edge_app.service.requests import WriteRequest
from edge_app.service.service import WritingService
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


def filled(path, mails, *own):
    """A store at a path with these mails."""
    path.with_suffix(".mbox").write_bytes(mailbox(mails))
    store = Store.open(path)
    import_source(store, "mbox", path.with_suffix(".mbox"), me=own)
    return store


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
    with filled(tmp_path / "store.db", mails, ME, WORK) as store:
        yield store


def test_an_answer_is_checked_against_its_thread(store):
    """The letter and its sender are sources as the person's own addresses are; its
    questions are answered or not."""
    answers = WriteRequest(Request("yes"), reply_to=one(store, "nine").record_id)
    checker = answering.checker_of(store, answers, [])
    said = checker.check(f"Dear Ms Carr, yes, at nine, from {WORK}, or at ten.")
    told = ["not from you: ten", "answered: Shall we meet at nine?"]
    assert said.in_words(answered=True) == told
    said = checker.check("Dear Ms Carr").in_words()
    assert said == ["missing: yes", "not answered: Shall we meet at nine?"]


def one(store, words):
    (found,) = answering.received(store, words, 1)
    return found


def test_mails_that_no_own_mail_answers_wait(tmp_path):
    """One is answered by name, one by a later mail of its thread, as a mail before it
    answers nothing; those by people one writes to come first."""
    days = [f"Tue, {day} Mar 2024 11:02:03 +0100" for day in range(10, 18)]

    def mail(number, day, *, answers=None, thread=None, **more):
        headers = f"In-Reply-To: <{answers}@example.com>\n" if answers else ""
        headers += f"References: <{thread}@example.com>" if thread else ""
        text = f"This is mail number {number}, as you know."
        return message(text, number=number, date=days[day], headers=headers, **more)

    theirs = {"sender": JUERGEN, "to": ME}
    mails = [
        mail(1, 0, **theirs),
        mail(2, 1, to=JUERGEN, answers=1),
        mail(3, 2, **theirs),
        mail(4, 3, to=JUERGEN, thread=3),
        mail(5, 4, thread=3, **theirs),
        mail(6, 7, sender="news@shop.example", to=ME),
    ]
    with filled(tmp_path / "store.db", mails, ME) as store:
        waiting = [one.text for one in store.waiting(9)]
        assert [text[20] for text in waiting] == ["5", "6"]
        assert [one.text for one in store.waiting(1)] == waiting[:1]
        listed = answering.received(store, "", 9)
        assert [one.text[20] for one in listed] == ["5", "6", "3", "1"]


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
    brief = answering.addressed_brief(store, Request("Yes."), letter.record_id)
    assert brief.recipient == recipient
    assert answering.as_greeted(store, brief).recipient == name
    (shown,) = answering.letters(store, [letter])
    assert shown.sender == recipient


def test_a_name_of_the_sender_is_the_sender_and_another_one_is_not(store):
    number = one(store, "nine").record_id
    named = answering.addressed_brief(store, Request("Yes.", recipient="Ines"), number)
    other = answering.addressed_brief(store, Request("Yes.", recipient="Anna"), number)
    assert named.recipient.endswith("<ines.carr@mill.example>")
    assert answering.as_greeted(store, other).recipient == "Anna"
    review = Request("Good tea.", "review")
    assert answering.addressed_brief(store, review, number) == review


def test_notes_hold_no_line_that_is_a_header(store):
    notes = answering.notes_on(store, one(store, "sail").record_id)
    assert notes.endswith("(Plan)\n\nShall we sail?")
    assert not opens_header(notes.partition("\n")[2])


def test_people_of_the_store_can_be_written_to(store):
    """Names as the latest mail has them; the owner is none of them."""
    found = answering.correspondents(store)
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
    sender = "Ines Carr <ines.carr@mill.example>"
    asks = message("Shall we meet at nine?", sender=sender, to=ME, headers=header)
    mails = [message("Tea is ready.", number=1), asks]
    with filled(tmp_path / "asks.db", mails, ME) as store:
        letter = one(store, "nine")
        brief = answering.addressed_brief(store, Request("Yes."), letter.record_id)
        assert brief.recipient == recipient
        if name:
            assert answering.as_greeted(store, brief).recipient == name
        (shown,) = answering.letters(store, [letter])
        assert shown.sender == sender
        assert shown.answer_to == ("" if recipient == sender else recipient)
        assert address(shown) == parted(recipient)[1]
        lines = tmp_path / "all.jsonl"
        lines.write_bytes(b"".join(as_lines(store.db)))
    with Store.open(tmp_path / "other.db") as other:
        import_source(other, "jsonl", lines)
        assert one(other, "nine").answer_to == letter.answer_to


ASKED = WriteRequest(
    Request("Thank Ana for the photos.", recipient="Ana"), max_tokens=40, offline=True
)


@pytest.fixture
def service(config, tmp_path):
    """A store with a thread of three mails and one beside it."""
    anna, answer = "Anna <anna@example.org>", "References: <1@example.com>"
    hers = {"sender": anna, "to": ME}
    mails = [
        message("Shall we meet at the harbour on Monday?", number=1, **hers),
        message("Yes, gladly, and I bring the lamp.", number=2, headers=answer),
        message("Then at nine, by the boats.", number=3, headers=answer, **hers),
        message("The tea was cold and good.", number=4),
    ]
    config = replace(config, store=tmp_path / "mail.db", settings=Settings())
    filled(config.store, mails, ME).close()
    service = WritingService(config)
    yield service
    service.close()


def written(service, request):
    events = []
    service.write(request, events.append, threading.Event())
    tokens = [t for e in events if isinstance(e, Settled) for t in e.tokens]
    return [token.text for token in tokens], events


def test_a_text_goes_on_and_a_sentence_of_it_is_written_anew(service):
    """It goes on from all that stands; a stretch ends with its sentence."""
    whole, _ = written(service, ASKED)
    text = "".join(whole)
    before = text[: text.index(" ", len(text) // 2)]
    rest, events = written(service, replace(ASKED, before=before))
    assert "".join(rest).strip()
    (given,) = (event for event in events if isinstance(event, Given))
    assert "".join(piece for _, piece in given.texts) == before
    stretch = replace(
        ASKED, before="Dear Ana,\n\n", instead_of="It is late.", behind=" I"
    )
    short, events = written(service, stretch)
    assert "".join(short).rstrip().count(".") <= 1
    assert len(short) <= len(whole)


def test_a_thread_is_found_and_read_as_private_notes(service):
    (found,) = service.search_received("nine boats")
    assert found.title.startswith("email from Anna <anna@example.org>, 2024")
    assert [one.excerpt for one in service.search_received("ANNA")] == [
        one.excerpt for one in service.search_received("")
    ]
    assert len(service.search_received("anna@example")) == 2
    assert service.search_received("nobody of that name") == []
    thread = service.thread(found.record_id)
    assert [one.excerpt.split()[0] for one in thread] == ["Shall", "Yes,", "Then"]
    with Store.open(service._config.store) as store:
        notes = answering.notes_on(store, found.record_id)
        assert notes.index("Shall we meet") < notes.index("You wrote before:\nYes")
        assert notes.endswith("Then at nine, by the boats.")
        assert answering.notes_on(store, 999) == ""
        assert store.thread(999) == []
        # The embedded specialist takes its words for what it is to say.
        answer = replace(ASKED, reply_to=found.record_id, personalisation="bm25")
        assert service._found(store, answer)[0].background == ""
        own = service._config.store.with_name("own.gguf")
        service._config = replace(service._config, specialist=own)
        assert service._found(store, answer)[0].background == notes
