"""The device and a server process, as a person runs them."""

import threading

import pytest

from decoding_core.methods import build
from decoding_core.settings import MethodSettings
from decoding_core.verifier import EngineVerifier
from edge_app.decoding.events import (
    Notice,
    Settled,
)
from edge_app.service.requests import ServiceConfig, WriteRequest
from edge_app.service.service import WritingService
from edge_app.service.text_job import TextJob
from models.engines.llama_cpp import LlamaContext, LlamaModel
from models.files import locate
from models.prompts import Request
from models.running.settings import EngineSettings
from tests.edge_app.decoding.losing_server import Hurried

PLAIN = EngineSettings(extra_buffers=False)


def service_config(tmp_path, server, token=None):
    return ServiceConfig(
        locate("specialist"),
        locate("generalist"),
        tmp_path / "store.db",
        tmp_path / "ledger.jsonl",
        server.url if server else "",
        token or (server.token if server else ""),
        PLAIN,
        token_in_clear=True,
    )


@pytest.fixture
def service(tmp_path, server):
    service = WritingService(service_config(tmp_path, server))
    yield service
    service.close()


def write_request(max_tokens=40, **options):
    settings = {"threshold": 0.3, **options}
    return WriteRequest(
        Request("Thank Ana for the photos.", recipient="Ana"),
        settings=MethodSettings(**settings),
        max_tokens=max_tokens,
    )


def ids_of(events):
    return [t.id for e in events if isinstance(e, Settled) for t in e.tokens]


def write(service, wanted, stop=None):
    events = []
    service.write(wanted, events.append, stop or threading.Event())
    return events


@pytest.fixture(scope="module")
def in_process():
    """The specialist's model, and contexts: generalist, base, specialist."""
    models = [LlamaModel(locate(role), PLAIN) for role in ("generalist", "specialist")]
    contexts = [LlamaContext(model) for model in (*models, models[1])]
    yield models[1], contexts
    for part in (*contexts, *models):
        part.close()


@pytest.mark.parametrize(
    "method",
    [
        "steering",
        pytest.param("coupled", marks=pytest.mark.slow),
        pytest.param("generalist", marks=pytest.mark.slow),
    ],
)
def test_the_socket_changes_no_token(service, in_process, method):
    """At temperature 0 the server gives what the in-process verifier gives."""
    wanted = write_request(method=method)
    over_socket = write(service, wanted)
    model, contexts = in_process
    for context in contexts:
        context.sequence().rollback(0)
    verifier = EngineVerifier(contexts[0].sequence(), contexts[1].sequence())
    events = []
    method = build(wanted.settings)
    job = TextJob(model, contexts[2], wanted, method, events.append, threading.Event())
    job.run(verifier, [])
    assert ids_of(over_socket) == ids_of(events)


def test_a_server_of_ours_that_died_is_not_waited_for(tmp_path):
    """Nobody starts it again before the next text."""
    service, events, stop = (
        WritingService(service_config(tmp_path, None)),
        [],
        Hurried(),
    )

    def emit(event):
        events.append(event)
        if isinstance(event, Settled) and not service._child.ended:
            service._child._process.kill()
            service._child._process.wait()

    service.write(write_request(max_tokens=12, draft_length=2), emit, stop)
    service.close()
    origins = [t.origin for e in events if isinstance(e, Settled) for t in e.tokens]
    assert origins[0] != "local" == origins[-1]
    assert stop.waits == []


@pytest.mark.slow
def test_one_server_serves_many_texts_and_ends_with_the_service(tmp_path):
    """It is started once, started again when it has died, and never left behind."""
    service = WritingService(service_config(tmp_path, None))
    service.prepare()
    first = service._child._process
    write(service, write_request(max_tokens=5))
    write(service, write_request(max_tokens=5))
    assert service._child._process is first
    first.kill()
    first.wait()
    events = write(service, write_request(max_tokens=5))
    assert not any(isinstance(event, Notice) for event in events)
    second = service._child._process
    service.close()
    assert second.poll() is not None
