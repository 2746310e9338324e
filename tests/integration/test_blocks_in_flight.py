"""Blocks in flight over real sockets to a real server, with scripted models: a stop,
and a server that dies."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from decoding_core.errors import StoppedError
from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Notice, Sent, Settled, Verified
from edge_app.decoding.session import Patience
from edge_app.transport.client import CloudVerifier
from tests.cloud_api.cloud_fakes import (
    TOKEN,
    VOCABULARY_ID,
    FakeEngine,
    fake_models,
    running,
)
from tests.relay import Relay
from tests.waiting import PATIENCE, wait_until
from tests.writing import Writing

PRIVATE, PUBLIC, SPECIALIST = (9, 8, 1, 2, 3), (1, 2, 3), 3


class Text(Writing):
    """A text of the real loop, client and socket."""

    def __init__(self, url, settings, tokens=24):
        events, stop = [], threading.Event()
        self.verifier = CloudVerifier(url, TOKEN, events.append, stop)
        super().__init__(
            *(settings, FakeEngine(SPECIALIST), self.verifier, tokens, ()),
            prompts=(PRIVATE, PUBLIC),
            vocabulary_id=VOCABULARY_ID,
            events=events,
            patience=Patience((0.02,) * 500, 100.0),
            stop=stop,
        )

    def write(self):
        with closing(self.verifier):
            self.run()
        return self.text


IN_FLIGHT = MethodSettings(
    method="steering",
    temperature=0.8,
    seed=1,
    draft_length=2,
    window=2,
    threshold=0.0,
    strength=0.3,
    candidates=40,
)


@pytest.fixture(scope="module")
def server():
    with running() as server:
        yield server


def held_back(models):
    """A server whose generalist waits before its first block."""
    models.generalist.gate.clear()
    return running(lambda: models)


def test_a_stop_with_two_blocks_out_ends_the_text_at_once(server):
    """What is settled stays, what was out is not waited for, and the session is ended
    with the word that it is done."""
    wanted = Text(server.url, IN_FLIGHT).write()
    models = fake_models()
    with ThreadPoolExecutor() as pool, held_back(models) as slow:
        models.generalist.gate.set()
        text = Text(slow.url, IN_FLIGHT)
        blocks = text.loop.blocks()
        next(blocks)
        models.generalist.gate.clear()
        models.generalist.entered.clear()
        writing = pool.submit(text.write)
        wait_until(lambda: len(slow.service.running) == 2)
        text.stop.set()
        with pytest.raises(StoppedError):
            writing.result(PATIENCE)
        models.generalist.gate.set()
    settled = [token for event in text.all(Settled) for token in event.tokens]
    assert settled == text.emitter.tokens
    assert text.text == wanted[: len(text.text)]
    assert 0 < len(text.text) < len(wanted)
    assert text.all(Sent)[-1].what in ("end", "close")


def test_a_server_that_dies_with_two_blocks_out_is_no_loss(server):
    """Another takes its place; both blocks are sent to that one, once each in the
    text, and nobody is told."""
    wanted = Text(server.url, IN_FLIGHT).write()
    models = fake_models()
    with ThreadPoolExecutor() as pool, held_back(models) as dying, running() as other:
        relay = Relay(int(dying.url.rsplit(":", 1)[1]))
        text = Text(relay.url, IN_FLIGHT)
        writing = pool.submit(text.write)
        wait_until(lambda: len(dying.service.running) == 2)
        relay.port = int(other.url.rsplit(":", 1)[1])
        relay.cut()
        assert writing.result(PATIENCE) == wanted
        relay.close()
        models.generalist.gate.set()
    assert not text.all(Notice)
    verified = text.all(Verified)
    drafted = sum(event.accepted for event in verified)
    assert drafted == sum(origin == "accepted" for _, origin in wanted)
