"""Texts of the real loop and session over any engine and verifier."""

from __future__ import annotations

import random
import threading

from decoding_core.messages import OpenSession
from decoding_core.methods import build
from decoding_core.verifier import EngineVerifier
from edge_app.decoding.events import EventEmitter, Notice, Tally, emit_to
from edge_app.decoding.loop import DecodeLoop
from edge_app.decoding.on_device import EdgeBaseVerifier
from edge_app.decoding.session import Patience, VerifierSession
from edge_app.decoding.two_vocabularies import AnyVocabulary
from edge_app.privacy.budget import CountingVerifier
from edge_app.transport.client import CloudVerifier
from tests.edge_app.decoding.losing_server import Hurried, LosingServer
from tests.fakes import HashEngine

PRIVATE, PUBLIC = (11, 12, 13, 1, 2), (1, 2)
END = 16
MESSAGES = (("user", "Write."),)
"""The public prompt where both sides have their own tokens."""


class Writing:
    """One text, and what happened meanwhile."""

    def __init__(
        self,
        settings,
        small,
        verifier,
        max_tokens=20,
        end_ids=(END,),
        *,
        prompts=(PRIVATE, PUBLIC),
        vocabulary_id="fake",
        piece=lambda i: f"<{i}>".encode(),
        weighs=True,
        account=None,
        events=None,
        loop=None,
        **options,
    ):
        """`loop` are further options of the loop, `options` those of the session."""
        self.settings, self.engine = settings, small
        self.events, self.tally = [] if events is None else events, Tally()
        self.stop = options.setdefault("stop", threading.Event())
        emit = emit_to(self.events.append, self.tally.add)
        self.emitter = EventEmitter(emit, piece, weighs=weighs)
        private, public = prompts
        self.request = OpenSession(tuple(public), (), vocabulary_id, settings.terms())
        self.session = VerifierSession(
            verifier,
            self.request,
            self.emitter.notice,
            **{"patience": Patience(pauses=()), **options},
        )
        self.session.open()
        self.loop = DecodeLoop(
            settings,
            build(settings),
            small,
            private,
            self.session,
            self.emitter,
            max_tokens=max_tokens,
            end_ids=end_ids,
            stop=self.stop,
            draws=account,
            **(loop or {}),
        )

    def run(self):
        """Write it to its end; the token ids."""
        list(self.loop.blocks())
        return self.ids

    def all(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def ids(self):
        return [token.id for token in self.emitter.tokens]

    @property
    def origins(self):
        return [token.origin for token in self.emitter.tokens]

    @property
    def text(self):
        return [(token.id, token.origin) for token in self.emitter.tokens]

    @property
    def notices(self):
        return [event.text for event in self.all(Notice)]


def hashed(settings, seed="", **options):
    """Three random engines that do not agree."""
    verifier = EngineVerifier(HashEngine("large" + seed), HashEngine("base" + seed))
    return Writing(settings, HashEngine("small" + seed), verifier, **options)


class Run(Writing):
    """A text of the real loop and the real client over a losing server."""

    def __init__(
        self,
        settings,
        disturbances=None,
        max_tokens=40,
        *,
        seed="",
        context=10_000,  # of the specialist
        server_context=10_000,
        patience=Patience(),  # noqa: B008
        timing=0,
        account=None,
        vocabularies=None,
    ):
        """`vocabularies` are the device's and the server's, if they differ. `timing`
        chooses when an answer that is there has come, and for how long is
        drafted on until then: no clock decides, so that whatever fails fails again."""
        own, words = vocabularies or (None, None)
        parts = disturbances or {}, seed, server_context, timing, words
        self.server = LosingServer(*parts)
        size = len(own.pieces) if own else 17
        small = HashEngine("small" + seed, size, context=context)
        base = HashEngine("base" + seed, size)
        options = {"patience": patience, "account": account}
        if own:
            options |= {"own": own, "piece": own.pieces.__getitem__}
        self.write(settings, small, base, max_tokens, timing=timing, **options)

    def write(
        self, settings, small, base, max_tokens, *, timing=0, own=None, **options
    ):
        self.now = 0.0
        verifier = CloudVerifier("http://x", "", lambda _: None, stop := Hurried())
        verifier._connection = self.server
        if own is not None:
            on_edge = settings.base == "edge" and build(settings).needs_base
            bring = None if on_edge else lambda: base
            verifier = AnyVocabulary(verifier, lambda: own, MESSAGES, bring)
        if settings.base == "edge" and build(settings).needs_base:
            verifier = EdgeBaseVerifier(verifier, base)
        if account := options.get("account"):
            verifier = CountingVerifier(verifier, account)
            self.server.tell = verifier.hear
        usual = {"patience": Patience(), "piece": lambda token: b"x", "end_ids": ()}
        options = usual | options
        options |= {"stop": stop, "clock": lambda: self.now, "weighs": False}
        super().__init__(settings, small, verifier, max_tokens, **options)
        patience = random.Random(timing)
        self.loop._has_time = lambda: patience.random() < 0.7
        self.epochs = []  # in which each token was drawn
        epoch = self.session.epoch
        for block in self.loop.blocks():
            self.epochs += [epoch] * len(block.token_ids)
            epoch = self.session.epoch
            self.now += 1.0
