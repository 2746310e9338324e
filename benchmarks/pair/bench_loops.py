"""`specsteer lab bench loops`: how many texts get caught in a loop."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.intervals import Share, wilson
from benchmarks.options import (
    AT_LEAST_ONE,
    MODEL_FILE,
    NEW_FILE,
    NONE_OR_MORE,
    SEED,
    TEMPERATURE,
    TOP_P,
)
from benchmarks.pair.synthetic_writers import CONTEXT, fingerprint, prompts_of
from decoding_core.protocols import Reading
from decoding_core.sampling import Draw, Noise, Use
from models.files import ROLES, locate
from models.lazy_commands import Command
from models.running.loading import load_model
from models.running.settings import EngineSettings, usable_cores
from models.synthetic_writers.examples import unseen_writers

_AT_ONCE = 10
"""Texts that a model goes on with in one pass."""
_MOST = 3
"""Times a span may stand in immediate succession."""


@dataclass(frozen=True, slots=True)
class Writing:
    """How the texts are written."""

    runs: int
    tokens: int
    temperature: float
    top_p: float
    seed: int
    threads: int

    def draw(self, number: int) -> Draw:
        """How the tokens of one of the texts are drawn."""
        return Draw(self.temperature, self.top_p, Noise(1000 * self.seed + number))


@dataclass(frozen=True, slots=True)
class Row:
    """The share of texts with a loop, in words and in tokens."""

    model: str
    ends: bool
    """Whether a text may end before its last token."""
    words: Share
    tokens: Share
    mean_tokens: float


def repeats(items: Sequence[Hashable]) -> int:
    """The most times that any span of items stands in immediate succession."""
    numbers: dict[Hashable, int] = {}
    ids = np.array([numbers.setdefault(item, len(numbers)) for item in items])
    most = min(1, len(ids))
    for length in range(1, len(ids) // 2 + 1):
        # The span stands k times where k - 1 lengths in a row agree with what is one
        # length before.
        same = np.concatenate([[False], ids[length:] == ids[:-length], [False]])
        edges = np.flatnonzero(np.diff(same))
        runs = edges[1::2] - edges[::2]
        if len(runs):
            most = max(most, 1 + int(runs.max()) // length)
    return most


class Runner:
    """One model, going on with several texts at once."""

    def __init__(self, path: Path, threads: int) -> None:
        self.model = load_model(path, EngineSettings(threads=threads))
        self._context = self.model.open(_AT_ONCE, CONTEXT)
        self._ends = sorted(self.model.vocabulary.end_ids)

    def texts(
        self, prompts: Sequence[Sequence[int]], how: Writing, ends: bool
    ) -> Iterator[list[int]]:
        """The tokens after each prompt; `ends` says whether they may be fewer."""
        for start in range(0, len(prompts), _AT_ONCE):
            unread = dict(enumerate(prompts[start : start + _AT_ONCE]))
            draws = [how.draw(start + number) for number in unread]
            texts: list[list[int]] = [[] for _ in unread]
            for number in unread:
                self._context.sequence(number).rollback(0)
            for position in range(how.tokens):
                readings = [Reading(number, ids) for number, ids in unread.items()]
                logits = self._context.evaluate(readings)
                drawn = {}
                for number, rows in zip(unread, logits, strict=True):
                    allowed = rows[0].copy()
                    if not ends:
                        allowed[self._ends] = -np.inf
                    drawn[number] = draws[number].from_logits(
                        allowed, Use.DRAFT, position
                    )
                unread = {n: [t] for n, t in drawn.items() if t not in self._ends}
                for number, (token,) in unread.items():
                    texts[number].append(token)
                if not unread:
                    break
            yield from texts


def measured(role: str, runner: Runner, how: Writing, show: int) -> list[Row]:
    """The rows of one model: once it must go on, once it may end."""
    rows: list[Row] = []
    private = role == "specialist"
    prompts = [
        both.private_ids if private else both.public_ids
        for both in (
            prompts_of(runner.model, example, how.tokens)
            for example in unseen_writers(how.runs, how.seed)
        )
    ]
    for ends in (False, True):
        texts = list(runner.texts(prompts, how, ends))
        written = [
            b"".join(map(runner.model.vocabulary.piece, ids)).decode(errors="replace")
            for ids in texts
        ]
        looped = [text for text in written if repeats(text.split()) > _MOST]
        in_tokens = sum(repeats(ids) > _MOST for ids in texts)
        shares = wilson(len(looped), len(texts)), wilson(in_tokens, len(texts))
        rows.append(Row(role, ends, *shares, sum(map(len, texts)) / len(texts)))
        for text in (*looped, *written)[:show]:
            print(f"\n[{role}, {'may end' if ends else 'must go on'}]\n{text}")
    return rows


@click.command("loops", cls=Command)
@click.option(
    "--runs",
    type=AT_LEAST_ONE,
    default=100,
    show_default=True,
    help="Texts of each model.",
)
@click.option(
    "--tokens",
    type=AT_LEAST_ONE,
    default=300,
    show_default=True,
    help="Of each text, at most.",
)
@click.option(
    "--temperature",
    type=TEMPERATURE,
    default=0.8,
    show_default=True,
    help="0 is greedy.",
)
@click.option(
    "--top-p", type=TOP_P, default=1.0, show_default=True, help="As for writing."
)
@click.option(
    "--seed", type=SEED, default=0, show_default=True, help="Of writers and draws."
)
@click.option(
    "--threads", type=AT_LEAST_ONE, default=usable_cores(), help="Of each model."
)
@click.option("--specialist", type=MODEL_FILE, help="A GGUF file.")
@click.option("--generalist", type=MODEL_FILE, help="A GGUF file.")
@click.option(
    "--json",
    "target",
    type=NEW_FILE,
    metavar="FILE",
    help="Write all settings and figures there too.",
)
@click.option(
    "--show", type=NONE_OR_MORE, default=0, help="Print so many of the texts."
)
def command(target: Path | None, show: int, **options: Any) -> None:
    """How many texts get caught in a loop.

    Either model goes on for 300 tokens at temperature 0.8: the specialist from private
    prompts, the generalist from public ones, each request by an invented writer. Once
    the ends of a text are forbidden, so that it must go on; once they end it, as in
    use.

    A loop is a span of one or more words that stands more than three times in immediate
    succession. Words are what stands between spaces. The same is counted for tokens.

    \b
        specsteer lab bench loops --runs 40 --show 3
    """
    paths = {role: options.pop(role) or locate(role) for role in ROLES}
    how = Writing(**options)
    # Both are loaded first: that one is broken is told before hours of writing.
    runners = {role: Runner(path, how.threads) for role, path in paths.items()}
    rows = []
    print("model        ends  tokens  loops in words                        in tokens")
    for role, runner in runners.items():
        for row in measured(role, runner, how, show):
            rows.append(row)
            ends = "free" if row.ends else "none"
            print(
                f"{role:13}{ends:6}{row.mean_tokens:6.0f}  {row.words!s:36}{row.tokens}"
            )
    figures = {
        "models": {path.name: fingerprint(path) for path in paths.values()},
        "settings": asdict(how),
        "rows": [asdict(row) for row in rows],
    }
    if target:
        target.write_text(json.dumps(figures, indent=1))
