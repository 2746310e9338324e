"""From clocks to figures: rates, ratios, the limit of a single chain, where time goes.

The limit: every token is drafted, and only a refusal is waited for, so with a the share
of verdicts on a token that keep it no single chain of drafts takes less than

    t_draft + (1 - a) * (t_verify + round trip)

a token. The times are those of each engine alone on the machine; a pass of the verifier
is that of the block lengths of the run, generalist and base one after the other.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

import numpy as np

from benchmarks.speed.one_text import Text, length, overlap
from benchmarks.speed.rig.engines import SlotEngine
from cloud_api.engine.models import Models
from decoding_core.protocols import BatchEngine

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
