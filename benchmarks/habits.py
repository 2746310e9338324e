"""Whose greeting, sign-off and pet phrase stand in a text?

Invented writers whom no training has met ask for an email. Their habits can be read in
the history, which the specialist alone sees; the server reads the request alone. Each
text is written three times: by the specialist, by steering with both models in this
process, and by the generalist.

A habit is kept when it stands in the text word for word, whatever the case and the
spaces; a greeting must stand at its beginning. Chance is how often the habits of
all the other writers do, greeting the same person.

    python -m benchmarks.habits --writers 100 [--json FILE]
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import click
import numpy as np

from benchmarks.intervals import Share, wilson
from benchmarks.pair import Pair
from benchmarks.strangers import fingerprint
from decoding_core.foreign_text import gate_output
from decoding_core.sampling import Floats
from decoding_core.settings import MethodSettings
from edge_app.evaluation.bootstrap import Resamples
from models.engines.settings import usable_cores
from models.files import locate
from models.synthetic_writers.examples import Example, unseen_writers

METHODS = ("specialist", "steering", "generalist")
KINDS = ("greeting", "sign-off", "pet phrase")
_MAX_TOKENS = 240
_RESULTS = Path(__file__).parent / "results"


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
        for i, (example, text) in enumerate(zip(examples, texts, strict=True)):
            habit = example.habits.get(kind, "")
            bound[number, i] = bool(habit)
            kept[number, i] = bool(habit) and shows(text, kind, habit)
        chances.append(_chance(kind, examples, texts))
    rows = [
        Row(method, kind, wilson(int(hits.sum()), int(of.sum())), chance)
        for kind, hits, of, chance in zip(KINDS, kept, bound, chances, strict=True)
    ]
    chance = float(np.average(chances, weights=bound.sum(axis=1)))
    return [*rows, Row(method, "all", _overall(kept, bound), chance)]


def strangers(count: int, seed: int) -> list[Example]:
    """Emails by writers nobody has met, to somebody the request names."""
    made = (e for e in unseen_writers(3 * count, seed, "email") if e.request.recipient)
    return [example for _, example in zip(range(count), made, strict=False)]


def _overall(kept: Floats, bound: Floats) -> Share:
    """The share over all kinds; writers are resampled, whose habits go together."""
    drawn = Resamples(range(kept.shape[1]), seed=0)
    share = drawn.ratio(kept.sum(axis=0), bound.sum(axis=0))
    low = 0.0 if share.low is None else share.low
    high = 1.0 if share.high is None else share.high
    return Share(share.value, int(bound.sum()), low, high)


def _chance(kind: str, examples: Sequence[Example], texts: Sequence[str]) -> float:
    hits = []
    for i, (example, text) in enumerate(zip(examples, texts, strict=True)):
        others = (other for j, other in enumerate(examples) if j != i)
        habits = (habit_of(o, kind, example.request.recipient) for o in others)
        hits += [shows(text, kind, habit) for habit in habits if habit]
    return mean(hits) if hits else 0.0


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _print(rows: Sequence[Row]) -> None:
    for row in rows:
        print(f"{row.method:12}{row.kind:12}{row.share!s:36} chance {row.chance:6.1%}")


@click.command()
@click.option("--writers", default=100, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--temperature", default=0.0, show_default=True)
@click.option("--strength", default=MethodSettings().strength, show_default=True)
@click.option("--threshold", default=MethodSettings().threshold, show_default=True)
@click.option("--threads", default=usable_cores(), show_default=True)
@click.option("--specialist", type=click.Path(path_type=Path), help="A GGUF file.")
@click.option("--generalist", type=click.Path(path_type=Path), help="A GGUF file.")
@click.option(
    "--json",
    "target",
    type=click.Path(path_type=Path),
    help="Where to; else to benchmarks/results.",
)
@click.option("--show", default=0, help="Print so many of the texts.")
def main(**options: Any) -> None:
    """Print how often habits are kept, and write the figures down."""
    small = options["specialist"] or locate("specialist")
    large = options["generalist"] or locate("generalist")
    pair = Pair(small, large, options["threads"])
    examples = strangers(options["writers"], options["seed"])
    rows = []
    for method in METHODS:
        how = _settings(method, options)
        texts = [pair.write(e, how, _MAX_TOKENS).text for e in examples]
        rows += judged(method, examples, texts)
        _print(rows[-len(KINDS) - 1 :])
        for example, text in zip(examples[: options["show"]], texts, strict=False):
            print(f"\n[{method}] {example.request.text}\n{text}\n   {example.habits}")
    figures = {
        "models": {path.name: fingerprint(path) for path in (small, large)},
        "writers": len(examples),
        "settings": asdict(_settings("steering", options)),
        "rows": [asdict(row) for row in rows],
    }
    target = options["target"] or _RESULTS / "habits.json"
    target.write_text(json.dumps(figures, indent=1))


def _settings(method: str, options: dict[str, Any]) -> MethodSettings:
    return MethodSettings(
        method=method,
        temperature=options["temperature"],
        strength=options["strength"],
        threshold=options["threshold"],
        seed=options["seed"],
    )


if __name__ == "__main__":
    gate_output()
    main()
