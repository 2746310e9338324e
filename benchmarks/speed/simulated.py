"""The loop that drafts on while blocks are out, in simulated time.

It says what this method allows: the real loop is held against it, and what is not
built yet is tried here first. Nothing waits for a processor, a queue or a lock, and
no byte takes time: draft, verify, round trip and acceptance are all there is.

The device drafts one token after the other and sends a block when it is full. Up to
`window` blocks are out, and one more is drafted and waits; with a window of one,
drafting and verifying take turns. The verifier reads one block after the other. A
verdict is heard at the end of the draft step that is running. A refusal voids all
that was drafted after it; the server, which sees its own refusal, drops what comes of
them.

**Branches** (SSD, arXiv 2603.03251; PicoSpec, arXiv 2603.19133): while the device would
idle, it drafts from the likeliest outcomes of the block that is out. After a refusal
that was foreseen, the first block is there at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Machine:
    """What the parts take, in seconds."""

    draft: float
    """A drafted token."""
    verify: float
    """A block, whatever its length."""
    verify_token: float = 0.0
    """Each of its tokens besides."""
    round_trip: float = 0.0

    def block(self, length: int) -> float:
        """To verify a block of so many tokens."""
        return self.verify + self.verify_token * length

    def single_chain(self, acceptance: float) -> float:
        """Seconds a token below which no order of drafting and verifying gets, as long
        as one draft is followed."""
        return self.draft + (1.0 - acceptance) * (self.block(1) + self.round_trip)


@dataclass(frozen=True, slots=True)
class Loop:
    """How the loop drafts."""

    first: int
    """Tokens of the first block after a refusal."""
    later: int
    """Tokens of those behind it."""
    window: int
    """Blocks that may be out."""
    hits: Sequence[float] = ()
    """Chance that the outcome of a refusal is among the likeliest n, n = 1, 2, ...;
    empty where no branches are drafted."""
    branch: float = 1.0
    """What a branch costs, as a share of drafting its tokens one after the other: less
    where several are drafted in one pass."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """What came out."""

    seconds_a_token: float
    tokens_a_block: float
    """Settled by each block that was verified."""
    in_vain: float
    """Share of the drafted tokens that were never verified: they were drafted behind a
    block in which a token was refused."""
    busy: float
    """Share of the time that blocks were out in which the device drafted."""


@dataclass(frozen=True, slots=True)
class _Block:
    length: int
    kept: int
    heard: float
    """When the device has the verdict."""


def simulate(
    machine: Machine, loop: Loop, acceptance: float, tokens: int = 20_000, seed: int = 0
) -> Simulated:
    """Write so many tokens, each drafted one kept with the same chance."""
    random, guesses = Random(seed), Random(-seed - 1)  # the same text with branches
    half = machine.round_trip / 2.0
    now = server_free = busy = idle = 0.0
    settled = drafted = judged = blocks = 0
    ready = 0  # tokens of the first block that a branch has drafted already
    while settled < tokens:
        # From one refusal to the next: block follows block as if all were kept.
        out: deque[_Block] = deque()
        sent = growing = 0
        spare = 0.0  # idle time since the last verdict, for branches
        doomed = refused = False
        while not refused and settled < tokens:
            length = loop.later if sent else loop.first
            full, room = growing == length, len(out) < loop.window
            if full and room:
                kept = 0
                while kept < length and random.random() < acceptance:
                    kept += 1
                if not doomed:  # else the server drops it unread
                    begins = max(now + half, server_free)
                    server_free = begins + machine.block(length)
                    out.append(_Block(length, kept, server_free + half))
                else:
                    out.append(_Block(length, 0, float("inf")))
                doomed = doomed or kept < length
                sent, growing = sent + 1, 0
            elif not full and (loop.window > 1 or not out):
                busy += machine.draft * bool(out)
                now += 0.0 if ready else machine.draft
                ready = max(0, ready - 1)
                growing, drafted = growing + 1, drafted + 1
            else:
                idle += out[0].heard - now
                spare += out[0].heard - now
                now = out[0].heard
            while out and out[0].heard <= now and not refused:
                block = out.popleft()
                refused = block.kept < block.length
                blocks += 1
                settled += block.kept + refused
                judged += block.length
                if refused and loop.hits:
                    each = loop.branch * loop.first * machine.draft
                    drafts = int(spare / each)
                    branches = min(drafts, len(loop.hits))
                    hit = branches and guesses.random() < loop.hits[branches - 1]
                    ready = loop.first if hit else 0
                spare = 0.0
    return Simulated(
        now / settled,
        settled / blocks,
        1.0 - judged / drafted,
        busy / (busy + idle) if busy + idle else 0.0,
    )


def best_loop(
    machine: Machine,
    acceptance: float,
    windows: Sequence[int] = (1, 2, 3, 4),
    hits: Sequence[float] = (),
    branch: float = 1.0,
    tokens: int = 500,
) -> Loop:
    """The lengths and the window that take the least time a token: all are tried for so
    many tokens, and the eight best for sixteen times as many."""
    lengths = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16)
    loops = [
        Loop(first, later, window, hits, branch)
        for window in windows
        for first in lengths
        for later in (lengths if window > 1 else (first,))
    ]

    def seconds(loop: Loop, tokens: int) -> float:
        return simulate(machine, loop, acceptance, tokens).seconds_a_token

    loops.sort(key=lambda loop: seconds(loop, tokens))
    return min(loops[:8], key=lambda loop: seconds(loop, 16 * tokens))
