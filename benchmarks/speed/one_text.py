"""One text of the real loop over a real socket, with a clock beside it, and the figures
that follow.

The limit: every token is drafted, and only a refusal is waited for, so with a the share
of verdicts on a token that keep it no single chain of drafts takes less than

    t_draft + (1 - a) * (t_verify + round trip)

a token. The times are those of each engine alone on the machine; a pass of the verifier
is that of the block lengths of the run, generalist and base one after the other.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import fmean, median
from typing import Any

import numpy as np

from benchmarks.speed.serving import Address
from cloud_api.engine.models import Models
from decoding_core.messages import OpenSession
from decoding_core.methods import build
from decoding_core.protocols import Verifier
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
from edge_app.decoding.loop import DecodeLoop
from edge_app.decoding.session import VerifierSession
from edge_app.decoding.two_vocabularies import AnyVocabulary
from edge_app.retrieval.context import Prompts
from edge_app.service.text_job import as_read
from edge_app.transport.client import CloudVerifier
from models.running.interface import bytes_of

BLOCKS = (1, 2, 4, 8, 16)  # tokens of the passes that are timed


@dataclass(slots=True)
class Clock:
    """What happened while one text was written."""

    began: float = field(default_factory=time.perf_counter)
    first: float = 0.0  # when the first token was settled
    ended: float = 0.0
    before: int = 0  # tokens settled with the first one
    lengths: list[int] = field(default_factory=list)
    """Drafted tokens of each block that was verified."""
    drafted: int = 0
    accepted: int = 0
    refused: int = 0
    in_vain: int = 0
    bytes: int = 0
    tokens: tuple[int, ...] = ()

    def hear(self, event: Event) -> None:
        """Take in an event of the loop."""
        match event:
            case Drafted():
                self.drafted += 1
            case Verified(drafted=drafted, accepted=accepted, in_vain=in_vain):
                self.accepted += accepted
                self.in_vain += in_vain
                self.lengths.append(drafted)
                self.refused += accepted < drafted
            case Settled(tokens=tokens) if tokens and not self.before:
                self.first, self.before = time.perf_counter(), len(tokens)
            case Sent(size=size) | Received(size=size):
                self.bytes += size
            case _:
                pass


@dataclass(frozen=True, slots=True)
class Device:
    """The small half of a pair, with the prompts."""

    model: Any
    prompts: Prompts
    end_ids: Collection[int] = ()
    messages: Sequence[tuple[str, str]] = ()
    """Role and text of those of the public prompt, if the server has another
    vocabulary."""
    base: Any = None  # runs here if it does

    def write(
        self, address: Address, settings: MethodSettings, max_tokens: int
    ) -> Clock:
        """Write one text. Raises as `writing` does."""
        clock = Clock()
        with self.writing(address, settings, max_tokens, clock) as loop:
            for _ in loop.blocks():
                pass
            clock.ended = time.perf_counter()
        return clock

    @contextmanager
    def writing(
        self, address: Address, settings: MethodSettings, max_tokens: int, clock: Clock
    ) -> Iterator[DecodeLoop]:
        """The loop of a text, which the clock hears. As in the app, the connection
        exists before a text is asked for, and the specialist reads its prompt while the
        server reads its own. Raises DecodingError as the loop does; nothing is written
        without the server."""
        method = build(settings)
        prompts = as_read(self.prompts, method)
        engine = self.model.sequence()
        engine.rollback(0)
        emitter = EventEmitter(clock.hear, lambda _: b"")
        cloud = CloudVerifier(address.url, address.token, clock.hear)
        verifier: Verifier = cloud
        if self.messages:
            own = partial(bytes_of, self.model.model)
            verifier = AnyVocabulary(cloud, own, self.messages, self.base.sequence)
        request = OpenSession(
            prompts.public_ids, (), engine.vocabulary_id, settings.terms()
        )
        try:
            session = VerifierSession(
                verifier, request, emitter.notice, may_go_offline=False
            )
            cloud.reach()
            clock.began = time.perf_counter()
            with ThreadPoolExecutor(1) as readers:
                if settings.method != "generalist":
                    readers.submit(read_text, engine, prompts.private_ids[:-1])
                session.open()
            yield DecodeLoop(
                settings,
                method,
                engine,
                prompts.private_ids,
                session,
                emitter,
                max_tokens=max_tokens,
                end_ids=self.end_ids,
            )
        finally:
            cloud.close()
        clock.tokens = tuple(token.id for token in emitter.tokens)


@dataclass(frozen=True, slots=True)
class Unloaded:
    """Seconds of each engine with nothing beside it."""

    draft: float  # a step of the specialist after its prompt
    generalist: Mapping[int, float]  # a pass after the public prompt, by its tokens
    base: Mapping[int, float]

    def verify(self, tokens: float, *, with_base: bool) -> float:
        """Seconds of a pass over `tokens` by the models of the server, in turn."""
        models = (self.generalist, self.base) if with_base else (self.generalist,)
        return sum(
            float(np.interp(tokens, list(times), list(times.values())))
            for times in models
        )


def unloaded(
    device: Any, server: Models, private: int, public: int, times: int
) -> Unloaded:
    """Time each engine after its prompt, each figure the median of `times`."""
    (draft,) = timed(device, private, (1,), times).values()
    generalist, *base = (timed(one, public, BLOCKS, times) for one in server.opened())
    # With two vocabularies the base runs on the device, and has the same weights.
    base = base or [timed(device, public, BLOCKS, times)]
    return Unloaded(draft, generalist, *base)


def timed(
    model: Any, prompt: int, blocks: Sequence[int], times: int
) -> dict[int, float]:
    """Seconds of passes after a prompt, by their number of tokens."""
    engine = model.sequence()
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
    """Of the trace; None if the models decide, or if nothing is drafted."""
    method: str
    window: str = ""
    drafting: bool = True
    uses_base: bool = True
    trip: float = 0.0  # seconds of the round trip


@dataclass(frozen=True, slots=True)
class Row:
    """A text of a method at a round trip."""

    cell: Cell
    tokens: int
    tokens_per_second: float  # after the first token
    tokens_a_round: float
    kept: float | None  # of the verdicts on a token, those that keep it
    in_vain: float | None
    """Share of the drafted tokens that were never verified: they were drafted behind a
    block in which a token was refused."""
    bytes_a_token: float
    first: float  # seconds from opening the session to the first token
    limit: float  # seconds a token of a single chain
    over_generalist: float | None = None
    """How many times as fast as the large model alone that streams its text, which pays
    the round trip once."""
    over_costeer: float | None = None  # at the same round trip

    @property
    def over_limit(self) -> float:
        """How many times as long as the limit a token takes."""
        return 1.0 / self.tokens_per_second / self.limit


def row_of(cell: Cell, text: Clock, times: Unloaded, reads: bool) -> Row:
    """The figures of the text of a cell; `reads` says whether the specialist takes
    part."""
    count, verdicts = len(text.tokens), text.accepted + text.refused
    verify = fmean(
        times.verify(max(1, size), with_base=cell.uses_base) for size in text.lengths
    )
    kept = text.accepted / verdicts if verdicts else 0.0
    return Row(
        cell,
        count,
        (count - text.before) / (text.ended - text.first),
        count / len(text.lengths),
        kept if cell.drafting else None,
        text.in_vain / text.drafted if text.drafted else None,
        text.bytes / count,
        text.first - text.began,
        (times.draft if reads else 0.0) + (1.0 - kept) * (verify + cell.trip),
    )


def compared(rows: Sequence[Row]) -> list[Row]:
    """The rows with their ratios to the generalist alone, and to CoSteer."""
    alone = {
        row.cell.engines: row.tokens_per_second
        for row in rows
        if row.cell.method == "generalist" and not row.cell.trip
    }
    costeer = {
        (row.cell.engines, row.cell.trip): row.tokens_per_second
        for row in rows
        if row.cell.method == "costeer"
    }
    found = []
    for row in rows:
        rate, cell = row.tokens_per_second, row.cell
        one, other = alone.get(cell.engines), costeer.get((cell.engines, cell.trip))
        over = rate / one if one else None, rate / other if other else None
        found.append(replace(row, over_generalist=over[0], over_costeer=over[1]))
    return found


def table(rows: Sequence[Row]) -> list[list[str]]:
    """One line for each row, under one line of names."""
    heads = [
        *("engines", "a", "method", "window", "draft", "trip ms", "tok/s", "x gen."),
        *("x CoSteer", "tok/round", "kept", "in vain", "B/tok", "first ms", "/limit"),
    ]
    lines = [heads]
    for row in rows:
        cell = row.cell
        acceptance = "" if cell.acceptance is None else f"{cell.acceptance:g}"
        ratios = (row.over_generalist, row.over_costeer, row.tokens_a_round)
        shares = (row.kept, row.in_vain)
        lines.append(
            [
                *(cell.engines, acceptance, cell.method, cell.window),
                *("auto" if cell.drafting else "", f"{1000 * cell.trip:.0f}"),
                f"{row.tokens_per_second:.1f}",
                *("" if one is None else f"{one:.2f}" for one in ratios),
                *("" if one is None else f"{one:.0%}" for one in shares),
                *(f"{row.bytes_a_token:.0f}", f"{1000 * row.first:.0f}"),
                f"{row.over_limit:.2f}",
            ]
        )
    return lines
