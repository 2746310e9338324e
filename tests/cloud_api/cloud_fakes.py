"""Models whose logits are a function of the tokens before, and a server around them."""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
import sys
import threading
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import httpx
import numpy as np
from websockets.exceptions import InvalidStatus
from websockets.sync import client as websocket

from cloud_api.auth import OneToken
from cloud_api.connections import HttpConnection, VerifierServer, first_byte
from cloud_api.engine import scheduler
from cloud_api.engine.models import Models
from cloud_api.run import address_of, create_app, listen
from cloud_api.settings import ServerSettings
from decoding_core import wire_json
from decoding_core.errors import ContextFullError
from decoding_core.messages import DraftBlock, OpenSession, digest
from decoding_core.protocols import Reading
from decoding_core.settings import Terms
from decoding_core.verifier import EngineVerifier, role_of
from models.chat import ChatTemplate
from tests.waiting import PATIENCE, ROOT, wait_until

TOKEN = "specsteer_test-token"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # loading authorities takes 70 ms
VOCABULARY = 64
VOCABULARY_ID = "fake-vocabulary"


def logits_after(salt, token_ids):
    """A row (V,) that depends on every token before it."""
    noise = np.random.Generator(np.random.Philox(key=[salt, digest(token_ids)]))
    return noise.normal(size=VOCABULARY).astype(np.float32)


def whole_rows(salt, token_ids, rows):
    """The last rows (N, V) behind these tokens."""
    ends = range(len(token_ids) - rows + 1, len(token_ids) + 1)
    return np.stack([logits_after(salt, token_ids[:end]) for end in ends])


class FakeModel:
    """A `BatchEngine`. It fails loudly where llama.cpp would do wrong in silence."""

    def __init__(self, salt, slots=2, context_length=512, vocabulary=VOCABULARY_ID):
        self.name = f"fake-{salt}"
        self.vocabulary_id = vocabulary
        self.vocabulary_size = VOCABULARY
        self.context_length = context_length
        self.slots = slots
        self.held = [[] for _ in range(slots)]
        self.calls = []
        self.threads = set()
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.fault = None
        self.closed = self.interrupted = False
        self._salt = salt

    def rollback(self, slot, position):
        assert 0 <= position <= len(self.held[slot])
        self.threads.add(threading.current_thread().name)
        del self.held[slot][position:]

    def evaluate(self, readings):
        self.threads.add(threading.current_thread().name)
        self.entered.set()
        assert self.gate.wait(PATIENCE)
        self.calls.append(list(readings))
        assert len({r.slot for r in readings}) == len(readings)
        for reading in readings:
            assert 1 <= reading.rows <= len(reading.token_ids)
            if self.fault is not None and self.fault(reading):
                raise self.fault(reading)
            held = len(self.held[reading.slot]) + len(reading.token_ids)
            if held > self.context_length:
                raise ContextFullError("too long")
        for reading in readings:
            self.held[reading.slot] += reading.token_ids
        return [whole_rows(self._salt, self.held[r.slot], r.rows) for r in readings]

    def interrupt(self):
        self.interrupted = True
        self.gate.set()

    def close(self):
        self.closed = True


class FakeEngine(FakeModel):
    """The same model as an `Engine`, for the in-process verifier."""

    @property
    def tokens(self):
        return self.held[0]

    @property
    def position(self):
        return len(self.tokens)

    def evaluate(self, token_ids, rows=1):
        return super().evaluate([Reading(0, token_ids, rows)])[0]

    def rollback(self, position):
        super().rollback(0, position)


GENERALIST, BASE = 1, 2


def verifier(request):
    """The verifier in this process, with a text opened."""
    local = EngineVerifier(FakeEngine(GENERALIST), FakeEngine(BASE))
    local.open(request)
    return local


def fake_models(**options):
    return Models(
        FakeModel(GENERALIST, **options),
        FakeModel(BASE, **options),
        names=[b"token %d" % token for token in range(VOCABULARY)],
    )


class FakeText:
    """The vocabulary of the fake models: each token is a letter."""

    size = VOCABULARY
    chat_template = ChatTemplate("", {}, bos="")
    begins_with_blank = False

    def __init__(self, end_ids=()):
        self.end_ids = frozenset(end_ids)

    @property
    def vocabulary(self):
        return self

    def tokenize(self, text, control=False):
        return [1 + byte % (VOCABULARY - 1) for byte in text.encode()]

    def piece(self, token_id):
        return bytes([32 + token_id])

    def token(self, token_id):
        return self.piece(token_id)


def greedy(prompt, limit):
    """The tokens that the generalist writes behind a prompt."""
    ids = FakeText().tokenize(prompt)
    for _ in range(limit):
        ids.append(int(logits_after(GENERALIST, ids).argmax()))
    return ids[-limit:]


def text_of(token_ids):
    return b"".join(map(FakeText().piece, token_ids)).decode()


def with_text(models, end_ids=(), vocabulary=FakeText):
    """The models, of which the generalist can be asked for texts."""
    return replace(models, text=lambda: nullcontext(vocabulary(end_ids)))


class RunningServer:
    """A real server in a thread of this process."""

    def __init__(self, load, settings, authority=None, tls=None, plain=True):
        fingerprint = tls.fingerprint if tls else ""
        authority = authority or OneToken(TOKEN)
        self.app = create_app(settings, load, authority, fingerprint=fingerprint)
        self.socket = listen("127.0.0.1", 0)
        self.url = address_of(self.socket)
        self._listening = threading.Event()
        http = first_byte(tls.context, plain=plain) if tls else HttpConnection
        self._server = VerifierServer(self.app, self._listening.set, http)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self.socket]}
        )

    @property
    def engine(self):
        return self.app.state.engine

    @property
    def service(self):
        return self.app.state.service

    def start(self):
        self._thread.start()
        assert self._listening.wait(PATIENCE)

    def on_loop(self, function):
        """What a function gives where the server runs."""

        async def call():
            return function()

        loop = self._server.servers[0].get_loop()
        return asyncio.run_coroutine_threadsafe(call(), loop).result(PATIENCE)

    def ask_to_stop(self):
        self._server.should_exit = True

    def stop(self):
        self.ask_to_stop()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@contextmanager
def running(
    load=fake_models,
    wait=True,
    patience=0.0,
    authority=None,
    tls=None,
    plain=True,
    **options,
):
    """A server whose models are loaded, where nobody keeps a slot from others."""
    settings = ServerSettings(**options)
    server = RunningServer(load, settings, authority, tls, plain)
    with patch.multiple(
        scheduler, PATIENCE_SECONDS=patience, LONGEST_PATIENCE_SECONDS=patience
    ):
        server.start()
        try:
            if wait and plain:
                wait_until_ready(server.url)
            yield server
        finally:
            server.stop()


def environment(home, **own):
    """The environment of a program whose state folder is `home`."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("SPECSTEER")}
    own |= {"SPECSTEER_HOME": str(home), "PYTHONPATH": str(ROOT)}
    return {**inherited, "PYTHONIOENCODING": "utf-8", **own}


SERVER = sys.executable, str(Path(__file__).with_name("fake_cloud_server.py"))
"""The command `specsteer-cloud` over fake models."""


@contextmanager
def process(command, env):
    """A running program; killed at the end if it is still there."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, env=env, text=True, **pipes) as child:
        try:
            yield child
        finally:
            child.kill()


def wait_until_ready(url):
    with httpx.Client(base_url=url, verify=PLAIN, timeout=PATIENCE) as client:
        wait_until(
            lambda: client.get("/readyz").status_code == 200, "the server is not ready"
        )


def connect(url, **options):
    """As websockets does, but a busy machine is no silent server."""
    patient = {"open_timeout": PATIENCE, "ping_interval": None}
    return websocket.connect(url, **{**patient, **options})


def stream(server, session_id, headers=HEADERS):
    url = server if isinstance(server, str) else server.url
    path = f"{url.rstrip('/').replace('http', 'ws', 1)}/v1/sessions/{session_id}/stream"
    return connect(path, additional_headers=headers, compression=None)


def client_of(server):
    url = server if isinstance(server, str) else server.url
    return httpx.Client(base_url=url, headers=HEADERS, timeout=PATIENCE, verify=PLAIN)


def ask(method, url, **options):
    """One request without the token."""
    return httpx.request(method, url, verify=PLAIN, **{"timeout": PATIENCE, **options})


def open_request(prompt=(1, 2, 3), text=(), **changes):
    terms = Terms(**{"method": "steering", "candidates": 5, "draft_limit": 4} | changes)
    return OpenSession(tuple(prompt), tuple(text), VOCABULARY_ID, terms)


def open_session(client, request=None):
    """The id of a new session."""
    body = wire_json.open_to_json(request or open_request())
    response = client.post("/v1/sessions", json=body)
    assert response.status_code == 201, response.text
    return response.json()["session_id"]


def replace_text(client, session_id, request):
    """The answer to another text in the place of a session's."""
    body = wire_json.open_to_json(request)
    return client.put(f"/v1/sessions/{session_id}", json=body)


def frames_of(request):
    return role_of(request.terms).frames


def block_after(text, drafted, settled=(), epoch=0, round_=0):
    return DraftBlock(
        epoch, round_, len(text), digest(text), tuple(settled), tuple(drafted)
    )


def send_block(client, session_id, block, request=None):
    """The answer to one block, on a stream of its own; its session stays open."""
    frames = frames_of(request or open_request())
    headers = {"Authorization": client.headers.get("Authorization", "")}
    with stream(f"{client.base_url}", session_id, headers) as socket:
        socket.send(frames.encode_block(block))
        answer = frames.decode_answer(socket.recv(PATIENCE))
        socket.close(1001)
    return answer


def is_lost(client, session_id):
    """Whether there is no such session for this client."""
    try:
        send_block(client, session_id, block_after((), (1,)))
    except InvalidStatus as denied:
        return b'"session-lost"' in denied.response.body
    return False


def assert_same(verdict, expected):
    """Both say the same to the last bit, but for the time that they took."""
    numbers = [(v.epoch, v.round, v.accepted, v.ratio_sum) for v in (verdict, expected)]
    assert numbers[0] == numbers[1]
    for row, other in zip(verdict.rows, expected.rows, strict=True):
        for name in ("token_ids", "generalist_logprobs", "base_logprobs"):
            np.testing.assert_array_equal(getattr(row, name), getattr(other, name))
        assert row.tail_log_ratio == other.tail_log_ratio
