"""Intervals by resampling users: texts of one user are alike, so users are drawn, not
texts. Where there is one user alone, the texts are drawn."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decoding_core.sampling import Floats

RESAMPLES = 2_000
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and the interval it lies in; none where there is but one draw."""

    value: float
    low: float | None = None
    high: float | None = None


class Resamples:
    """The same draws for every figure of the same n texts, so that differences are
    paired."""

    def __init__(self, users: Sequence[Hashable], seed: int) -> None:
        """`users` (n,) says whose each text is."""
        numbers: dict[Hashable, int] = {}
        clusters = [numbers.setdefault(user, len(numbers)) for user in users]
        if len(set(clusters)) == 1:
            clusters = list(range(len(users)))
        self.units = count = len(set(clusters))
        """How many users, or texts of the only one, are drawn from."""
        self.weights: NDArray[np.int64] | None = None
        """(RESAMPLES, n): how often each text was drawn; none of a single one."""
        if count > 1:
            drawn = np.random.default_rng(seed).multinomial(
                count, np.full(count, 1 / count), size=RESAMPLES
            )
            self.weights = drawn[:, clusters]

    def ratio(self, above: Floats, below: Floats, less: float = 0.0) -> Estimate:
        """Sum of `above` (n,) over sum of `below` (n,), minus `less`."""
        value = float(above.sum() / below.sum()) - less
        if self.weights is None:
            return Estimate(value)
        ratios = (self.weights @ above) / (self.weights @ below) - less
        tail = (1 - LEVEL) / 2
        low, high = np.quantile(ratios, [tail, 1 - tail])
        return Estimate(value, float(low), float(high))
