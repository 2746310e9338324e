"""Which strength and which threshold suit the texts that were measured.

A strength is better when true texts cost less under the target T. A threshold is chosen
by what steering emits with it at a drafted place, and by how much of the drafts it
keeps. Nothing is changed for what may be chance: an interval has to say it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from decoding_core.sampling import Floats
from edge_app.evaluation.bootstrap import Estimate, Resamples
from edge_app.evaluation.pair import Measured, Measuring
from edge_app.evaluation.report import FEWEST_UNITS, Change, Draws

WORTH = 0.01
"""Share of the nats that faster writing may cost, and that slower writing must save."""


@dataclass(frozen=True, slots=True)
class Point:
    """One value of a setting."""

    value: float
    nats: Estimate
    """Of the true texts, per byte."""
    change: Change
    """Against the value that is set now."""
    kept: Estimate | None = None
    """Share of the specialist's tokens that are kept."""
    more_kept: Estimate | None = None
    """How much larger that share is than with the value that is set now."""


@dataclass(frozen=True, slots=True)
class Curve:
    """All values of one setting that were tried."""

    name: str
    now: float
    chosen: float
    """`now`, where nothing is clearly better."""
    points: tuple[Point, ...]

    def at(self, value: float) -> Point:
        """The point of a value that was tried."""
        return next(point for point in self.points if point.value == value)

    @property
    def best(self) -> float:
        """The value with the fewest nats, clearly or not."""
        return min(self.points, key=lambda point: point.nats.value).value


@dataclass(frozen=True, slots=True)
class Tuned:
    """What came out."""

    strength: Curve
    threshold: Curve
    texts: int
    units: int
    """How many users, or texts of the only one, the intervals are drawn from."""

    @property
    def enough(self) -> bool:
        """Whether there are texts enough to choose by."""
        return self.units >= FEWEST_UNITS


def tune(
    texts: Sequence[Measured],
    how: Measuring,
    strength: float,
    threshold: float,
    seed: int,
) -> Tuned:
    """The choice for these texts; `strength` and `threshold` are set now, and among
    those measured."""
    users = [(one.case.group, one.case.user) for one in texts]
    resamples = Resamples(users, seed)
    draws = Draws(resamples, np.array([one.size for one in texts], float))
    targets = np.array([one.steered for one in texts], float)  # (n, N)
    strengths = _strengths(draws, how, targets, strength)
    row = how.strengths.index(strengths.chosen)
    emitted = np.array([one.emitted[row] for one in texts], float)  # (n, K)
    kept = np.array([one.kept for one in texts], float)  # (n, K)
    tokens = np.array([one.tokens for one in texts], float)
    thresholds = _thresholds(draws, how, emitted, kept, tokens, threshold)
    return Tuned(strengths, thresholds, len(texts), resamples.units)


def _strengths(draws: Draws, how: Measuring, targets: Floats, now: float) -> Curve:
    before = targets[:, how.strengths.index(now)]
    points = tuple(
        Point(value, draws.per_byte(nats), draws.change(nats, before))
        for value, nats in zip(how.strengths, targets.T, strict=True)
    )
    better = [point for point in points if point.change.verdict == "yes"]
    chosen = min(better, key=_nats, default=None)
    return Curve("strength", now, chosen.value if chosen else now, points)


def _thresholds(
    draws: Draws,
    how: Measuring,
    emitted: Floats,
    kept: Floats,
    tokens: Floats,
    now: float,
) -> Curve:
    place = how.thresholds.index(now)
    points = tuple(
        Point(
            value,
            draws.per_byte(emitted[:, i]),
            draws.change(emitted[:, i], emitted[:, place]),
            draws.resamples.ratio(kept[:, i], tokens),
            draws.resamples.ratio(kept[:, i] - kept[:, place], tokens),
        )
        for i, value in enumerate(how.thresholds)
    )
    enough = [point for point in points if point.change.units >= FEWEST_UNITS]
    saving = [point for point in enough if _costs_at_most(point, -WORTH)]
    faster = [
        point
        for point in enough
        if _costs_at_most(point, WORTH)
        and (more := point.more_kept) is not None
        and more.low is not None
        and more.low > 0.0
    ]
    most = max(faster, key=lambda p: p.kept.value if p.kept else 0.0, default=None)
    chosen = min(saving, key=_nats, default=most)
    return Curve("threshold", now, chosen.value if chosen else now, points)


def _costs_at_most(point: Point, share: float) -> bool:
    high = point.change.relative.high
    return high is not None and high <= share


def _nats(point: Point) -> float:
    return point.nats.value
