"""Another version of a text, inside the session of the one before: the device reads on
from where the two differ, and asks the server to do so. The specialist is real, the
server scripted; the server's half is told from its own tests."""

import json
import threading

import pytest

from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Drafted, Finished, Notice, Received, Sent, Settled
from edge_app.privacy.ledger import read_ledger
from edge_app.service.configuration import ServiceConfig
from edge_app.service.requests import WriteRequest
from edge_app.service.service import WritingService
from edge_app.verifiers import cloud
from models.engines.llama_cpp import LlamaContext
from models.files import locate
from models.prompts import Request
from models.running.settings import EngineSettings
from personal_store import Store, import_source
from tests.edge_app.decoding.losing_server import LosingServer
from tests.fakes import HashEngine

URL, OPENING, HANGING_UP = "http://127.0.0.1:1", 900, 8
VOCABULARY = 8192
"""Tokens of the embedded pair."""


class FakeConnection(LosingServer):
    """A connection to one scripted server, that tells what it sends."""

    def __init__(self, url, token, emit, stop, certificate):
        super().__init__({})
        self.models = [HashEngine(name, VOCABULARY) for name in ("large", "base")]
        self.url, self.asked = url, []
        self.attach(emit, stop)

    def attach(self, emit, stop):
        self._emit = emit

    def request(self, what, method, path, body=None, **options):
        self.asked.append((what, method, path))
        answer = super().request(what, method, path, body, **options)
        self._emit(Sent(0.0, self.url, what, OPENING, (), b""))
        self._emit(Received(0.0, what, OPENING))
        return answer

    def disconnect(self):
        connected = self._connected
        if connected:
            self._emit(Sent(0.0, self.url, "end", HANGING_UP, (), b""))
        super().disconnect()
        return connected

    close = end = disconnect


@pytest.fixture
def connections(monkeypatch):
    """Those that the client opened."""
    made = []

    def connect(*arguments):
        made.append(FakeConnection(*arguments))
        return made[-1]

    monkeypatch.setattr(cloud, "Connection", connect)
    return made


@pytest.fixture
def read(monkeypatch):
    """How many tokens the device's model read, call by call."""
    counts, evaluate = [], LlamaContext.evaluate

    def counted(self, readings):
        counts.extend(len(reading.token_ids) for reading in readings)
        return evaluate(self, readings)

    monkeypatch.setattr(LlamaContext, "evaluate", counted)
    return counts


@pytest.fixture
def config(tmp_path):
    letters = tmp_path / "letters.jsonl"
    text = "Hullo Ana, the pier photos came out well; the tea was cold. Best, Tess"
    letters.write_text(json.dumps({"text": text}))
    with Store.open(tmp_path / "store.db") as store:
        import_source(store, "jsonl", letters)
    return ServiceConfig(
        locate("specialist"),
        locate("generalist"),
        tmp_path / "store.db",
        tmp_path / "ledger.jsonl",
        server=URL,
        engine=EngineSettings(extra_buffers=False),
    )


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
