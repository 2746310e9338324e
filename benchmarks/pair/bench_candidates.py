"""`specsteer bench candidates`: the share of the target that candidates hold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.options import AT_LEAST_ONE, MODEL_FILE, NEW_FILE, SEED
from benchmarks.pair.synthetic_writers import CONTEXT, fingerprint
from decoding_core.errors import ContextFullError
from decoding_core.methods.steering import log_steered
from decoding_core.protocols import Engine
from decoding_core.sampling import Floats, log_softmax
from edge_app.evaluation.cases import Case
from edge_app.evaluation.eval_files import read_files
from edge_app.evaluation.synthetic_writers import unseen_cases
from edge_app.retrieval.context import PromptBuilder
from edge_app.retrieval.passages import find_passages
from models.files import locate
from models.running.loading import load_model
from models.running.settings import EngineSettings, usable_cores

COUNTS = (10, 100, 1000)
_RULES = ("generalist", "contrast", "with base")
_OF_BASE = 8
"""One candidate of so many is the base's, by the third rule."""
_CHUNK = 64
"""Rows of logits at once."""


@dataclass(frozen=True, slots=True)
class Row:
    """Shares of T on K candidates of one rule, over all places of all texts."""

    rule: str
    count: int
    mean: float
    tenth: float
    """One place of ten has less."""
    hundredth: float
    holds_likeliest: float
    """At how many places T's likeliest token is a candidate."""


def shares(
    small: Floats, large: Floats, base: Floats, strength: float, counts: Sequence[int]
) -> Floats:
    """Share of T on the candidates (rules, K, 2, R), and whether T's likeliest token is
    one of them, from log-probabilities (R, V)."""
    target = np.exp(log_steered(small, large, base, strength))
    likeliest = target.argmax(axis=-1)[:, None]
    found = np.empty((len(_RULES), len(counts), 2, len(target)))
    best = np.argsort(-large, axis=-1)
    for at, count in enumerate(counts):
        with_base = base.copy()
        ours = best[:, : count - count // _OF_BASE]
        np.put_along_axis(with_base, ours, np.inf, axis=-1)
        for rule, scores in enumerate((large, large - strength * base, with_base)):
            chosen = np.argsort(-scores, axis=-1)[:, :count]
            held = np.take_along_axis(target, chosen, axis=-1)
            found[rule, at, 0] = held.sum(axis=-1)
            found[rule, at, 1] = (chosen == likeliest).any(axis=-1)
    return found


class Trio:
    """Specialist, base and generalist, reading true texts."""

    def __init__(self, specialist: Path, generalist: Path, threads: int) -> None:
        settings = EngineSettings(threads=threads)
        self._small = load_model(specialist, settings)
        large = load_model(generalist, settings)
        self._engines = [
            model.open(1, CONTEXT).sequence()
            for model in (self._small, large, self._small)
        ]

    def shares(self, case: Case, strength: float, tokens: int) -> Iterator[Floats]:
        """What `shares` says of a text, in parts."""
        vocabulary = self._small.vocabulary
        beginning = vocabulary.tokenize(case.beginning)
        ids = vocabulary.tokenize(case.text)[:tokens]
        builder = PromptBuilder(vocabulary.tokenize, self._small.chat_template, CONTEXT)
        passages = find_passages(case.history(), case.request)
        prompts = builder.build(
            case.request, passages, case.background, len(ids) + len(beginning)
        )
        pairs = zip(
            self._engines,
            (prompts.private_ids, prompts.public_ids, prompts.public_ids),
            strict=True,
        )
        readings = [
            _rows(engine, [*prompt, *beginning], ids) for engine, prompt in pairs
        ]
        for small, large, base in zip(*readings, strict=True):
            yield shares(small, large, base, strength, COUNTS)


def _rows(
    engine: Engine, prompt_ids: Sequence[int], ids: Sequence[int]
) -> Iterator[Floats]:
    """Log-probabilities (up to 64, V) of each next token of a text."""
    engine.rollback(0)
    yield log_softmax(engine.evaluate(prompt_ids, 1).astype(float))
    for start in range(0, len(ids) - 1, _CHUNK):
        chunk = ids[start : min(start + _CHUNK, len(ids) - 1)]
        yield log_softmax(engine.evaluate(chunk, len(chunk)).astype(float))


def rows_of(found: Floats) -> list[Row]:
    """A row for each rule and K from all shares (rules, K, 2, places)."""
    return [
        Row(
            name,
            count,
            float(found[rule, at, 0].mean()),
            float(np.quantile(found[rule, at, 0], 0.1)),
            float(np.quantile(found[rule, at, 0], 0.01)),
            float(found[rule, at, 1].mean()),
        )
        for rule, name in enumerate(_RULES)
        for at, count in enumerate(COUNTS)
    ]


@click.command("candidates")
@click.option(
    "--writers", type=AT_LEAST_ONE, default=40, show_default=True, help="Invented ones."
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Of the writers.")
@click.option(
    "--data",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Files of histories instead, as 'specsteer evaluate' reads them.",
)
@click.option("--strength", default=1.0, show_default=True, help="Of steering.")
@click.option(
    "--max-tokens",
    type=AT_LEAST_ONE,
    default=128,
    show_default=True,
    help="Of each text.",
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
def command(**options: Any) -> None:
    """How much of the target the candidates hold.

    The server sends the K likeliest tokens by the generalist. The papers' literal rule
    sends the K highest of log L - strength * log B instead. A third choice gives an
    eighth of the K to the likeliest by the base. At every place of true texts the share
    of T on each set is taken, over the whole vocabulary.

    \b
        specsteer bench candidates --writers 40
        specsteer bench candidates --data eval/ --json candidates.json
    """
    small = options["specialist"] or locate("specialist")
    large = options["generalist"] or locate("generalist")
    cases = read_files(options["data"]) if options["data"] else []
    cases = cases or unseen_cases(options["writers"], options["seed"])
    trio, parts = Trio(small, large, options["threads"]), []
    for case in cases:
        try:
            parts += list(trio.shares(case, options["strength"], options["max_tokens"]))
        except ContextFullError:
            continue  # its request alone fills the model
    if not parts:
        raise ContextFullError("no request leaves room for its text")
    found = np.concatenate(parts, axis=-1)
    rows = rows_of(found)
    print(f"{found.shape[-1]} places   share of T on the candidates")
    print("chosen by       K     mean  1 of 10  1 of 100  likeliest among them")
    for row in rows:
        print(
            f"{row.rule:12}{row.count:5}{row.mean:9.2%}{row.tenth:9.2%}"
            f"{row.hundredth:10.2%}{row.holds_likeliest:22.1%}"
        )
    if options["target"]:
        figures = {
            "models": {path.name: fingerprint(path) for path in (small, large)},
            "data": [str(path) for path in options["data"]] or "invented writers",
            "texts": len(cases),
            "places": found.shape[-1],
            "strength": options["strength"],
            "rows": [asdict(row) for row in rows],
        }
        options["target"].write_text(json.dumps(figures, indent=1))
