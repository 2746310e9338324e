"""From texts to a row of figures for each set and arm, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.cache import code_id, versions
from benchmarks.quality.arms import Arm
from benchmarks.quality.writing import Lab, Result
from decoding_core.foreign_text import one_line
from decoding_core.sampling import Floats
from decoding_core.settings import MethodSettings
from edge_app.evaluation.figures import LEVEL, RESAMPLES, Estimate, Resamples
from edge_app.evaluation.tables import Rows, aligned
from edge_app.retrieval.personalisation import USUAL

Pair = tuple[float, float]
"""What a text adds above and below the line of a figure."""

_FIGURES = (
    *("rouge1", "rougeL", "meteor", "accuracy", "mae", "squared"),
    *("tokens", "kept", "speed", "bytes", "nats"),
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
    """A row for each set and arm, sets and arms in the order in which they came."""
    groups: dict[tuple[str, Arm], list[Result]] = {}
    for result in results:
        groups.setdefault((result.query.dataset, result.arm), []).append(result)
    order = list(dict.fromkeys(dataset for dataset, _ in groups))
    rows = []
    for (dataset, arm), found in groups.items():
        parts = [_parts(one) for one in found]
        figures = {}
        for name in _FIGURES:
            usable = [
                (part[name], one.query.user)
                for part, one in zip(parts, found, strict=True)
                if name in part and part[name][1]
            ]
            if usable:
                above, below = np.array([pair for pair, _ in usable], float).T
                draws = Resamples([user for _, user in usable], seed)
                figures[name] = draws.ratio(above, below)
        if squared := figures.pop("squared", None):
            low, high = (
                None if end is None else float(np.sqrt(end))
                for end in (squared.low, squared.high)
            )
            figures["rmse"] = Estimate(float(np.sqrt(squared.value)), low, high)
        if "accuracy" in figures:
            figures["f1"] = _f1(found, seed)
        users = {one.query.user for one in found}
        rows.append(Row(dataset, arm, len(found), len(users), figures))
    return sorted(rows, key=lambda row: order.index(row.dataset))


def macro_f1(
    true: Sequence[str], given: Sequence[str], labels: Sequence[str], weights: Floats
) -> Floats:
    """F1 (R,) averaged over labels, from answers (n,) that count with weights (R, n).
    A label that nobody has or gives counts 0, as in LaMP."""
    total = np.zeros(len(weights))
    for label in labels:
        is_true = np.array([one == label for one in true], float)
        is_given = np.array([one == label for one in given], float)
        both = weights @ (is_true * is_given)
        either = weights @ (is_true + is_given)
        total += np.divide(2 * both, either, out=np.zeros_like(both), where=either > 0)
    return np.asarray(total / max(len(labels), 1))


def _f1(found: Sequence[Result], seed: int) -> Estimate:
    answers = [(one, one.outcome) for one in found if one.outcome is not None]
    true = [one.query.text.strip() for one, _ in answers]
    given = [outcome.text.strip() for _, outcome in answers]
    listed = [label for one, _ in answers for label in one.query.labels]
    labels = list(dict.fromkeys(listed or true))
    (value,) = macro_f1(true, given, labels, np.ones((1, len(true))))
    draws = Resamples([one.query.user for one, _ in answers], seed)
    if draws.weights is None:
        return Estimate(float(value))
    drawn = macro_f1(true, given, labels, draws.weights.astype(float))
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Estimate(float(value), float(low), float(high))


def _parts(one: Result) -> dict[str, Pair]:
    """What a text adds to each figure that it has."""
    parts: dict[str, Pair] = {}
    if one.outcome is not None:
        outcome = one.outcome
        parts = {name: (score, 1.0) for name, score in outcome.scores.items()}
        if "error" in outcome.scores:
            error = outcome.scores["error"]
            parts |= {"mae": (error, 1.0), "squared": (error**2, 1.0)}
        parts["tokens"] = outcome.tokens, 1.0
        parts["kept"] = outcome.accepted, outcome.drafted
        parts["speed"] = outcome.tokens, outcome.seconds
        parts["bytes"] = outcome.up + outcome.down, outcome.tokens
    if one.nats is not None:
        parts["nats"] = one.nats, one.size
    return parts


Object = dict[str, Any]

LEGEND = (
    "METEOR is without synonyms. tokens: mean length. kept: accepted of the drafted, "
    "in %. tok/s includes reading the prompts. B/token: bytes to and from the large "
    "model for each token written. nats/B: what a byte of the true text costs under "
    "the method's own target at temperature 1; less is better. A dash: there is no "
    "such figure. Intervals are in the JSON."
)


@dataclass(frozen=True, slots=True)
class Column:
    """A figure, its heading, its unit and its digits."""

    figure: str
    heading: str
    unit: float
    digits: int


COLUMNS = (
    Column("rouge1", "ROUGE-1", 1.0, 3),
    Column("rougeL", "ROUGE-L", 1.0, 3),
    Column("meteor", "METEOR (no syn.)", 1.0, 3),
    Column("accuracy", "accuracy", 1.0, 3),
    Column("f1", "F1", 1.0, 3),
    Column("mae", "MAE", 1.0, 3),
    Column("rmse", "RMSE", 1.0, 3),
    Column("tokens", "tokens", 1.0, 1),
    Column("kept", "kept", 100.0, 1),
    Column("speed", "tok/s", 1.0, 1),
    Column("bytes", "B/token", 1.0, 0),
    Column("nats", "nats/B", 1.0, 3),
)
_NAMES = ["set", "method"]
_NAMES_IN_JSON = {
    "meteor": "meteor (no synonyms)",
    "kept": "accepted / drafted",
    "speed": "tokens per second",
    "bytes": "bytes per token",
    "nats": "nats per byte",
}


def plain(rows: Sequence[Row]) -> str:
    """For a terminal."""
    lines = aligned([_heading(rows), *_cells(rows)], left=2)
    return "\n".join(map(one_line, lines))


def markdown(rows: Sequence[Row]) -> str:
    """GitHub's Markdown."""
    heading = _heading(rows)
    rule = ["---", "---", *["---:"] * (len(heading) - 2)]
    body = [[cell.replace("|", "\\|") for cell in cells] for cells in _cells(rows)]
    lines = [f"| {' | '.join(cells)} |" for cells in [heading, rule, *body]]
    return "\n".join(map(one_line, lines))


def refusals(rows: Sequence[Row]) -> list[str]:
    """Why some methods wrote nothing, one sentence each."""
    return list(dict.fromkeys(row.arm.refusal for row in rows if row.arm.refusal))


def settings_of(rows: Sequence[Row]) -> dict[str, list[str]]:
    """The settings of all rows in words, by heading; a dash where one makes no
    difference. Which past texts are read, and CoSteer's steps, only where some row
    has others than the usual ones."""
    found: dict[str, list[float | str | None]] = {
        "threshold": [row.arm.threshold for row in rows],
        "strength": [row.arm.strength for row in rows],
        "T": [row.arm.steps for row in rows],
        "history": [row.arm.history for row in rows],
    }
    usual = {"T": MethodSettings().costeer_steps, "history": USUAL}
    return {
        name: ["-" if one is None else _in_words(one) for one in values]
        for name, values in found.items()
        if name not in usual or set(values) - {None, usual[name]}
    }


def _in_words(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _shown(rows: Sequence[Row]) -> list[Column]:
    """The columns that some row has a figure for."""
    there = {name for row in rows for name in row.figures}
    return [column for column in COLUMNS if column.figure in there]


def _heading(rows: Sequence[Row]) -> list[str]:
    columns = (column.heading for column in _shown(rows))
    return [*_NAMES, *settings_of(rows), "texts", *columns]


def _cells(rows: Sequence[Row]) -> Rows:
    columns, found = _shown(rows), []
    settings = zip(*settings_of(rows).values(), strict=True)
    for row, chosen in zip(rows, settings, strict=True):
        cells = [row.dataset, row.arm.method, *chosen, str(row.texts)]
        for column in columns:
            figure = row.figures.get(column.figure)
            cells.append(
                "-"
                if figure is None
                else f"{figure.value * column.unit:.{column.digits}f}"
            )
        found.append(cells)
    return found


def document(
    rows: Sequence[Row], results: Sequence[Result], lab: Lab, run: Mapping[str, Any]
) -> Object:
    """Settings, models, versions, rows and every result, without a word of any
    text; `run` says what was asked."""
    how = asdict(lab.how)
    intervals = {"resamples": RESAMPLES, "level": LEVEL, "drawn": "users"}
    texts = []
    for one in results:
        outcome = {} if one.outcome is None else asdict(one.outcome)
        outcome.pop("text", None)
        texts.append(
            {
                "set": one.query.dataset,
                "user": one.query.user,
                "query": one.query.name,
                "source": one.query.source,
                "method": one.arm.method,
                "threshold": one.arm.threshold,
                "strength": one.arm.strength,
                "steps": one.arm.steps,
                "history": one.arm.history,
                **outcome,
                "nats": one.nats,
                "bytes": one.size,
            }
        )
    return {
        "settings": {**run, **how, "intervals": intervals},
        "models": {
            role: {
                "path": str(path),
                "bytes": path.stat().st_size,
                "sha256": lab.hashes[role],
            }
            for role, path in lab.models.items()
        },
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
                "figures": {
                    _NAMES_IN_JSON.get(name, name): asdict(figure)
                    for name, figure in row.figures.items()
                },
            }
            for row in rows
        ],
        "texts": texts,
    }
