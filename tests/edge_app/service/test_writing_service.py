"""Texts of one service: what is read ahead, another version inside the open session,
and a service that is closed while it is busy. The specialist and its store are real,
the server is scripted; the server's half is told from its own tests."""

import threading
from contextlib import closing
from dataclasses import replace

import pytest

from decoding_core.errors import (
    CloudError,
    CloudUnreachableError,
    DecodingError,
    StoppedError,
)
from decoding_core.settings import MethodSettings
from edge_app.config.settings import Settings
from edge_app.decoding.events import Drafted, Finished, Notice, Sent, Settled
from edge_app.privacy.ledger import read_ledger
from edge_app.service import service as service_module
from edge_app.service.requests import WriteRequest
from edge_app.service.service import WritingService
from edge_app.service.text_job import _PIECE, TextJob
from models.engines.llama_cpp import LlamaContext, LlamaModel
from models.prompts import Request
from models.running.settings import EngineSettings
from tests.edge_app.service.scripted import HANGING_UP, URL
from tests.waiting import wait_until

BRIEF = Request("Thank Ana for the photos of the pier. " * 20, recipient="Ana")
SETTINGS = MethodSettings(temperature=0.8, seed=1, threshold=0.3)
REQUEST = WriteRequest(BRIEF, settings=SETTINGS, max_tokens=12)


@pytest.fixture
def service(config):
    service = WritingService(config)
    yield service
    service.close()


def write(service, read, seed=1):
    """The tokens of a text, how many the model read before it drafted, and what was
    sent."""
    read.clear()
    events, before = [], []

    def emit(event):
        if isinstance(event, Drafted) and not before:
            before.append(sum(read))
        events.append(event)

    settings = replace(SETTINGS, seed=seed)
    service.write(replace(REQUEST, settings=settings), emit, threading.Event())
    assert isinstance(events[-1], Finished)
    assert not [event for event in events if isinstance(event, Notice)]
    return (
        tokens_of(events),
        before[0],
        [event for event in events if isinstance(event, Sent)],
    )


def tokens_of(events):
    return [t.id for e in events if isinstance(e, Settled) for t in e.tokens]


def read_ahead(service, request=REQUEST, stop=None):
    service.read_ahead(request, stop or threading.Event())


def test_a_text_that_was_read_ahead_begins_at_once(config, service, connections, read):
    """It is the text that it would have been, no server heard of it before, and the
    ledger holds nothing of it."""
    undisturbed = WritingService(config)
    tokens, alone, _ = write(undisturbed, read)
    undisturbed.close()
    connections.clear()
    config.ledger.unlink()
    service.prepare(offline=True)
    read.clear()
    read_ahead(service)
    assert sum(read) >= alone - 1 > 2 * _PIECE
    assert max(read) <= _PIECE
    assert not connections
    assert not list(read_ledger(config.ledger))
    again, before, _ = write(service, read)
    assert (again, before <= 2) == (tokens, True)


@pytest.mark.parametrize("starts", [True, False])
def test_the_prompt_is_read_while_a_server_starts(
    config, connections, read, monkeypatch, starts
):
    """If it does not start, the text is written without it, and says so."""

    class Child:
        url, token, ended = URL, "", False

        def __init__(self, *_): ...

        def wait(self, _):
            wait_until(lambda: read, "for the specialist")
            if not starts:
                raise CloudUnreachableError("the server ended")

        def close(self): ...

    monkeypatch.setattr(service_module, "ChildServer", Child)
    with closing(WritingService(replace(config, settings=Settings()))) as service:
        events = []
        service.write(REQUEST, events.append, threading.Event())
    said = [event.text for event in events if isinstance(event, Notice)]
    assert said == [
        "the server ended; the text is written on this device alone",
    ] * (not starts)
    assert isinstance(events[-1], Finished)
    assert events[-1].statistics.local == (0 if starts else REQUEST.max_tokens)


def test_stopped_in_the_middle_it_keeps_what_was_read(
    service, connections, read, monkeypatch
):
    """And goes on from there."""
    service.prepare(offline=True)
    stop, evaluate = threading.Event(), LlamaContext.evaluate

    def stopping(self, readings):
        result = evaluate(self, readings)
        stop.set()
        return result

    with monkeypatch.context() as patched:
        patched.setattr(LlamaContext, "evaluate", stopping)
        with pytest.raises(StoppedError):
            read_ahead(service, stop=stop)
    assert service._context.position(0) == _PIECE
    read.clear()
    read_ahead(service)
    assert service._context.position(0) == _PIECE + sum(read) > 2 * _PIECE
    assert write(service, read)[1] <= 2


def test_several_texts_at_once_are_those_of_their_seeds(
    config, service, connections, monkeypatch
):
    """Each has a session of its own, of which all bytes stand in the ledger, and all
    but the first are closed; one that fails ends no other."""
    brief = Request("Thank Ana for the photos.", recipient="Ana")
    requests = replace(REQUEST, brief=brief, max_tokens=6).tries(2)
    run = TextJob.run

    def failing(self, *arguments):
        if self.slot == 1:
            raise CloudError("gone")
        return run(self, *arguments)

    def together():
        heard = [[], []]
        emits = [one.append for one in heard]
        service.write_tries(requests, emits, threading.Event())
        return heard

    heard = together()
    assert all(isinstance(one[-1], Finished) for one in heard)
    opened = [[what for what, *_ in one.asked] for one in connections]
    assert opened == [["hello", "open"], ["open"]]
    sent = sum(e.size for one in heard for e in one if isinstance(e, Sent))
    assert sum(entry.size for entry in read_ledger(config.ledger)) == sent
    several, alone = [tokens_of(one) for one in heard], []
    for request in requests:
        events = []
        service.write(request, events.append, threading.Event())
        alone.append(tokens_of(events))
    assert several == alone
    assert alone[0] != alone[1]
    with monkeypatch.context() as patched:
        patched.setattr(TextJob, "run", failing)
        first, second = together()
    assert tokens_of(first) == alone[0]
    assert second == [Notice("one of 2 drafts was given up: gone")]
    service._config = replace(config, engine=EngineSettings(exact=True))
    assert [tokens_of(one) for one in together()] == alone  # one after the other


def test_nothing_is_read_for_a_method_that_needs_no_history(service, read):
    service.prepare(offline=True)
    read.clear()
    for name in ("generalist", "generalist_with_history", "specialist_without_history"):
        read_ahead(service, replace(REQUEST, settings=replace(SETTINGS, method=name)))
        assert not read


def test_a_session_that_was_forgotten_between_two_texts_is_opened_anew(
    service, connections, read
):
    """The server may forget it; the person is told nothing."""
    write(service, read, 1)
    connections[0].sessions.clear()
    write(service, read, 2)
    service.close()
    methods = [method for _, method, _ in connections[0].asked]
    assert methods == ["GET", "POST", "PUT", "POST"]


def test_the_session_ends_when_the_service_closes(config, service, connections, read):
    """By closing the stream in order, with no DELETE; the ledger holds those bytes
    too, after all of the texts."""
    told = [event.what for seed in (1, 2) for event in write(service, read, seed)[2]]
    assert "end" not in told
    service.close()
    entries = list(read_ledger(config.ledger))
    assert [entry.what for entry in entries] == [*told, "end"]
    assert entries[-1].size == HANGING_UP
    assert {what for what, *_ in connections[0].asked} == {"hello", "open"}


def test_a_service_is_closed_while_its_model_is_held(config, monkeypatch):
    """The child is gone at once; the held thread gives up and frees when it can. A
    closed service begins nothing."""
    loading, gate, outcomes = threading.Event(), threading.Event(), []
    load = LlamaModel.__init__

    def held(self, *arguments):
        loading.set()
        gate.wait()
        load(self, *arguments)

    def prepare():
        try:
            outcomes.append(service.prepare())
        except DecodingError as error:
            outcomes.append(error)

    monkeypatch.setattr(LlamaModel, "__init__", held)
    service = WritingService(replace(config, settings=Settings()))
    thread = threading.Thread(target=prepare)
    thread.start()
    try:
        loading.wait()
        child = service._child
        service.close()
        assert not outcomes
        assert child.ended
    finally:
        gate.set()
        thread.join()
    (outcome,) = outcomes
    assert isinstance(outcome, StoppedError)
    assert service._model is None
    with pytest.raises(StoppedError):
        service.prepare()
    assert service._child is None
