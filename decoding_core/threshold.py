"""The threshold of a text: a number, or the running mean of what it stands for.

The threshold stands for Z, the norm of T at strength 1. For a token drawn from S the
mean of L/B is the sum of S * L/B, which is Z: so the mean over the drafted tokens of a
block is an unbiased estimate of the mean Z of the places where they were drawn. All of
them count, those after a refusal too: a mean that ends with each block's first refusal
ends with a small ratio, and is too small. With one number of tokens a block, as all but
the last blocks of a text have it, the mean over blocks is unbiased too.
"""

from __future__ import annotations

from typing import Literal

from decoding_core.messages import THRESHOLD_LIMIT

Threshold = float | Literal["auto"]
START = 0.5
"""The papers' own; what the first block is judged by."""


class RunningThreshold:
    """What to send with the next block."""

    def __init__(self, threshold: Threshold = START) -> None:
        self._learns = threshold == "auto"
        self._start = START if threshold == "auto" else float(threshold)
        self._sum, self._count = 0.0, 0

    @property
    def value(self) -> float:
        """The threshold."""
        mean = self._sum / self._count if self._count else self._start
        return min(mean, THRESHOLD_LIMIT)

    def learn(self, mean_ratio: float, drafted: int) -> None:
        """Take in the mean of L/B over so many more drafted tokens."""
        if self._learns:
            self._sum += mean_ratio * drafted
            self._count += drafted
