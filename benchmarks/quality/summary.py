"""From texts to a row of figures for each set and arm, with intervals over users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.quality.runner import Result
from benchmarks.quality.sweep import Arm
from decoding_core.sampling import Floats
from edge_app.evaluation.bootstrap import LEVEL, Estimate, Resamples

Pair = tuple[float, float]
"""What a text adds above and below the line of a figure."""

_FIGURES = (
    *("rouge1", "rougeL", "meteor", "accuracy", "mae", "squared", "score"),
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
    if one.score is not None:
        parts["score"] = one.score, 1.0
    return parts
