"""One text of the real loop over a real socket, with a clock beside each part."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from benchmarks.speed.rig.engines import SlotEngine
from benchmarks.speed.rig.serving import Address
from decoding_core.messages import DraftBlock, OpenSession, SessionOpened, Verdict
from decoding_core.methods import build
from decoding_core.protocols import BatchEngine, Verifier
from decoding_core.sampling import Floats
from decoding_core.settings import MethodSettings
from decoding_core.verifier import read_text
from edge_app.decoding.events import (
    Drafted,
    Event,
    EventEmitter,
    Received,
    Sent,
    Settled,
    Verified,
)
from edge_app.decoding.loop import decode_loop
from edge_app.decoding.session import VerifierSession
from edge_app.retrieval.context import Prompts
from edge_app.service.text_job import as_read
from edge_app.transport.verifier import CloudVerifier

Span = tuple[float, float]


@dataclass(slots=True)
class Clock:
    """When the parts of one text worked: spans of seconds, and counts."""

    began: float = field(default_factory=time.perf_counter)
    engine: list[Span] = field(default_factory=list)
    """The specialist's model."""
    waits: list[Span] = field(default_factory=list)
    """The device waits for a verdict."""
    out: list[Span] = field(default_factory=list)
    """At least one block is on its way, being verified, or answered."""
    lengths: list[int] = field(default_factory=list)
    """Drafted tokens of each block that was verified."""
    first: float = 0.0
    """When the first token was settled."""
    before: int = 0
    """Tokens settled with it."""
    drafted: int = 0
    accepted: int = 0
    refused: int = 0
    in_vain: int = 0
    bytes: int = 0
    _on_the_way: deque[float] = field(default_factory=deque)
    _out_since: float = 0.0

    def hear(self, event: Event) -> None:
        """Take in an event of the loop."""
        match event:
            case Drafted():
                self.drafted += 1
            case Verified(drafted=drafted, accepted=accepted, in_vain=in_vain):
                self.accepted += accepted
                self.in_vain += in_vain
                self.lengths.append(drafted)
                if accepted < drafted:
                    self.refused += 1
                    # Whatever is still out was drafted after what was refused.
                    self._end_out(all_of_them=True)
            case Settled(tokens=tokens) if tokens and not self.before:
                self.first, self.before = time.perf_counter(), len(tokens)
            case Sent(size=size) | Received(size=size):
                self.bytes += size
            case _:
                pass

    def submitted(self) -> None:
        """A block is handed to the socket."""
        if not self._on_the_way:
            self._out_since = time.perf_counter()
        self._on_the_way.append(time.perf_counter())

    def collected(self) -> None:
        """The oldest block's verdict is there."""
        self._end_out(all_of_them=False)

    def _end_out(self, *, all_of_them: bool) -> None:
        if not self._on_the_way:
            return
        self._on_the_way.popleft()
        if all_of_them:
            self._on_the_way.clear()
        if not self._on_the_way:
            self.out.append((self._out_since, time.perf_counter()))


class ClockedEngine(SlotEngine):
    """The specialist, with the clock running while its model works."""

    def __init__(self, batch: BatchEngine, clock: Clock) -> None:
        super().__init__(batch)
        self._clock = clock

    def evaluate(self, token_ids: Sequence[int], rows: int = 1) -> Floats:
        """Read on."""
        began = time.perf_counter()
        logits = super().evaluate(token_ids, rows)
        self._clock.engine.append((began, time.perf_counter()))
        return logits


class ClockedVerifier:
    """A verifier, with the clock running while its verdict is waited for. What it can
    do besides goes through."""

    def __init__(self, verifier: Verifier, clock: Clock) -> None:
        self._verifier = verifier
        self._clock = clock

    @property
    def local(self) -> bool:
        """Whether it keeps everything."""
        return self._verifier.local

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text."""
        return self._verifier.open(request)

    def submit(self, block: DraftBlock) -> None:
        """Hand over a block."""
        self._clock.submitted()
        self._verifier.submit(block)

    def collect(self) -> Verdict:
        """Wait for a verdict."""
        began = time.perf_counter()
        verdict = self._verifier.collect()
        self._clock.waits.append((began, time.perf_counter()))
        self._clock.collected()
        return verdict

    def close(self) -> None:
        """End the text."""
        self._verifier.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._verifier, name)


@dataclass(frozen=True, slots=True)
class Text:
    """What one text gave."""

    tokens: tuple[int, ...]
    clock: Clock
    ended: float
    """When its last token was settled."""


@dataclass(frozen=True, slots=True)
class Device:
    """The small half of a pair, with the prompts."""

    engine: BatchEngine
    prompts: Prompts
    end_ids: Collection[int] = ()

    def write(
        self,
        address: Address,
        settings: MethodSettings,
        max_tokens: int,
    ) -> Text:
        """Write one text.

        Raises:
            DecodingError: as the loop does; nothing is written without the server.
        """
        method = build(settings)
        prompts = as_read(self.prompts, method)
        self.engine.rollback(0, 0)
        clock = Clock()
        engine = ClockedEngine(self.engine, clock)
        emitter = EventEmitter(clock.hear, lambda _: b"")
        cloud = CloudVerifier(address.url, address.token, clock.hear)
        verifier = ClockedVerifier(cloud, clock)
        try:
            session = VerifierSession(
                verifier,
                OpenSession(
                    prompts.public_ids, (), self.engine.vocabulary_id, settings.terms()
                ),
                emitter.notice,
                may_go_offline=False,
            )
            # As the app does: the connection is there before a text is asked for, and
            # the specialist reads its prompt while the server reads its own.
            cloud.reach()
            clock.began = time.perf_counter()
            with ThreadPoolExecutor(1) as readers:
                if settings.method != "generalist":
                    readers.submit(read_text, engine, prompts.private_ids[:-1])
                session.open()
            loop = decode_loop(
                settings,
                method,
                engine,
                prompts.private_ids,
                session,
                emitter,
                max_tokens=max_tokens,
                end_ids=self.end_ids,
            )
            for _ in loop.blocks():
                pass
            ended = time.perf_counter()
        finally:
            verifier.close()
        return Text(tuple(token.id for token in emitter.tokens), clock, ended)


def overlap(one: Sequence[Span], other: Sequence[Span]) -> float:
    """For how long a span of each was running; the spans of one do not overlap."""
    total, index = 0.0, 0
    for began, ended in one:
        while index < len(other) and other[index][1] <= began:
            index += 1
        for start, end in other[index:]:
            if start >= ended:
                break
            total += min(end, ended) - max(start, began)
    return total


def length(spans: Sequence[Span]) -> float:
    """Seconds of all spans together."""
    return sum(end - begin for begin, end in spans)
