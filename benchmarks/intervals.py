"""Shares, and the intervals they lie in."""

from __future__ import annotations

from math import sqrt

from edge_app.evaluation.figures import Estimate

_Z = 1.96  # standard deviations that hold 95 %


def wilson(hits: float, count: int) -> Estimate:
    """The share of hits and Wilson's interval, which holds near 0 and 1 too. A hit that
    is left to chance counts by that."""
    if not count:
        return Estimate(0.0, 0.0, 1.0)
    share, weight = hits / count, _Z * _Z / count
    centre = (share + weight / 2) / (1 + weight)
    spread = (
        _Z * sqrt(share * (1 - share) / count + weight / (4 * count)) / (1 + weight)
    )
    return Estimate(share, max(0.0, centre - spread), min(1.0, centre + spread))
