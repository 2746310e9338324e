"""Blocks in flight over real sockets to a real server, with scripted models: the text
is the one that is written in turns, whatever happens on the way."""

import random
import threading
from contextlib import closing
from dataclasses import replace

import pytest

from decoding_core.errors import StoppedError
from decoding_core.messages import OpenSession
from decoding_core.methods import build
from decoding_core.settings import MethodSettings
from edge_app.decoding.events import EventEmitter, Notice, Sent, Settled, Verified
from edge_app.decoding.loop import DecodeLoop
from edge_app.decoding.session import Patience, VerifierSession
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

PRIVATE, PUBLIC, SPECIALIST = (9, 8, 1, 2, 3), (1, 2, 3), 3
FOUR = ["coupled", "lossless", "steering", "speculative"]
PLANS = [(length, window) for window in (1, 2, 4) for length in (2, 5, "auto")]


class Text:
    """A text of the real loop, client and socket."""

    def __init__(self, url, settings, tokens=24):
        self.events, self.stop = [], threading.Event()
        self._verifier = CloudVerifier(url, TOKEN, self.events.append, self.stop)
        self._emitter = EventEmitter(self.events.append, lambda token: b"x")
        session = VerifierSession(
            self._verifier,
            OpenSession(PUBLIC, (), VOCABULARY_ID, settings.terms()),
            self._emitter.notice,
            patience=Patience((0.02,) * 500, 100.0),
            stop=self.stop,
        )
        session.open()
        self.loop = DecodeLoop(
            settings,
            build(settings),
            FakeEngine(SPECIALIST),
            PRIVATE,
            session,
            self._emitter,
            max_tokens=tokens,
            stop=self.stop,
        )

    def write(self, after_block=lambda: None):
        with closing(self._verifier):
            for _ in self.loop.blocks():
                after_block()
        return self.tokens

    @property
    def tokens(self):
        return [(token.id, token.origin) for token in self._emitter.tokens]

    def all(self, kind):
        return [event for event in self.events if isinstance(event, kind)]


def settings_of(method, seed):
    """With a threshold that is learnt, where one is."""
    return MethodSettings(
        method=method,
        temperature=(0.0, 0.8)[seed > 0],
        seed=seed,
        draft_length=5,
        window=1,
        threshold=(0.5, "auto")[seed % 2],
        strength=0.3,
        candidates=40,
    )


@pytest.fixture(scope="module")
def server():
    with running() as server:
        yield server


@pytest.fixture
def relay(server):
    with closing(Relay(int(server.url.rsplit(":", 1)[1]))) as relay:
        yield relay


def check(server, relay, method, seeds, plans, tokens=24):
    """Each plan, and each with connections that are cut, against turns of five."""
    cuts = 0
    for seed in seeds:
        settings = settings_of(method, seed)
        wanted = Text(server.url, settings, tokens).write()
        for length, window in plans:
            planned = replace(settings, draft_length=length, window=window)
            # Terms name the longest draft, so frames differ, and nothing else.
            assert Text(server.url, planned, tokens).write() == wanted
            chance = random.Random(f"{seed} {length} {window}")
            cut = Text(relay.url, planned, tokens)
            found = cut.write(lambda: chance.random() < 0.3 and relay.cut())  # noqa: B023
            assert found == wanted
            assert not cut.all(Notice)
        cuts = relay.cuts
    assert cuts


@pytest.mark.parametrize(
    "method",
    [FOUR[1], *(pytest.param(m, marks=pytest.mark.slow) for m in FOUR if m != FOUR[1])],
)
def test_every_window_and_length_writes_one_text(method, server, relay):
    """One seed at temperature 0.8, with and without dropped connections; 200 seeds are
    the slow test's."""
    check(server, relay, method, [1], [(2, 4), (5, 2), ("auto", "auto")])


@pytest.mark.slow
@pytest.mark.parametrize("method", FOUR)
def test_every_window_and_length_writes_one_text_of_two_hundred_seeds(
    method, server, relay
):
    """Windows 1, 2 and 4, draft lengths 2, 5 and auto."""
    check(server, relay, method, range(200), PLANS, 16)


class Background:
    """A text that is written in a thread, while a server's model is held back."""

    def __init__(self, text):
        self.text, self.error = text, None
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self):
        try:
            self.text.write()
        except StoppedError as error:
            self.error = error

    def join(self):
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


def held_back(models):
    """A server whose generalist waits before its first block."""
    models.generalist.gate.clear()
    return running(lambda: models)


IN_FLIGHT = replace(settings_of("steering", 1), draft_length=2, window=2, threshold=0.0)


def test_a_stop_with_two_blocks_out_ends_the_text_at_once(server):
    """What is settled stays, what was out is not waited for, and the session is ended
    with the word that it is done."""
    wanted = Text(server.url, IN_FLIGHT).write()
    models = fake_models()
    with held_back(models) as slow:
        models.generalist.gate.set()
        text = Text(slow.url, IN_FLIGHT)
        blocks = text.loop.blocks()
        next(blocks)
        models.generalist.gate.clear()
        models.generalist.entered.clear()
        writing = Background(text)
        wait_until(lambda: len(slow.service.running) == 2)
        text.stop.set()
        writing.join()
        models.generalist.gate.set()
    assert isinstance(writing.error, StoppedError)
    settled = [token for event in text.all(Settled) for token in event.tokens]
    assert [(token.id, token.origin) for token in settled] == text.tokens
    assert text.tokens == wanted[: len(text.tokens)]
    assert 0 < len(text.tokens) < len(wanted)
    assert text.all(Sent)[-1].what in ("end", "close")


def test_a_server_that_dies_with_two_blocks_out_is_no_loss(server):
    """Another takes its place; both blocks are sent to that one, once each in the
    text, and nobody is told."""
    wanted = Text(server.url, IN_FLIGHT).write()
    models = fake_models()
    with held_back(models) as dying, running() as other:
        relay = Relay(int(dying.url.rsplit(":", 1)[1]))
        text = Text(relay.url, IN_FLIGHT)
        writing = Background(text)
        wait_until(lambda: len(dying.service.running) == 2)
        relay.port = int(other.url.rsplit(":", 1)[1])
        relay.cut()
        writing.join()
        relay.close()
        models.generalist.gate.set()
    assert writing.error is None
    assert text.tokens == wanted
    assert not text.all(Notice)
    verified = text.all(Verified)
    drafted = sum(event.accepted for event in verified)
    assert drafted == sum(origin == "accepted" for _, origin in wanted)


def test_a_context_that_fills_up_with_blocks_out_holds_all_that_fits():
    """The server's models have room for 37 tokens of text; it ends there at every
    window and length, and is the same."""
    found = []
    with running(lambda: fake_models(context_length=len(PUBLIC) + 37)) as small:
        for length, window in ((3, 1), (3, 4), ("auto", 2)):
            settings = replace(IN_FLIGHT, draft_length=length, window=window)
            text = Text(small.url, settings, 60)
            found.append(text.write())
            assert text.loop.ended == "full"
    assert found[0] == found[1] == found[2]
    assert 37 <= len(found[0]) <= 38
