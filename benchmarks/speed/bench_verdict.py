"""`specsteer bench verdict`: what deciding on a block costs, without any model."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import click
import numpy as np

from benchmarks.options import AT_LEAST_ONE, NEW_FILE
from decoding_core.messages import DRAFT_LIMIT, DraftBlock, digest
from decoding_core.methods import build
from decoding_core.sampling import Floats, Use
from decoding_core.settings import MethodSettings
from decoding_core.verifier import role_of, verify
from edge_app.decoding.deciders import (
    ComparingDecider,
    DeviceCouples,
    DeviceDecides,
    Draft,
    ServerDecides,
)

_DECIDERS: dict[str, Callable[..., ComparingDecider]] = {
    "steering": ServerDecides,
    "lossless": DeviceDecides,
    "coupled": DeviceCouples,
}
_LIKELY = 40
"""Tokens of a row that stand out, as those do that may come next."""


@dataclass(frozen=True, slots=True)
class Row:
    """Median milliseconds."""

    vocabulary: int
    method: str
    temperature: float
    server: float
    """For the verdict on a block."""
    device: float
    """To decide on a block by the verdict."""
    draw: float
    """To draw one drafted token."""


def rows_of_logits(rows: int, vocabulary: int) -> Floats:
    """Logits (rows, V) of which a few tokens stand out."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0.0, 2.5, (rows, vocabulary))
    for row in logits:
        row[rng.integers(0, vocabulary, _LIKELY)] += rng.uniform(5.0, 15.0, _LIKELY)
    return logits.astype(np.float32)


def milliseconds(work: Callable[[], object], repeats: int) -> float:
    """The median of so many calls, after one that is not counted; the time that a core
    worked, whatever else the machine does."""
    work()
    times = []
    for _ in range(repeats):
        started = time.thread_time()
        work()
        times.append(time.thread_time() - started)
    return 1000.0 * median(times)


class Remembered:
    """In a drafter's place: the specialist's logits, which it has read already."""

    def __init__(self, logits: Floats) -> None:
        self._logits = logits
        self.never_ids: list[int] = []

    def logits_at(self, _text_ids: object, index: int) -> Floats:
        """Logits (V,) at drafted position `index`."""
        return np.asarray(self._logits[index])


def run(settings: MethodSettings, length: int, vocabulary: int, repeats: int) -> Row:
    """The times of one method. All three models have one opinion, in memory of its own
    each, and the likeliest token is drafted where drafts are not coupled: so all stays,
    and every row is looked at. Of the last token alone the generalist thinks little."""
    method, draw = build(settings), settings.draw()
    coupled = settings.method == "coupled"
    specialist = rows_of_logits(length, vocabulary)
    large, base = specialist.copy(), specialist.copy()

    def drafted(position: int) -> int:
        if coupled:
            return draw.coupled(draw.unnormalised(specialist[position]), position)
        return draw.from_logits(specialist[position], Use.DRAFT, position)

    tokens = [int(row.argmax()) for row in specialist]
    if coupled:
        tokens = [drafted(position) for position in range(length)]
    large[-1, tokens[-1]] -= 6.0
    block = DraftBlock(0, 0, 0, digest([]), (), tuple(tokens))
    role = role_of(settings.terms(), method)
    decider = _DECIDERS[settings.method](
        Remembered(specialist), method, draw, role, settings.threshold
    )
    verdict = verify(block, large, base, role)
    draft = Draft(tokens, list(specialist))
    position = itertools.count()
    return Row(
        vocabulary,
        settings.method,
        settings.temperature,
        milliseconds(lambda: verify(block, large, base, role), repeats),
        milliseconds(lambda: decider.decide(draft, verdict, [], length), repeats),
        milliseconds(lambda: drafted(next(position) % length), repeats),
    )


@click.command("verdict")
@click.option(
    "--vocabulary",
    type=AT_LEAST_ONE,
    multiple=True,
    default=(8192, 151_936),
    show_default=True,
    help="How many tokens the models know; may be given several times.",
)
@click.option(
    "--length",
    type=click.IntRange(1, DRAFT_LIMIT),
    default=8,
    show_default=True,
    help="Drafted tokens.",
)
@click.option(
    "--repeats",
    type=AT_LEAST_ONE,
    default=40,
    show_default=True,
    help="Calls of each kind.",
)
@click.option("--json", "target", type=NEW_FILE, help="Write the figures there too.")
def command(
    vocabulary: tuple[int, ...], length: int, repeats: int, target: Path | None
) -> None:
    """What it costs to decide on a block of drafted tokens.

    Random logits of which a few stand out, no models: the median milliseconds of the
    server's verdict on a block, of the device's decision by it, and of drawing one
    drafted token, at temperatures 0, 0.7 and 1 with top-p 0.95. The last token of the
    block is refused, which costs most. The time is that of one core. The vocabularies
    are that of the embedded pair and that of Qwen3.
    """
    rows = [
        run(
            MethodSettings(
                method=method,
                temperature=temperature,
                top_p=0.95,
                draft_length=length,
            ),
            length,
            size,
            repeats,
        )
        for size in vocabulary
        for method in _DECIDERS
        for temperature in (0.0, 0.7, 1.0)
    ]
    print("vocabulary  method    temp  verdict ms  decision ms  draw ms")
    for row in rows:
        print(
            f"{row.vocabulary:10}  {row.method:8} {row.temperature:5.1f}"
            f"{row.server:12.2f}{row.device:13.2f}{row.draw:9.3f}"
        )
    if target:
        target.write_text(json.dumps([asdict(row) for row in rows], indent=1))
