"""What the specialist reads before a text is asked for: it and its store are real, the
server is scripted and must hear nothing of it."""

import threading
from dataclasses import replace

import pytest

from decoding_core.errors import StoppedError
from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Drafted, Finished, Settled
from edge_app.privacy.ledger import read_ledger
from edge_app.service.profiles import Profile, keep_profile, profile_path
from edge_app.service.requests import WriteRequest
from edge_app.service.service import WritingService
from edge_app.service.text_job import _PIECE
from models.engines.llama_cpp import LlamaContext
from models.prompts import Request

BRIEF = Request("Thank Ana for the photos of the pier. " * 20, recipient="Ana")
SETTINGS = MethodSettings(temperature=0.8, seed=1, threshold=0.3)
REQUEST = WriteRequest(BRIEF, settings=SETTINGS, max_tokens=12)


@pytest.fixture
def service(config):
    service = WritingService(config)
    yield service
    service.close()


def write(service, read, request=REQUEST):
    """The tokens of a text, and how many the model read before it drafted."""
    read.clear()
    events, before = [], []

    def emit(event):
        if isinstance(event, Drafted) and not before:
            before.append(sum(read))
        events.append(event)

    service.write(request, emit, threading.Event())
    assert isinstance(events[-1], Finished)
    tokens = [t.id for e in events if isinstance(e, Settled) for t in e.tokens]
    return tokens, before[0]


def test_a_text_that_was_read_ahead_begins_at_once(config, service, connections, read):
    """It is the text that it would have been, no server heard of it before, and the
    ledger holds nothing of it."""
    undisturbed = WritingService(config)
    tokens, alone = write(undisturbed, read)
    undisturbed.close()
    connections.clear()
    config.ledger.unlink()
    service.prepare(offline=True)
    read.clear()
    service.read_ahead(REQUEST, threading.Event())
    assert sum(read) >= alone - 1 > 2 * _PIECE
    assert max(read) <= _PIECE
    assert not connections
    assert not list(read_ledger(config.ledger))
    again, before = write(service, read)
    assert again == tokens
    assert before <= 2


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
            service.read_ahead(REQUEST, stop)
    assert service._context.position(0) == _PIECE
    read.clear()
    service.read_ahead(REQUEST, threading.Event())
    assert service._context.position(0) == _PIECE + sum(read) > 2 * _PIECE
    _, before = write(service, read)
    assert before <= 2


def test_nothing_is_read_for_a_method_that_needs_no_history(service, read):
    service.prepare(offline=True)
    read.clear()
    for name in ("generalist", "generalist_with_history", "specialist_without_history"):
        request = replace(REQUEST, settings=replace(SETTINGS, method=name))
        service.read_ahead(request, threading.Event())
        assert not read


def test_no_profile_is_written_ahead(config, service, read):
    """One that is there is read, with all else."""
    request = replace(REQUEST, personalisation="profile")
    service.prepare(offline=True)
    read.clear()
    service.read_ahead(request, threading.Event())
    path = profile_path(config.store)
    assert not read
    assert not path.exists()
    by, when = str(config.specialist), "2026-01-01T00:00:00"
    keep_profile(path, Profile("Tess is brief.", (1,), 1, by, when))
    service.read_ahead(request, threading.Event())
    assert read
