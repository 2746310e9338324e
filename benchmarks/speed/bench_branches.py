"""`specsteer bench branches`: what drafting on from likely refusals would be worth."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import click
import numpy as np

from benchmarks.cost.report import plain
from benchmarks.intervals import wilson
from benchmarks.options import AT_LEAST_ONE, NEW_FILE, TEMPERATURE
from benchmarks.pair.synthetic_writers import emails_asked_for, prompts_of
from benchmarks.speed.figures import timed
from benchmarks.speed.one_text import Device
from benchmarks.speed.rig.serving import PairOrder, serving
from benchmarks.speed.simulated import Loop, Machine, best_loop, simulate
from decoding_core.protocols import BatchEngine, Reading
from decoding_core.sampling import Floats, log_softmax
from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Drafted, Event, Settled, Verified
from models.files import locate
from models.running.loading import load_model

METHODS = ("steering", "lossless")
TRIPS = (0.0, 0.01, 0.03, 0.06, 0.1, 0.2)
"""Seconds."""
BRANCHES = (1, 2, 3, 4, 6, 8, 12, 16)
COSTS = {"in turn": 1.0, "8 in 2.6 steps": 0.33, "16 in 1 step": 0.0625}
"""Of a branch, as a share of its tokens drafted in turn: one branch after the other; as
a 0.6B model takes them in one pass on two cores (docs/log.md); as a GPU may."""
_KEPT = 16
"""Tokens of a row that are looked at."""
_TOP_P = 0.95


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused token, and how soon its place and what came instead are guessed."""

    rank: int
    """Of the recovered token in the specialist's row without the refused one, from 1;
    0 where it is not among the first."""
    branch: int
    """Of place and recovered token among all branches of the block, from 1; 0 where it
    is none. They are tried in the order of what the device knows before the verdict:
    the chance that all tokens before the place are kept, times the specialist's
    probability of the other token there."""


class Recording:
    """A specialist that remembers the likeliest of what may follow each token."""

    def __init__(self, inner: BatchEngine) -> None:
        self._inner = inner
        self._position = 0
        self.likeliest: dict[int, list[tuple[int, float]]] = {}
        """Token ids with their probabilities, the likeliest first, by how many tokens
        were read before."""

    name = property(lambda self: self._inner.name)
    vocabulary_id = property(lambda self: self._inner.vocabulary_id)
    vocabulary_size = property(lambda self: self._inner.vocabulary_size)
    context_length = property(lambda self: self._inner.context_length)
    slots = property(lambda self: self._inner.slots)

    def rollback(self, slot: int, position: int) -> None:
        """Forget what was read after the first `position` tokens."""
        self._inner.rollback(slot, position)
        self._position = position

    def evaluate(self, readings: Sequence[Reading]) -> list[Floats]:
        """Read on, and remember."""
        logits = self._inner.evaluate(readings)
        (reading,) = readings
        self._position += len(reading.token_ids)
        read = self._position - reading.rows
        for row in logits[0]:
            read += 1
            ids = np.argsort(-row)[:_KEPT]
            probs = np.exp(log_softmax(row.astype(np.float64)))[ids]
            pairs = zip(ids.tolist(), probs.tolist(), strict=True)
            self.likeliest[read] = list(pairs)
        return logits

    def interrupt(self) -> None:
        """Abort a long evaluation."""
        self._inner.interrupt()

    def close(self) -> None:
        """Free the memory."""
        self._inner.close()


class Guesses:
    """Hears a text, and ranks what happened among what could be guessed."""

    def __init__(self, specialist: Recording, prompt_length: int) -> None:
        self._specialist = specialist
        self._prompt_length = prompt_length
        self._settled = 0
        self._drafts: list[int] = []
        self._refused: tuple[list[int], int] | None = None
        """The block of a refusal, and the place of it."""
        self.accepted = 0
        self.refusals: list[Refusal] = []

    @property
    def acceptance(self) -> float:
        """The share of verdicts on a token that keep it, so far."""
        return (self.accepted + 3) / (self.accepted + len(self.refusals) + 4)

    def hear(self, event: Event) -> None:
        """Take in an event of the loop."""
        match event:
            case Drafted(id=token_id):
                self._drafts.append(token_id)
            case Verified(drafted=drafted, accepted=accepted):
                block, self._drafts = self._drafts[:drafted], self._drafts[drafted:]
                self.accepted += accepted
                if accepted < drafted:
                    self._refused, self._drafts = (block, accepted), []
            case Settled(tokens=tokens):
                if self._refused is not None and tokens[-1].origin == "recovered":
                    self.refusals.append(self._ranked(*self._refused, tokens[-1].id))
                self._refused = None
                self._settled += len(tokens)
            case _:
                pass

    def _ranked(self, block: Sequence[int], place: int, recovered: int) -> Refusal:
        first = self._prompt_length + self._settled
        branches = [
            (self.acceptance**i * chance, i, other)
            for i, drafted in enumerate(block)
            for other, chance in self._specialist.likeliest.get(first + i, ())
            if other != drafted
        ]
        row = [other for _, i, other in branches if i == place]
        order = [(i, other) for _, i, other in sorted(branches, reverse=True)]
        wanted = place, recovered
        return Refusal(
            row.index(recovered) + 1 if recovered in row else 0,
            order.index(wanted) + 1 if wanted in order else 0,
        )


def among_first(ranks: Sequence[int], count: int) -> int:
    """How many ranks are no worse than `count`."""
    return sum(1 <= rank <= count for rank in ranks)


def gain(
    machine: Machine, acceptance: float, hits: Sequence[float], branch: float
) -> float:
    """How much faster the best loop is that drafts branches, than the best that does
    not; 0 where none is. A branch costs so much of its tokens drafted in turn."""
    without = best_without_branches(machine, acceptance)
    same = replace(without, hits=tuple(hits), branch=branch)
    own = best_loop(machine, acceptance, hits=hits, branch=branch)
    first, *others = (
        simulate(machine, loop, acceptance).seconds_a_token
        for loop in (without, same, own)
    )
    return max(0.0, first / min(others) - 1.0)


@cache
def best_without_branches(machine: Machine, acceptance: float) -> Loop:
    """The lengths and the window that take the least time."""
    return best_loop(machine, acceptance)


@click.command("branches")
@click.option(
    "--writers",
    type=AT_LEAST_ONE,
    default=8,
    show_default=True,
    help="Requests that are written to count the hits.",
)
@click.option(
    "--tokens",
    type=AT_LEAST_ONE,
    default=120,
    show_default=True,
    help="Tokens of a text, at most.",
)
@click.option(
    "--draft-length",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="Tokens of a block.",
)
@click.option(
    "--temperature",
    type=TEMPERATURE,
    default=0.7,
    show_default=True,
    help="Of the texts.",
)
@click.option(
    "--json",
    "target",
    type=NEW_FILE,
    metavar="FILE",
    help="Write all figures there too.",
)
def command(
    writers: int,
    tokens: int,
    draft_length: int,
    temperature: float,
    target: Path | None,
) -> None:
    """What drafting on from likely refusals would be worth.

    While a block is out and the device has drafted all that it may, it could draft on
    from the likeliest outcomes of that block: refused at one of its tokens, with one of
    the others that the specialist thinks likely in its place. The embedded pair writes,
    and what really came is ranked among these. Then the loop runs in simulated time
    with such hits and without, for the times of this machine and for those of a GPU.
    """
    small = load_model(locate("specialist"))
    examples = emails_asked_for(writers, 0)
    prompts = [prompts_of(small, example, tokens) for example in examples]
    order = PairOrder(
        "embedded",
        str(locate("specialist")),
        str(locate("generalist")),
        context=small.context_length,
        vocabulary_size=small.vocabulary_size,
    )
    ends = small.vocabulary.end_ids
    small.close()

    with closing(order.device()) as device:
        draft = timed(device, 400, (1,), 20)[1]
    server = order.server()
    opened = server.opened()
    assert opened.base is not None
    passes = [
        timed(model, 200, (1, 8), 20) for model in (opened.generalist, opened.base)
    ]
    for model in server.each():
        model.close()
    one, eight = (sum(times[size] for times in passes) for size in (1, 8))
    here = Machine(draft, one - (eight - one) / 7, (eight - one) / 7)
    gpu = Machine(0.007, 0.0443)

    found: dict[str, list[Guesses]] = {}
    with closing(Recording(order.device())) as recording, serving(order) as address:
        for method in METHODS:
            for seed, pair in enumerate(prompts):
                settings = MethodSettings(
                    method=method,
                    temperature=temperature,
                    top_p=_TOP_P,
                    draft_length=draft_length,
                    seed=seed,
                )
                guesses = Guesses(recording, len(pair.private_ids))
                device_half = Device(recording, pair, ends)
                device_half.write(address, settings, tokens, hear=guesses.hear)
                found.setdefault(method, []).append(guesses)

    rows = [["", "kept", "refusals", *(f"{n}" for n in BRANCHES)]]
    gains = [["", "trip ms", "ms/token", *COSTS]]
    figures = []
    for method, texts in found.items():
        refusals = [refusal for text in texts for refusal in text.refusals]
        accepted = sum(text.accepted for text in texts)
        kept = wilson(accepted, accepted + len(refusals))
        ranks = {
            "token": [refusal.rank for refusal in refusals],
            "place and token": [refusal.branch for refusal in refusals],
        }
        shares = {
            name: [among_first(found_at, n) / max(1, len(found_at)) for n in BRANCHES]
            for name, found_at in ranks.items()
        }
        for name, values in shares.items():
            row = [f"{method}, {name}", f"{kept.value:.0%}", str(len(refusals))]
            rows.append([*row, *(f"{share:.0%}" for share in values)])
        hits = [
            among_first(ranks["place and token"], n) / max(1, len(refusals))
            for n in range(1, BRANCHES[-1] + 1)
        ]
        for name, machine, acceptance in (
            ("here", here, kept.value),
            ("paced 7/44.3 ms", gpu, 0.75),
            ("paced 7/44.3 ms", gpu, 0.9),
        ):
            for trip in TRIPS:
                far = replace(machine, round_trip=trip)
                loop = best_without_branches(far, acceptance)
                each = simulate(far, loop, acceptance).seconds_a_token
                more = {
                    way: gain(far, acceptance, hits, cost)
                    for way, cost in COSTS.items()
                }
                label = f"{method}, {name}, a = {acceptance:.2f}"
                times = f"{1000 * trip:.0f}", f"{1000 * each:.2f}"
                gains.append([label, *times, *(f"{g:+.1%}" for g in more.values())])
                figures.append({"of": label, "trip": trip, "gain": more})
    click.echo("Among the first n guesses, n =\n" + plain(rows))
    click.echo("\n" + plain(gains))
    if target:
        body = {"here": asdict(here), "hits": rows, "gains": figures}
        target.write_text(json.dumps(body, indent=1) + "\n", "utf-8")
