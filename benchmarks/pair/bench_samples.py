"""`specsteer lab bench samples`: texts as they come, unedited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from benchmarks.options import AT_LEAST_ONE, MODEL_FILE, SEED
from benchmarks.pair.pair import Pair, Written
from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Statistics
from models.files import locate
from models.lazy_commands import Command
from models.running.settings import usable_cores
from models.synthetic_writers.examples import Example, unseen_writers

GENRES = ("email", "review", "post", "note")
THRESHOLDS = (0.5, 0.1)
TEMPERATURES = (0.0, 0.8)
_MAX_TOKENS = 200


@dataclass(frozen=True, slots=True)
class Sample:
    """A request and what was written for it, by temperature and threshold."""

    example: Example
    steered: dict[tuple[float, float], Written]
    generalist: Written


def kept(written: Sequence[Statistics]) -> float:
    """Share of the drafted tokens that the server kept, over several texts."""
    drafted = sum(statistics.drafted for statistics in written)
    return sum(statistics.accepted for statistics in written) / max(1, drafted)


def sampled(pair: Pair, example: Example, number: int) -> Sample:
    """One request, written in all the ways; `number` is the seed."""
    steered = {
        (temperature, threshold): pair.write(
            example, _settings("steering", temperature, threshold, number), _MAX_TOKENS
        )
        for temperature in TEMPERATURES
        for threshold in THRESHOLDS
    }
    alone = _settings("generalist", 0.0, THRESHOLDS[0], number)
    return Sample(example, steered, pair.write(example, alone, _MAX_TOKENS))


def acceptance_table(samples: dict[str, list[Sample]]) -> list[str]:
    """Lines of Markdown: a row per genre, a column per temperature and threshold."""
    keys = [(t, threshold) for t in TEMPERATURES for threshold in THRESHOLDS]
    names = [f"temperature {t:g}, threshold {threshold:g}" for t, threshold in keys]
    lines = [f"| genre | {' | '.join(names)} |", "|---" * (len(keys) + 1) + "|"]
    for genre, of_genre in samples.items():
        shares = [kept([s.steered[key].statistics for s in of_genre]) for key in keys]
        lines.append(f"| {genre} | {' | '.join(f'{s:.1%}' for s in shares)} |")
    return lines


def texts(samples: dict[str, list[Sample]]) -> list[str]:
    """Lines of Markdown: each request with its texts, threshold 0.5."""
    lines = []
    for genre, of_genre in samples.items():
        lines += ["", f"### {genre.capitalize()}"]
        for number, sample in enumerate(of_genre, 1):
            request = sample.example.request
            asked = request.text
            if request.recipient:
                asked += f" ({request.recipient})"
            lines += ["", f"**{number}. {_line(asked)}**  "]
            habits = sample.example.habits.items()
            if habits:
                told = ", ".join(f"{kind} “{habit}”" for kind, habit in habits)
                lines.append(f"_Habits in the history: {_line(told)}_")
            for temperature in TEMPERATURES:
                written = sample.steered[temperature, THRESHOLDS[0]]
                lines += ["", f"steered, temperature {temperature:g}:"]
                lines += _quoted(written.text)
            lines += ["", "generalist alone, temperature 0:"]
            lines += _quoted(sample.generalist.text)
    return lines


def _quoted(text: str) -> list[str]:
    return ["", *(f"> {line}  " if line else ">" for line in text.split("\n"))]


def _line(text: str) -> str:
    return " / ".join(part for part in text.split("\n") if part.strip())


def _settings(
    method: str, temperature: float, threshold: float, seed: int
) -> MethodSettings:
    return MethodSettings(
        method=method, temperature=temperature, threshold=threshold, seed=seed
    )


@click.command("samples", cls=Command)
@click.option(
    "--each",
    type=AT_LEAST_ONE,
    default=10,
    show_default=True,
    help="Requests of a genre.",
)
@click.option("--seed", type=SEED, default=1, show_default=True, help="Of the writers.")
@click.option(
    "--threads", type=AT_LEAST_ONE, default=usable_cores(), help="Of each model."
)
@click.option("--specialist", type=MODEL_FILE, help="A GGUF file.")
@click.option("--generalist", type=MODEL_FILE, help="A GGUF file.")
def command(**options: Any) -> None:
    """Texts as they come, with the share of drafts kept.

    Ten requests of each genre by invented writers whom no training has met, written by
    steering at temperature 0 and at 0.8, and by the generalist alone. Printed as
    Markdown: the model card holds the output.

    \b
        specsteer lab bench samples --each 10 > samples.md
    """
    small = options["specialist"] or locate("specialist")
    large = options["generalist"] or locate("generalist")
    pair = Pair(small, large, options["threads"])
    samples = {}
    for genre in GENRES:
        examples = unseen_writers(options["each"], options["seed"], genre)
        samples[genre] = [sampled(pair, e, i) for i, e in enumerate(examples)]
        click.echo(f"{genre}: done", err=True)
    print("\n".join([*acceptance_table(samples), *texts(samples)]))
