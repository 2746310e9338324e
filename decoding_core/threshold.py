"""The threshold of a text: a number, or the running mean of what it stands for.

The threshold stands for Z, the norm of T at strength 1. For a token drawn from S the
mean of L/B is the sum of S * L/B, which is Z: so the mean over drafted tokens is an
unbiased estimate of the mean Z of the places where they were drawn. A block is looked
at up to its first refusal. Whether a token is looked at depends on those before it
alone, so this does not bias the sum.
"""

from __future__ import annotations

from typing import Literal

from decoding_core.messages import THRESHOLD_LIMIT

Threshold = float | Literal["auto"]
START = 0.5
"""The papers' own; it counts as one token looked at."""


class RunningThreshold:
    """What to send with the next block."""

    def __init__(self, threshold: Threshold = START) -> None:
        self._learns = threshold == "auto"
        self._sum = START if threshold == "auto" else float(threshold)
        self._count = 1

    @property
    def value(self) -> float:
        """The threshold."""
        return min(self._sum / self._count, THRESHOLD_LIMIT)

    def learn(self, mean_ratio: float, looked_at: int) -> None:
        """Take in the mean of L/B over so many more drafted tokens."""
        if self._learns:
            self._sum += mean_ratio * looked_at
            self._count += looked_at
