"""The results of a run, as a table and as one JSON object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.quality.cache import code_id, versions
from benchmarks.quality.lab import Lab
from benchmarks.quality.runner import Result
from benchmarks.quality.summary import Row
from decoding_core.foreign_text import one_line
from decoding_core.settings import MethodSettings
from edge_app.evaluation.bootstrap import LEVEL, RESAMPLES
from edge_app.evaluation.table import Rows, aligned
from edge_app.retrieval.personalisation import USUAL

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
    Column("score", "score", 1.0, 3),
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
                "score": one.score,
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
