"""Texts that go on from what stands, and answers to received letters, with the real
specialist on this device alone."""

import threading
from dataclasses import replace

import pytest

from edge_app.decoding.events import Given, Settled
from edge_app.service.answering import notes_on
from edge_app.service.requests import WriteRequest
from edge_app.service.service import WritingService
from models.prompts import Request
from personal_store import Store, import_source
from tests.mailboxes import ME, mailbox, message

ASKED = WriteRequest(
    Request("Thank Ana for the photos.", recipient="Ana"), max_tokens=40, offline=True
)


@pytest.fixture
def service(config, tmp_path):
    """A store with a thread of three mails and one beside it."""
    anna, answer = "Anna <anna@example.org>", "References: <1@example.com>"
    mails = [
        message(
            "Shall we meet at the harbour on Monday?", sender=anna, to=ME, number=1
        ),
        message("Yes, gladly, and I bring the lamp.", number=2, headers=answer),
        message(
            "Then at nine, by the boats.", sender=anna, to=ME, number=3, headers=answer
        ),
        message("The tea was cold and good.", number=4),
    ]
    path = tmp_path / "letters.mbox"
    path.write_bytes(mailbox(mails))
    config = replace(config, store=tmp_path / "mail.db", server="")
    with Store.open(config.store) as store:
        import_source(store, "mbox", path, me=[ME])
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
        notes = notes_on(store, found.record_id)
        assert notes.index("Shall we meet") < notes.index("You wrote before:\nYes")
        assert notes.endswith("Then at nine, by the boats.")
        assert notes_on(store, 999) == ""
        assert store.thread(999) == []
