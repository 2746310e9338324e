"""The embedded pair over a real server that is restarted, evicts, expires and loses its
sockets: the text is the one of a quiet day, bit for bit."""

import json
import os
import random
import signal
import threading
from contextlib import closing, contextmanager
from functools import partial

import httpx
import pytest
from websockets.sync.client import connect

from decoding_core.messages import VERSION, DraftBlock, Verdict, digest
from decoding_core.settings import MethodSettings, Terms
from decoding_core.verifier import role_of
from edge_app.config.settings import PrivacyLimits
from edge_app.decoding.events import Sent, emit_to
from edge_app.decoding.session import Patience
from edge_app.decoding.two_vocabularies import AnyVocabulary
from edge_app.privacy.budget import Account, CountingVerifier
from edge_app.transport.client import CloudVerifier
from models.engines.llama_cpp import LlamaContext
from models.prompts import public_messages
from models.running.interface import bytes_of
from tests.fakes import HashEngine
from tests.integration.test_shared_noise import REQUEST, prompts
from tests.relay import Relay
from tests.vllm_server import TOKEN, Gateway
from tests.waiting import PATIENCE
from tests.writing import Writing

LOSSES = ("restart", "kill", "expire", "evict", "drop")
UNSEEN = ("evict", "drop")
"""The server still has the session after these."""
OTHER_MODEL = os.environ.get("SPECSTEER_SMOLLM2", "")


class Server(Gateway):
    """A server with room for one text, that can lose things."""

    def __init__(self, *options):
        super().__init__("--sessions", "1", *options)

    in_bytes = False
    """Whether the specialist's tokens are not its own."""

    def forget(self, session_id):
        """As an idle session is forgotten."""
        self._ask("DELETE", f"/v1/sessions/{session_id}")

    def push_out(self, request):
        """Let another text sit in the only slot."""
        body = {"version": VERSION, "prompt_ids": [5, 6, 7], "text_ids": []}
        body |= {"vocabulary_id": request.vocabulary_id}
        body |= {"terms": {**TERMS, "draft_limit": 1}}
        session = self._ask("POST", "/v1/sessions", body)["session_id"]
        frames = role_of(Terms(**TERMS, draft_limit=1)).frames
        url = f"{self.url.replace('http', 'ws')}/v1/sessions/{session}/stream"
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with connect(url, additional_headers=headers, compression=None) as socket:
            block = DraftBlock(0, 0, 0, digest(()), (), (9,), 0.5)
            socket.send(frames.encode_block(block))
            assert isinstance(frames.decode_answer(socket.recv()), Verdict)

    def _ask(self, method, path, body=None):
        headers = {"Authorization": f"Bearer {TOKEN}"}
        told = {"json": body, "headers": headers, "timeout": PATIENCE}
        answer = httpx.request(method, self.url + path, **told)
        assert answer.is_success
        return answer.json() if answer.content else {}


TERMS = {
    "method": "steering",
    "rule": "greedy",
    "temperature": 0,
    "seed": 0,
    "candidates": 3,
    "candidate_rule": "generalist",
    "strength": 1,
    "base": "cloud",
    "bonus": False,
}


@pytest.fixture(scope="module")
def server():
    server = Server()
    yield server
    server.end()


class Text(Writing):
    """One text of the real loop and client, with losses before the blocks of these
    numbers."""

    def __init__(
        self, server, relay, specialist, context, settings, losses, tokens, account=None
    ):
        events, losses = [], dict(losses)
        self._server, self._relay = server, relay
        cloud = verifier = CloudVerifier(relay.url, TOKEN, events.append)
        if server.in_bytes:
            base = context.sequence(1)
            base.rollback(0)
            own = partial(bytes_of, specialist)
            messages = [(one.role, one.content) for one in public_messages(REQUEST)]
            verifier = AnyVocabulary(cloud, own, messages, lambda: base)
        if account is not None:
            verifier = CountingVerifier(cloud, account)
            cloud.attach(emit_to(verifier.hear, events.append), threading.Event())
        engine = context.sequence()
        engine.rollback(0)
        super().__init__(
            *(settings, engine, verifier, tokens, ()),
            prompts=prompts(specialist),
            vocabulary_id=specialist.vocabulary_id,
            piece=specialist.vocabulary.piece,
            weighs=False,
            account=account,
            events=events,
            patience=Patience((0.05,) * 2000, 1000.0),
        )
        self.rounds = self.lost = 0
        for _ in self.loop.blocks():
            self.rounds += 1
            if kind := losses.pop(self.rounds, None):
                self._lose(kind, cloud)
        self.session.close()
        assert not losses, "losses after the end of the text"
        # That a slow machine is waited for is no loss.
        self.told = [one for one in self.notices if "it is waited for" not in one]
        openings = [e for e in self.all(Sent) if e.what == "open" and e.payload]
        bodies = [json.loads(event.payload) for event in openings]
        self.openings = [tuple(body["text_ids"]) for body in bodies]
        text = specialist.vocabulary.piece
        self.whole = self.ids if not server.in_bytes else b"".join(map(text, self.ids))

    def _lose(self, kind, verifier):
        self.lost += kind not in UNSEEN
        if kind in ("restart", "kill"):
            self._server.end(signal.SIGTERM if kind == "restart" else signal.SIGKILL)
            self._server.start()
        elif kind == "expire":
            self._server.forget(verifier._session_id)
        elif kind == "evict":
            self._server.push_out(self.request)
        else:
            assert self._relay.cut()


@contextmanager
def texts(server, specialist):
    with (
        closing(Relay(server.port)) as relay,
        closing(LlamaContext(specialist, 1 + server.in_bytes, 1024)) as context,
    ):

        def write(settings, losses, tokens, account=None):
            parts = server, relay, specialist, context
            return Text(*parts, settings, losses, tokens, account)

        yield write


def check(write, method, seed, tokens, count, window=None, losses=LOSSES):
    """A disturbed text against the undisturbed one."""
    settings = MethodSettings(
        method=method,
        temperature=0.7 * (seed > 0),
        seed=seed,
        draft_length=(4, 8)[tokens > 100],
        window=window or (4, 1, 2)[seed % 3],
    )
    quiet = write(settings, {}, tokens)
    chance = random.Random(seed)
    places = chance.sample(range(1, quiet.rounds), count)
    kinds = [losses[(seed + i) % len(losses)] for i in range(count)]
    disturbed = write(settings, dict(zip(places, kinds, strict=True)), tokens)
    assert disturbed.text == quiet.text
    assert not disturbed.told
    whole = tuple(quiet.whole)
    # One that comes while the models are loading is sent again.
    openings = set(disturbed.openings)
    assert (len(openings) > 1) == (disturbed.lost > 0)
    assert len(openings) <= 1 + disturbed.lost  # two losses may meet the same text
    assert all(text == whole[: len(text)] for text in openings)


def test_losses_do_not_show(server, specialist):
    """One loss of each kind that leaves the process; the slow test has more of all."""
    with texts(server, specialist) as write:
        check(write, "steering", 2, 16, 3)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["steering", "lossless", "coupled", "speculative"])
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_fifteen_losses_do_not_show_in_three_hundred_tokens(
    method, seed, server, specialist
):
    """At temperature 0 and at 0.7."""
    with texts(server, specialist) as write:
        check(write, method, seed, 300, 15)


@pytest.fixture(scope="module")
def stranger():
    server = Server("--generalist", OTHER_MODEL, "--exact", "--threads", "1")
    server.in_bytes = True
    yield server
    server.end()


@pytest.mark.slow
@pytest.mark.skipif(not OTHER_MODEL, reason="SPECSTEER_SMOLLM2")
@pytest.mark.parametrize("method", ["steering", "lossless", "coupled", "speculative"])
@pytest.mark.parametrize("window", [1, 2, 4])
def test_losses_do_not_show_beside_another_vocabulary(
    method, window, stranger, specialist
):
    """At temperature 0 and at 0.7; another text in the slot would be one in tokens."""
    losses = [kind for kind in LOSSES if kind != "evict"]
    with texts(stranger, specialist) as write:
        for seed in range(12):
            check(write, method, seed, 24, 2, window, losses)


class Noting(Account):
    """Keeps what each draw for a place told, draw by draw."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.drafts, self.redraws = {}, {}

    def _drawn(self, index, token):
        asked = self._asked
        super()._drawn(index, token)
        if asked.epoch < 0:
            self.redraws[asked.place] = token, asked.nats
        else:
            self.drafts[asked.epoch, asked.place] = token, asked.nats


@pytest.mark.slow
@pytest.mark.parametrize("method", ["steering", "rejection"])
@pytest.mark.parametrize("seed", [1, 2])
def test_what_left_through_a_real_socket_is_counted_once(
    method, seed, server, specialist
):
    """A server that is killed, restarts, evicts and expires, and a line that breaks:
    the blocks in the bytes that were handed to the socket name every draw by its epoch
    and place. The base is scripted: what a draw tells is another matter."""
    settings = MethodSettings(
        method=method, temperature=0.7, seed=seed, draft_length=4, window=2
    )
    base = HashEngine("base", specialist.vocabulary_size)
    limits = PrivacyLimits(text=1e9)
    account = Noting(settings.draw(), base, lambda event: None, limits)
    losses = dict(zip((2, 4, 6, 8, 10), LOSSES, strict=True))
    with texts(server, specialist) as write:
        text = write(settings, losses, 40, account)
    assert not text.told
    frames = role_of(settings.terms()).frames
    left, settled = set(), {}
    for event in text.events:
        if isinstance(event, Sent) and event.what == "open" and event.payload:
            settled.update(enumerate(json.loads(event.payload)["text_ids"]))
        if isinstance(event, Sent) and event.what == "block":
            block = frames.decode_block(event.payload)
            settled.update(enumerate(block.settled, block.position))
            first = block.position + len(block.settled)
            for place, token in enumerate(block.drafted, first):
                assert account.drafts[block.epoch, place][0] == token
                left.add((block.epoch, place))
    redrawn = [place for place in account.redraws if place in settled]
    assert all(settled[place] == account.redraws[place][0] for place in redrawn)
    assert len(text.events) > len(left) > 40
    assert account.tokens == len(left) + len(redrawn)
    told = [account.drafts[key][1] for key in left]
    told += [account.redraws[place][1] for place in redrawn]
    assert account.total == pytest.approx(sum(told))
