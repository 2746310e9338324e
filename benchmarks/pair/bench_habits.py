"""`lab bench habits`: whose greeting, sign-off and pet phrase stand in a text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import mean
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
)
from benchmarks.pair.pair import Pair
from benchmarks.pair.synthetic_writers import emails_asked_for, fingerprint
from decoding_core.settings import MethodSettings
from edge_app.evaluation.bootstrap import Resamples
from models.files import locate
from models.lazy_commands import Command
from models.running.settings import usable_cores
from models.synthetic_writers.examples import Example

METHODS = ("specialist", "steering", "generalist")
KINDS = ("greeting", "sign-off", "pet phrase")
_MAX_TOKENS = 240


@dataclass(frozen=True, slots=True)
class Row:
    """How often a method keeps habits; without a kind, over all kinds."""

    method: str
    kind: str
    share: Share
    chance: float


def shows(text: str, kind: str, habit: str) -> bool:
    """Whether a text has a habit, whatever the case and the spaces."""
    text, habit = _plain(text), _plain(habit)
    return text.startswith(habit) if kind == "greeting" else habit in text


def habit_of(example: Example, kind: str, recipient: str) -> str:
    """A writer's habit, greeting somebody else where it greets; empty: has none."""
    habit = example.habits.get(kind, "")
    if kind != "greeting":
        return habit
    name = rf"(?<!\w){re.escape(example.request.recipient)}(?!\w)"
    return re.sub(name, lambda _: recipient, habit, flags=re.IGNORECASE)


def judged(method: str, examples: Sequence[Example], texts: Sequence[str]) -> list[Row]:
    """A row for each kind of habit, and one over all."""
    kept = np.zeros((len(KINDS), len(texts)))
    bound = np.zeros_like(kept)
    chances = []
    for number, kind in enumerate(KINDS):
        of_others = []
        for i, (example, text) in enumerate(zip(examples, texts, strict=True)):
            habit = example.habits.get(kind, "")
            bound[number, i] = bool(habit)
            kept[number, i] = bool(habit) and shows(text, kind, habit)
            others = (other for j, other in enumerate(examples) if j != i)
            habits = (habit_of(o, kind, example.request.recipient) for o in others)
            of_others += [shows(text, kind, habit) for habit in habits if habit]
        chances.append(mean(of_others) if of_others else 0.0)
    rows = [
        Row(method, kind, wilson(int(hits.sum()), int(of.sum())), chance)
        for kind, hits, of, chance in zip(KINDS, kept, bound, chances, strict=True)
    ]
    # Over all kinds writers are resampled, as the habits of one go together.
    drawn = Resamples(range(len(texts)), seed=0)
    share = drawn.ratio(kept.sum(axis=0), bound.sum(axis=0))
    low = 0.0 if share.low is None else share.low
    high = 1.0 if share.high is None else share.high
    every = Share(share.value, int(bound.sum()), low, high)
    chance = float(np.average(chances, weights=bound.sum(axis=1)))
    return [*rows, Row(method, "all", every, chance)]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


@click.command("habits", cls=Command)
@click.option(
    "--writers",
    type=AT_LEAST_ONE,
    default=100,
    show_default=True,
    help="Invented ones.",
)
@click.option(
    "--seed", type=SEED, default=0, show_default=True, help="Of writers and draws."
)
@click.option(
    "--temperature",
    type=TEMPERATURE,
    default=0.0,
    show_default=True,
    help="0 is greedy.",
)
@click.option(
    "--strength",
    default=MethodSettings().strength,
    show_default=True,
    help="Of steering.",
)
@click.option(
    "--threshold",
    default=MethodSettings().threshold,
    show_default=True,
    help="Of steering.",
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
def command(**options: Any) -> None:
    """Whose greeting, sign-off and pet phrase a text has.

    Invented writers whom no training has met ask for an email. Their habits can be read
    in the history, which the specialist alone sees; the server reads the request alone.
    Each text is written three times: by the specialist, by steering with both models in
    this process, and by the generalist.

    A habit is kept when it stands in the text word for word, whatever the case and the
    spaces; a greeting must stand at its beginning. Chance is how often the habits of
    all the other writers do, greeting the same person.

    \b
        specsteer lab bench habits --writers 100 --json habits.json
    """
    small = options["specialist"] or locate("specialist")
    large = options["generalist"] or locate("generalist")
    pair = Pair(small, large, options["threads"])
    examples = emails_asked_for(options["writers"], options["seed"])
    rows = []
    for method in METHODS:
        how = _settings(method, options)
        texts = [pair.write(e, how, _MAX_TOKENS).text for e in examples]
        rows += judged(method, examples, texts)
        for row in rows[-len(KINDS) - 1 :]:
            chance = f"chance {row.chance:6.1%}"
            print(f"{row.method:12}{row.kind:12}{row.share!s:36} {chance}")
        for example, text in zip(examples[: options["show"]], texts, strict=False):
            print(f"\n[{method}] {example.request.text}\n{text}\n   {example.habits}")
    figures = {
        "models": {path.name: fingerprint(path) for path in (small, large)},
        "writers": len(examples),
        "settings": asdict(_settings("steering", options)),
        "rows": [asdict(row) for row in rows],
    }
    if options["target"]:
        options["target"].write_text(json.dumps(figures, indent=1))


def _settings(method: str, options: dict[str, Any]) -> MethodSettings:
    return MethodSettings(
        method=method,
        temperature=options["temperature"],
        strength=options["strength"],
        threshold=options["threshold"],
        seed=options["seed"],
    )
