"""Another version of a text, inside the session of the one before: the device reads on
from where the two differ, and asks the server to do so. The specialist is real, the
server scripted; the server's half is told from its own tests."""

import threading

from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Drafted, Finished, Notice, Sent, Settled
from edge_app.privacy.ledger import read_ledger
from edge_app.service.requests import WriteRequest
from edge_app.service.service import WritingService
from models.prompts import Request
from tests.edge_app.service.scripted import HANGING_UP


def write(service, seed, tell=lambda event: None):
    """What was told of one text, to `tell` as it happened."""
    events = []

    def emit(event):
        events.append(event)
        tell(event)

    settings = MethodSettings(temperature=0.8, seed=seed, threshold=0.3)
    brief = Request("Thank Ana for the photos of the pier. " * 4, recipient="Ana")
    request = WriteRequest(brief, settings=settings, max_tokens=12)
    service.write(request, emit, threading.Event())
    assert isinstance(events[-1], Finished)
    assert not [event for event in events if isinstance(event, Notice)]
    return events


def tokens_of(events):
    return [t.id for e in events if isinstance(e, Settled) for t in e.tokens]


def test_another_version_reads_on_inside_the_open_session(config, connections, read):
    """Fewer than 32 tokens before its first draft; and it is the text that it would be
    in a session of its own."""
    service, before = WritingService(config), []

    def note(event):
        if isinstance(event, Drafted):
            before.append(sum(read))

    first = write(service, 1, note)
    assert before[0] > 100
    read.clear()
    before.clear()
    second = write(service, 2, note)
    assert before[0] < 32
    service.close()
    (connection,) = connections
    begun = [
        ("hello", "GET", "/healthz"),
        ("open", "POST", "/v1/sessions"),
        ("open", "PUT", "/v1/sessions/session-1"),
    ]
    assert connection.asked == begun
    alone = WritingService(config)
    assert tokens_of(write(alone, 2)) == tokens_of(second) != tokens_of(first)
    alone.close()


def test_a_session_that_was_forgotten_between_two_texts_is_opened_anew(
    config, connections
):
    """The server may forget it; the person is told nothing."""
    service = WritingService(config)
    write(service, 1)
    connections[0].sessions.clear()
    write(service, 2)
    service.close()
    methods = [method for _, method, _ in connections[0].asked]
    assert methods == ["GET", "POST", "PUT", "POST"]


def test_the_session_ends_when_the_service_closes(config, connections):
    """By closing the stream in order, with no DELETE; the ledger holds those bytes
    too, after all of the texts."""
    service = WritingService(config)
    told = [e for seed in (1, 2) for e in write(service, seed) if isinstance(e, Sent)]
    assert "end" not in {event.what for event in told}
    service.close()
    entries = list(read_ledger(config.ledger))
    assert [entry.what for entry in entries] == [*(e.what for e in told), "end"]
    assert entries[-1].size == HANGING_UP
    assert {what for what, *_ in connections[0].asked} == {"hello", "open"}
