"""From texts to a row of figures for each set and arm, with intervals over users."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.quality.runner import Result
from benchmarks.quality.sweep import Arm
from decoding_core.sampling import Floats
from edge_app.evaluation.bootstrap import LEVEL, Estimate, Resamples

Pair = tuple[float, float]
"""What a text adds above and below the line of a figure."""


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
    rows = [_row(dataset, arm, found, seed) for (dataset, arm), found in groups.items()]
    return sorted(rows, key=lambda row: order.index(row.dataset))


def _row(dataset: str, arm: Arm, found: Sequence[Result], seed: int) -> Row:
    figures = {}
    for name, part in _PARTS.items():
        pairs = [(part(one), one.query.user) for one in found]
        usable = [(pair, user) for pair, user in pairs if pair is not None and pair[1]]
        if usable:
            above, below = np.array([pair for pair, _ in usable], float).T
            draws = Resamples([user for _, user in usable], seed)
            figures[name] = draws.ratio(above, below)
    if "squared" in figures:
        figures["rmse"] = _rooted(figures.pop("squared"))
    if "accuracy" in figures:
        figures["f1"] = _f1(found, seed)
    users = {one.query.user for one in found}
    return Row(dataset, arm, len(found), len(users), figures)


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


def _rooted(squared: Estimate) -> Estimate:
    ends = (squared.low, squared.high)
    low, high = (None if end is None else float(np.sqrt(end)) for end in ends)
    return Estimate(float(np.sqrt(squared.value)), low, high)


def _score(name: str) -> Callable[[Result], Pair | None]:
    def part(one: Result) -> Pair | None:
        if one.outcome is None or name not in one.outcome.scores:
            return None
        return one.outcome.scores[name], 1.0

    return part


def _squared(one: Result) -> Pair | None:
    error = _score("error")(one)
    return None if error is None else (error[0] ** 2, 1.0)


def _tokens(one: Result) -> Pair | None:
    return None if one.outcome is None else (one.outcome.tokens, 1.0)


def _kept(one: Result) -> Pair | None:
    return None if one.outcome is None else (one.outcome.accepted, one.outcome.drafted)


def _speed(one: Result) -> Pair | None:
    return None if one.outcome is None else (one.outcome.tokens, one.outcome.seconds)


def _bytes(one: Result) -> Pair | None:
    if one.outcome is None:
        return None
    return one.outcome.up + one.outcome.down, one.outcome.tokens


def _nats(one: Result) -> Pair | None:
    return None if one.nats is None else (one.nats, one.size)


def _own_score(one: Result) -> Pair | None:
    return None if one.score is None else (one.score, 1.0)


_PARTS: dict[str, Callable[[Result], Pair | None]] = {
    "rouge1": _score("rouge1"),
    "rougeL": _score("rougeL"),
    "meteor": _score("meteor"),
    "accuracy": _score("accuracy"),
    "mae": _score("error"),
    "squared": _squared,
    "score": _own_score,
    "tokens": _tokens,
    "kept": _kept,
    "speed": _speed,
    "bytes": _bytes,
    "nats": _nats,
}
