"""Shares, and the intervals they lie in."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

_Z = 1.96
"""Standard deviations that hold 95 %."""


@dataclass(frozen=True, slots=True)
class Share:
    """A share of `count` cases and its 95 % interval."""

    value: float
    count: int
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:6.1%} ({self.low:.1%} to {self.high:.1%}, n={self.count})"


def wilson(hits: float, count: int) -> Share:
    """The share of hits and Wilson's interval, which holds near 0 and 1 too. A hit that
    is left to chance counts by that."""
    if not count:
        return Share(0.0, 0, 0.0, 1.0)
    share, weight = hits / count, _Z * _Z / count
    centre = (share + weight / 2) / (1 + weight)
    spread = (
        _Z * sqrt(share * (1 - share) / count + weight / (4 * count)) / (1 + weight)
    )
    return Share(share, count, max(0.0, centre - spread), min(1.0, centre + spread))
