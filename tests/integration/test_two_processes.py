"""The device and a server process, as a person runs them."""

import threading

import pytest

from decoding_core.settings import MethodSettings
from edge_app.decoding.events import (
    Notice,
    Settled,
)
from edge_app.service.requests import ServiceConfig, WriteRequest
from edge_app.service.service import WritingService
from models.files import locate
from models.prompts import Request
from models.running.settings import EngineSettings
from tests.edge_app.decoding.losing_server import Hurried


@pytest.fixture
def service(tmp_path):
    """One that starts its own server."""
    paths = tmp_path / "store.db", tmp_path / "ledger.jsonl"
    models = locate("specialist"), locate("generalist")
    plain = EngineSettings(extra_buffers=False)
    service = WritingService(ServiceConfig(*models, *paths, engine=plain))
    yield service
    service.close()


def write(service, max_tokens, emit, stop=None, **options):
    wanted = WriteRequest(
        Request("Thank Ana for the photos.", recipient="Ana"),
        settings=MethodSettings(threshold=0.3, **options),
        max_tokens=max_tokens,
    )
    service.write(wanted, emit, stop or threading.Event())


def test_a_server_of_ours_that_died_is_not_waited_for(service):
    """Nobody starts it again before the next text."""
    events, stop = [], Hurried()

    def emit(event):
        events.append(event)
        if isinstance(event, Settled) and not service._child.ended:
            service._child._process.kill()
            service._child._process.wait()

    write(service, 12, emit, stop, draft_length=2)
    origins = [t.origin for e in events if isinstance(e, Settled) for t in e.tokens]
    assert origins[0] != "local" == origins[-1]
    assert stop.waits == []


@pytest.mark.slow
def test_one_server_serves_many_texts_and_ends_with_the_service(service):
    """It is started once, started again when it has died, and never left behind."""
    service.prepare()
    first, events = service._child._process, []
    write(service, 5, events.append)
    write(service, 5, events.append)
    assert service._child._process is first
    first.kill()
    first.wait()
    write(service, 5, events.append)
    assert not any(isinstance(event, Notice) for event in events)
    second = service._child._process
    service.close()
    assert second.poll() is not None
