"""One text of the real loop over a real socket, with a clock beside each part, and the
figures that follow.

The limit: every token is drafted, and only a refusal is waited for, so with a the share
of verdicts on a token that keep it no single chain of drafts takes less than

    t_draft + (1 - a) * (t_verify + round trip)

a token. The times are those of each engine alone on the machine.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any

import numpy as np

from benchmarks.speed.serving import Address
from benchmarks.speed.traced import SlotEngine
from cloud_api.engine.models import Models
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


BLOCKS = (1, 2, 4, 8, 16)
"""Tokens of the passes that are timed."""
PARTS = {
    "specialist": "s",
    "server": "v",
    "network": "n",
    "loop": ".",
}
"""Where the time of the device goes, each with its letter in the bar."""


@dataclass(frozen=True, slots=True)
class Unloaded:
    """Seconds of each engine with nothing beside it."""

    draft: float
    """A step of the specialist after its prompt."""
    generalist: Mapping[int, float]
    """A pass after the public prompt, by its tokens."""
    base: Mapping[int, float]

    def verify(self, tokens: float, *, with_base: bool) -> float:
        """A pass over so many tokens by the models of the server, in turn."""
        models = (self.generalist, self.base) if with_base else (self.generalist,)
        return sum(
            float(np.interp(tokens, list(times), list(times.values())))
            for times in models
        )


def unloaded(
    device: BatchEngine, server: Models, private: int, public: int, times: int
) -> Unloaded:
    """Time each engine after its prompt, each figure the median of so many."""
    (draft,) = timed(device, private, (1,), times).values()
    opened = server.opened()
    assert opened.base is not None
    return Unloaded(
        draft,
        timed(opened.generalist, public, BLOCKS, times),
        timed(opened.base, public, BLOCKS, times),
    )


def timed(
    model: BatchEngine, prompt: int, blocks: Sequence[int], times: int
) -> dict[int, float]:
    """Seconds of passes over so many tokens after a prompt, by their length."""
    engine = SlotEngine(model)
    engine.evaluate([300 + i % 64 for i in range(prompt)])
    found = {}
    for size in blocks:
        seconds = []
        for _ in range(times):
            began = time.perf_counter()
            engine.evaluate([300 + i for i in range(size)], size)
            seconds.append(time.perf_counter() - began)
            engine.rollback(prompt)
        found[size] = median(seconds)
    engine.rollback(0)
    return found


@dataclass(frozen=True, slots=True)
class Cell:
    """What a row is of."""

    engines: str
    acceptance: float | None
    """Of the trace; None where the models decide, or where nothing is drafted."""
    method: str
    window: str = ""
    draft_length: str = ""
    drafting: bool = True
    uses_base: bool = True
    trip: float = 0.0
    """Seconds of the round trip."""


@dataclass(frozen=True, slots=True)
class Row:
    """A method at a round trip, over all of its texts."""

    cell: Cell
    tokens: int
    tokens_per_second: float
    """After the first token."""
    over_generalist: float | None = None
    """How many times as fast as the large model alone that streams its text, which pays
    the round trip once."""
    over_costeer: float | None = None
    """At the same round trip."""
    tokens_a_round: float | None = None
    kept: float | None = None
    """Of the verdicts on a token, those that keep it."""
    in_vain: float | None = None
    """Share of the drafted tokens that were never verified: they were drafted behind a
    block in which a token was refused."""
    bytes_a_token: float | None = None
    first: float | None = None
    """Seconds from opening the session to the first token."""
    limit: float | None = None
    """Seconds a token of a single chain."""
    busy: float | None = None
    """Share of the time that blocks are out in which the specialist works."""
    parts: Mapping[str, float] | None = None
    """Shares of the time, by `PARTS`."""

    @property
    def over_limit(self) -> float | None:
        """How many times as long as the limit a token takes."""
        return self.limit and 1.0 / self.tokens_per_second / self.limit


def row_of(cell: Cell, texts: Sequence[Text], times: Unloaded) -> Row:
    """The figures of some texts of one cell."""
    clocks = [text.clock for text in texts]
    seconds = sum(text.ended - text.clock.first for text in texts)
    count = sum(len(text.tokens) for text in texts)
    timed_tokens = count - sum(clock.before for clock in clocks)
    accepted = sum(clock.accepted for clock in clocks)
    refused = sum(clock.refused for clock in clocks)
    drafted = sum(clock.drafted for clock in clocks)
    in_vain = sum(clock.in_vain for clock in clocks)
    lengths = [size for clock in clocks for size in clock.lengths]

    verify = fmean(
        times.verify(max(1, size), with_base=cell.uses_base) for size in lengths
    )
    kept = accepted / (accepted + refused) if accepted + refused else 0.0
    reads = any(clock.engine for clock in clocks)
    draft = times.draft if reads else 0.0
    limit = draft + (1.0 - kept) * (verify + cell.trip)

    engine = waiting = out = busy = 0.0
    for text in texts:
        whole = [(text.clock.first, text.ended)]
        engine += overlap(whole, text.clock.engine)
        waiting += overlap(whole, text.clock.waits)
        out += length(text.clock.out)
        busy += overlap(text.clock.out, text.clock.engine)
    network = waiting * cell.trip / (cell.trip + verify)
    shares = engine, waiting - network, network, seconds - engine - waiting
    return Row(
        cell,
        count,
        timed_tokens / seconds,
        tokens_a_round=count / len(lengths),
        kept=kept if cell.drafting else None,
        in_vain=in_vain / drafted if drafted else None,
        bytes_a_token=sum(clock.bytes for clock in clocks) / count,
        first=fmean(clock.first - clock.began for clock in clocks),
        limit=limit,
        busy=busy / out if out and cell.drafting else None,
        parts={
            part: max(0.0, share) / seconds
            for part, share in zip(PARTS, shares, strict=True)
        },
    )


def bar(parts: Mapping[str, float], width: int = 20) -> str:
    """Where the time goes, in letters: each part as long as its share."""
    letters, reached = "", 0.0
    for part, letter in PARTS.items():
        reached += parts[part]
        letters += letter * (round(reached * width) - len(letters))
    return letters
