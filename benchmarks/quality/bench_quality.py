"""`specsteer lab bench quality`: what each method writes, beside true texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from benchmarks.cache import code_id, versions
from benchmarks.options import (
    AT_LEAST_ONE,
    FILE,
    JSON,
    KEPT,
    MODELS,
    PATH,
    SEED,
    TEMPERATURE,
    TOP_P,
    Listed,
    flag,
    option,
)
from decoding_core.errors import ContextFullError, StoppedError
from decoding_core.foreign_text import one_line
from decoding_core.methods import available
from decoding_core.settings import FIXED_LENGTH, MethodSettings
from edge_app.commands.terminal import Progress, note
from edge_app.retrieval import personalisation
from models.command_line import Command

if TYPE_CHECKING:
    from benchmarks.quality.arms import Arm
    from benchmarks.quality.writing import Lab, Result
    from edge_app.evaluation.figures import Estimate

_USUAL = MethodSettings()
COLUMNS = {
    "rouge1": ("ROUGE-1", 1.0, 3),
    "rougeL": ("ROUGE-L", 1.0, 3),
    "meteor": ("METEOR (no syn.)", 1.0, 3),
    "tokens": ("tokens", 1.0, 1),
    "kept": ("kept", 100.0, 1),
    "speed": ("tok/s", 1.0, 1),
    "bytes": ("B/token", 1.0, 0),
    "nats": ("nats/B", 1.0, 3),
}
"""Each figure with its heading, its unit and its digits."""
LEGEND = (
    "METEOR is without synonyms. tokens: mean length. kept: accepted of the drafted, "
    "in %. tok/s includes reading the prompts. B/token: bytes to and from the large "
    "model for each token written. nats/B: what a byte of the true text costs under "
    "the method's own target at temperature 1; less is better. A dash: there is no "
    "such figure. Intervals are in the JSON."
)


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one arm on one set; a figure that makes no sense is missing."""

    dataset: str
    arm: Arm
    texts: int
    users: int
    figures: dict[str, Estimate]


def rows_of(results: Sequence[Result], seed: int) -> list[Row]:
    """A row for each set and arm, in the order in which they came."""
    from edge_app.evaluation.figures import Resamples

    groups: dict[tuple[str, Arm], list[Result]] = {}
    for result in results:
        groups.setdefault((result.case.group, result.arm), []).append(result)
    rows = []
    for (dataset, arm), found in groups.items():
        figures = {}
        for name in COLUMNS:
            usable = [
                (part, one.case.user)
                for one in found
                if (part := _part(one, name)) is not None and part[1]
            ]
            if usable:
                above, below = np.array([pair for pair, _ in usable], float).T
                draws = Resamples([user for _, user in usable], seed)
                figures[name] = draws.ratio(above, below)
        users = {one.case.user for one in found}
        rows.append(Row(dataset, arm, len(found), len(users), figures))
    order = list(dict.fromkeys(row.dataset for row in rows))
    return sorted(rows, key=lambda row: order.index(row.dataset))


def _part(one: Result, figure: str) -> tuple[float, float] | None:
    """What a text adds above and below the line of a figure; None without it."""
    if figure == "nats":
        return None if one.nats is None else (one.nats, one.size)
    if one.outcome is None:
        return None
    outcome = one.outcome
    if figure in outcome.scores:
        return outcome.scores[figure], 1.0
    return {
        "tokens": (outcome.tokens, 1.0),
        "kept": (outcome.accepted, outcome.drafted),
        "speed": (outcome.tokens, outcome.seconds),
        "bytes": (outcome.up + outcome.down, outcome.tokens),
    }.get(figure)


def table(rows: Sequence[Row]) -> list[list[str]]:
    """A heading and a line for each row; a column for each setting that differs or is
    usual, and for each figure that some row has."""
    settings: dict[str, list[Any]] = {
        "threshold": [row.arm.threshold for row in rows],
        "strength": [row.arm.strength for row in rows],
        "T": [row.arm.steps for row in rows],
        "history": [row.arm.history for row in rows],
    }
    usual = {"T": _USUAL.costeer_steps, "history": personalisation.USUAL}
    settings = {
        name: values
        for name, values in settings.items()
        if name not in usual or set(values) - {None, usual[name]}
    }
    shown = [name for name in COLUMNS if any(name in row.figures for row in rows)]
    heads = [COLUMNS[name][0] for name in shown]
    lines = [["set", "method", *settings, "texts", *heads]]
    for number, row in enumerate(rows):
        cells = [row.dataset, row.arm.method]
        for values in settings.values():
            value = values[number]
            plain = value if isinstance(value, str) else f"{value or 0:g}"
            cells.append("-" if value is None else plain)
        cells.append(str(row.texts))
        for name in shown:
            figure, (_, unit, digits) = row.figures.get(name), COLUMNS[name]
            cells.append(f"{figure.value * unit:.{digits}f}" if figure else "-")
        lines.append(cells)
    return lines


def document(
    rows: Sequence[Row], results: Sequence[Result], lab: Lab, run: dict[str, Any]
) -> dict[str, Any]:
    """Settings, models, versions, rows and every result, without a word of any text;
    `run` says what was asked."""
    from edge_app.evaluation.tables import file_of

    texts = []
    for one in results:
        outcome = {} if one.outcome is None else asdict(one.outcome)
        outcome.pop("text", None)
        arm = {n: getattr(one.arm, n) for n in ("method", "threshold", "strength")}
        arm |= {"steps": one.arm.steps, "history": one.arm.history}
        case = {"set": one.case.group, "user": one.case.user, "query": one.case.name}
        texts.append({**case, **arm, **outcome, "nats": one.nats, "bytes": one.size})
    return {
        "settings": run,
        "models": {role: file_of(path) for role, path in lab.bench.models.items()},
        "versions": {**versions(), "code": code_id()},
        "rows": [
            {
                "set": row.dataset,
                "method": row.arm.method,
                "history": row.arm.history,
                "settings": asdict(row.arm.settings),
                "cannot write": row.arm.refusal or None,
                "texts": row.texts,
                "users": row.users,
                "figures": {name: asdict(one) for name, one in row.figures.items()},
            }
            for row in rows
        ],
        "texts": texts,
    }


@click.command("quality", cls=Command)
@option(
    *("--data", PATH, None, "A file or folder of texts; repeatable."),
    multiple=True,
    required=True,
    metavar="PATH",
)
@option(
    *("--methods", Listed(click.Choice(available())), "all"),
    "all, or names with commas.",
    metavar="NAMES",
)
@option("--users", AT_LEAST_ONE, 3, "The first N of each set.")
@option("--queries", AT_LEAST_ONE, 1, "The first N of each user.")
@option("--max-tokens", click.IntRange(1, 4096), 1024, "The longest text.")
@option("--temperature", TEMPERATURE, 0.0, "0 is greedy.")
@option("--top-p", TOP_P, 1.0, "As for writing.")
@option("--seed", SEED, 0, "Of drawn tokens and of the resamples.")
@option("--strength", Listed(click.FLOAT), "1", "Numbers, with commas: a row for each.")
@option(
    *("--threshold", Listed(click.FLOAT, auto=True), "0.5"),
    "Numbers, with commas; auto is one too.",
)
@option(
    *("--costeer-steps", Listed(click.INT), str(_USUAL.costeer_steps)),
    "T, for costeer.",
)
@option("--costeer-alpha", float, _USUAL.costeer_alpha, "Of its loop.")
@option("--costeer-lambda", float, _USUAL.costeer_lambda, "Of its loop.")
@option("--costeer-eta", float, _USUAL.costeer_eta, "Of its loop.")
@option(
    "--personalisation",
    Listed(click.Choice(personalisation.available())),
    personalisation.USUAL,
    "How past texts are chosen: all, or names with commas.",
    metavar="NAMES",
)
@option("--lora", str, None, "The adapter that tam and pad wear. task")
@option("--reranker", FILE, None, "A GGUF reranker; a row more for what it chooses.")
@option("--draft-length", int, FIXED_LENGTH, "The longest draft.")
@option("--candidates", int, _USUAL.candidates, "Tokens whose probabilities travel.")
@option("--passages", click.IntRange(0, 100), 5, "Past texts in the private prompt.")
@flag("--markdown", "Print the table in Markdown.")
@MODELS
@JSON
@KEPT
def command(**options: Any) -> None:
    """Compare what each method writes with true texts.

    A row for each method and set: ROUGE, METEOR, length, share of the draft that was
    kept, speed, bytes, and nats of the true text.

    PATH holds histories and texts as 'specsteer lab evaluate' reads them. Each result
    is kept at once, so a run that was stopped or killed goes on when it is started
    again; docs/bench.md says more.

    \b
        specsteer lab bench quality --data eval/ --users 5 --max-tokens 200
        specsteer lab bench quality --data eval/ --methods steering \\
            --threshold 1,0.5,0.1,0.01,auto
        specsteer lab bench quality --data eval/ --methods specialist,steering \\
            --personalisation bm25,noise,profile
    """
    # llama.cpp takes 0.2 s to load, which --help does without: hence the imports here.
    from benchmarks.pair import measuring
    from benchmarks.quality import arms, writing
    from edge_app.evaluation import tables
    from edge_app.evaluation.cases import read_files
    from edge_app.evaluation.pair import Measuring

    writing.check_extra()
    named = [
        *("temperature", "top_p", "seed", "draft_length", "candidates"),
        *("costeer_alpha", "costeer_lambda", "costeer_eta"),
    ]
    reranker = options["reranker"]
    chosen = arms.arms(
        options["methods"],
        MethodSettings(**{name: options[name] for name in named}),
        options["threshold"],
        options["strength"],
        may_refuse=set(options["methods"]) == set(available()),
        steps=options["costeer_steps"],
        histories=[*options["personalisation"], *([arms.RERANKED] if reranker else [])],
    )
    cases = read_files(options["data"], options["users"], options["queries"])
    how = Measuring(
        passages=options["passages"],
        max_tokens=options["max_tokens"],
        seed=options["seed"],
    )
    results: list[Result] = []
    with measuring("quality", options) as bench, Progress("writing") as progress:
        lab = writing.Lab(bench, how, reranker)
        try:
            for result in lab.results(cases, chosen, progress.show):
                results.append(result)  # noqa: PERF402 (what was done counts, too)
        except StoppedError as error:
            count = f"{len(results)} of {len(cases) * len(chosen)} texts"
            raise StoppedError(f"stopped after {count}") from error
    if lab.crowded:
        note(
            f"{lab.crowded} of the texts left out: their prompts leave no room for the "
            "text; a lower --max-tokens makes some"
        )
    if not results:
        raise ContextFullError("no text was written")
    rows = rows_of(results, options["seed"])
    lines = [[one_line(cell) for cell in line] for line in table(rows)]
    if options["markdown"]:
        click.echo(tables.markdown_table(lines, left=2))
    else:
        click.echo("\n".join(tables.aligned(lines, left=2)))
    refused = dict.fromkeys(row.arm.refusal for row in rows if row.arm.refusal)
    for sentence in [*refused, LEGEND]:
        note("\n" + click.wrap_text(sentence, 80))
    if options["json_file"] is not None:
        left = {"json_file", "cache", "markdown", "fresh"}
        left |= {"specialist", "generalist", "reranker"}
        asked = {name: value for name, value in options.items() if name not in left}
        asked["data"] = [str(path) for path in options["data"]]
        asked["texts left out"] = lab.crowded
        tables.write(options["json_file"], document(rows, results, lab, asked))
