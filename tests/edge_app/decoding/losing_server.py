"""A server that loses things where it is told to, behind a line that does too.

It stands in the place of `Connection`: the frames and bodies are real, as is the state
machine of the server's sessions; the models are scripted.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from dataclasses import replace

from cloud_api.service import Session, round_of
from decoding_core import wire_json
from decoding_core.errors import (
    CloudBusyError,
    CloudUnreachableError,
    SessionLostError,
    VocabularyMismatchError,
)
from decoding_core.messages import (
    VERSION,
    VERSIONS,
    Kind,
    Problem,
    SessionOpened,
    Signal,
    Verdict,
)
from decoding_core.verifier import bytes_role, role_of
from edge_app.decoding.events import Sent
from edge_app.transport.client import ConnectionLostError
from tests.fakes import HashEngine

LOSING = ("restart", "evict", "expire", "stop")
"""What costs the server its session."""
DISTURBANCES = (
    *LOSING,
    "lose the block",
    "lose the answer",
    "repeat the block",
    "repeat an old block",
    "answer busy",
    "answer with a fault",
    "refuse the connection",
    "put off the opening",
)
LONGEST_BUSY = (1 << 32) - 1
PROMPT = (1, 2)  # in the tokens of its models, if they have their own


class Hurried(threading.Event):
    """Waits for nothing, and notes how long it should have waited."""

    def __init__(self):
        super().__init__()
        self.waits = []

    def wait(self, timeout=None):
        self.waits.append(timeout)
        return self.is_set()


class LosingServer:
    """Does what `disturbances` say before the frames of these numbers: the count is of
    frames that the device sends, repeated ones too."""

    def __init__(self, disturbances, seed="", context=10_000, timing=0, words=None):
        """`words` are the tokens of its models, if the device's are others."""
        self.context, self.words, self.prompt = context, words, PROMPT
        self._late = random.Random(timing)
        self.disturbances = {at: deque(kinds) for at, kinds in disturbances.items()}
        size = 17 if words is None else len(words.pieces)
        self.models = HashEngine("large" + seed, size), HashEngine("base" + seed, size)
        self.sessions, self.formats = {}, {}
        self.opened = []  # the text of each opening that was answered
        self._lost = set()  # sessions of which the device was told that they are gone
        self.frames = 0
        self._made = 0
        self._refusing = self._putting_off = 0
        self._connected = self._hung_up = False
        self._answers = deque()
        self._before = {}
        self.left = []  # openings and blocks of which bytes left, as they were sent
        self.tell = lambda event: None  # of them

    # What `Connection` offers.

    url = "http://losing.test"

    def request(self, what, method, path, body=None, **_):
        if what == "hello":
            return {}
        if what == "close":
            self.sessions.pop(path.rsplit("/", 1)[1], None)
            return {}
        if what == "models":
            return {"versions": list(VERSIONS)}
        if what == "vocabulary":
            pieces, ends = self.words.pieces, self.words.end_ids
            tokens = wire_json.tokens_id(wire_json.tokens_to_bytes(pieces, ends))
            start = int(path.rsplit("/", 1)[1])
            return wire_json.pieces_to_json(pieces, ends, tokens, start)
        if self._refusing:
            self._refusing -= 1
            raise CloudUnreachableError("there is no answer")
        request = wire_json.open_from_json(body)
        if self.words is not None:
            if request.version == VERSION:
                raise VocabularyMismatchError("another vocabulary")
            request = replace(request, prompt_ids=self.prompt)
        self._leaves("open", request)
        if self._putting_off:
            self._putting_off -= 1
            raise CloudBusyError("loading", 1.0)
        if method == "PUT":
            name = path.rsplit("/", 1)[1]
            if name not in self.sessions:
                raise SessionLostError("there is no such session")
        else:
            self._made += 1
            name = f"session-{self._made}"
        self.opened.append(request.text_ids)
        role = role_of(request.terms)
        if self.words is not None:
            role = bytes_role(role)
        self.formats[name] = role.frames
        self.sessions[name] = Session(
            request, role, self.context, 0.0, words=self.words
        )
        return wire_json.opened_to_json(SessionOpened(name, "large", "base"))

    def send(self, path, frame, token_ids, *, answer_size):
        name = path.split("/")[3]
        self.connect(path)
        self._leaves("block", self.formats[name].decode_block(frame))
        if self._hung_up:
            return  # the device does not know yet
        kinds = self.disturbances.get(self.frames, deque())
        self.frames += 1
        kind = kinds.popleft() if kinds else ""
        while kinds:  # several at one place: each before another try
            self.disturbances.setdefault(self.frames, deque()).append(kinds.popleft())
        # Of the same session and older: no other frame comes before this one.
        old, self._before = self._before.get(name), {name: frame}
        if old is not None and self._key(name, old) > self._key(name, frame):
            old = None
        if kind == "lose the block":
            self._break()
        if kind == "repeat an old block" and old is not None:
            self._answer(name, old, "")
        self._answer(name, frame, kind)
        if kind == "repeat the block":
            self._answer(name, frame, "")
        if kind == "lose the answer":
            self._break()
        assert all(len(answer) == answer_size for answer in self._answers)

    @property
    def losses(self):
        """How many losses of a session a question was answered with."""
        return len(self._lost)

    @property
    def awaits_answers(self):
        return bool(self._answers)

    def receive(self, *, wait=True, **_):
        if not wait and self._late.random() < 0.6:
            return None
        if not self._answers:
            self._break()
        return self._answers.popleft()

    def disconnect(self):
        self._connected = self._hung_up = False
        self._answers.clear()
        return True

    def connect(self, path):
        name = path.split("/")[3]
        if self._connected:
            return
        if self._refusing:
            self._refusing -= 1
            raise CloudUnreachableError("there is no answer")
        if name not in self.sessions:
            self._lost.add(name)
            raise SessionLostError("there is no such session")
        self._connected = True

    close = end = disconnect

    def _leaves(self, what, message):
        self.left.append(message)
        self.tell(Sent(0.0, "", what, 1, (), b""))

    def _key(self, name, frame):
        block = self.sessions[name].frames.decode_block(frame)
        return block.epoch, block.round

    # How it loses.

    def _break(self):
        self.disconnect()
        raise ConnectionLostError("broken")

    def _answer(self, name, frame, kind):
        if kind == "restart":
            self.sessions.clear()
            self._refusing = 2
            self._break()
        if kind == "stop":
            # An unasked frame that bears the key of the newest block it saw.
            session = self.sessions[name]
            key = max(session._newest, (0, 0))
            signal = Signal(Kind.ERROR, *key, Problem.STOPPING)
            self._answers.append(session.frames.encode_signal(signal))
            self.sessions.clear()
            self._putting_off, self._hung_up = 1, True
            return
        if kind in ("evict", "expire"):
            session = self.sessions.pop(name)
            self._hung_up = True  # after this answer
            self._lost.add(name)
            block = session.frames.decode_block(frame)
            lost = Signal(Kind.RESYNC, block.epoch, block.round, 0)
            self._answers.append(session.frames.encode_signal(lost))
            return
        if kind == "refuse the connection":
            self._refusing = 3
            self._break()
        if kind == "put off the opening":
            self._putting_off = 2
            self._answer(name, frame, "evict")
            return
        session = self.sessions[name]
        answer = self._answered(session, frame, kind)
        if isinstance(answer, Verdict):
            count = len(session.frames.decode_block(frame).drafted)
            self._answers.append(session.frames.encode_verdict(answer, count))
        else:
            self._answers.append(session.frames.encode_signal(answer))

    def _answered(self, session, frame, kind):
        block = session.frames.decode_block(frame)
        decision = session.receive(block)
        if not isinstance(decision, tuple):
            return decision
        if kind == "answer busy":
            busy = Signal(Kind.BUSY, block.epoch, block.round, LONGEST_BUSY)
            session.finish(block, busy)
            return busy
        if kind == "answer with a fault":
            fault = Signal(Kind.ERROR, block.epoch, block.round, Problem.ENGINE)
            session.finish(block, fault)
            return fault
        work = round_of("", session, block, decision)
        read, rows = list(work.token_ids), work.rows
        logits = []
        for model in self.models:
            model.read = read[:-rows]
            logits.append(model.evaluate(read[-rows:], rows))
        base = logits[1] if session.role.uses_base else None
        verdict = work.verify(logits[0], base)
        session.finish(block, verdict)
        return verdict
