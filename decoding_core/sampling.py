"""Logits to log-probabilities to probabilities to a token.

V vocabulary, N rows; nats everywhere. A temperature of 0 means greedy: the
log-probabilities are then those of temperature 1, and the token is their argmax.
Methods return probabilities; only `sample` draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decoding_core.errors import InvalidSettingsError

Floats = NDArray[np.floating[Any]]
Ids = NDArray[np.int32]


class Use(IntEnum):
    """What a random number decides; each use has a stream of its own."""

    DRAFT = 1
    ACCEPT = 2
    REDRAW = 3
    COUPLED = 4


@dataclass(frozen=True, slots=True)
class Noise:
    """Random numbers that depend on the seed, their use and the position alone.

    A retry, a replay and the other side of the wire therefore see the same numbers.
    """

    seed: int

    def uniform(self, use: Use, position: int) -> float:
        """A number in [0, 1) for the token at `position`."""
        return float(self._generator(use, position).random())

    def gumbel(self, position: int, size: int) -> Floats:
        """Standard Gumbel noise (size,) shared by draft and target at `position`."""
        return self._generator(Use.COUPLED, position).gumbel(size=size)

    def _generator(self, use: Use, position: int) -> np.random.Generator:
        key = (int(use) << 64) | (self.seed & (1 << 64) - 1)
        counter = np.array([0, 0, 0, position], dtype=np.uint64)
        return np.random.Generator(np.random.Philox(counter=counter, key=key))


def log_softmax(logits: Floats, temperature: float = 1.0) -> Floats:
    """Log-probabilities of logits (..., V), in nats and in the precision given."""
    scaled = logits if temperature in (0.0, 1.0) else logits / temperature
    shifted = scaled - scaled.max(axis=-1, keepdims=True)
    total: Floats = np.exp(shifted).sum(axis=-1, keepdims=True)
    result: Floats = shifted - np.log(total)
    return result


def keep_top_p(probs: Floats, top_p: float) -> Floats:
    """The fewest likeliest tokens of probs (V,) that hold `top_p`, rescaled to one."""
    if top_p >= 1.0:
        return probs
    order = np.argsort(-probs, kind="stable")
    mass = np.cumsum(probs[order])
    count = int(np.searchsorted(mass, top_p * mass[-1])) + 1
    kept = np.zeros_like(probs)
    kept[order[:count]] = probs[order[:count]]
    result: Floats = kept / kept.sum()
    return result


def sample(probs: Floats, uniform: float) -> int:
    """Index into probs (V,) drawn by inversion of their sum; `uniform` is in [0, 1).

    An index of probability zero is never returned.
    """
    mass = np.cumsum(probs, dtype=np.float64)
    index = int(np.searchsorted(mass, uniform * mass[-1], side="right"))
    return min(index, int(np.flatnonzero(probs)[-1]))


@dataclass(frozen=True, slots=True)
class Draw:
    """How a token is drawn on the device from log-probabilities."""

    temperature: float
    top_p: float
    noise: Noise

    def logprobs(self, logits: Floats) -> Floats:
        """Log-probabilities (..., V) at this temperature."""
        return log_softmax(logits, self.temperature)

    def from_logits(self, logits: Floats, use: Use, position: int) -> int:
        """Token id drawn from logits (V,)."""
        if self.temperature == 0.0:
            return int(logits.argmax())
        return self.from_probs(np.exp(self.logprobs(logits)), use, position)

    def coupled(
        self, logprobs: Floats, position: int, token_ids: Ids | None = None
    ) -> int:
        """Index of the largest of logprobs (V,) plus the noise that every model shares
        at `position`; `token_ids` (V,) name the tokens when they are not 0..V-1.

        The more two distributions agree, the more often they give the same token.
        """
        if self.temperature == 0.0:
            return int(logprobs.argmax())
        if token_ids is None:
            return int((logprobs + self.noise.gumbel(position, len(logprobs))).argmax())
        noise = self.noise.gumbel(position, int(token_ids.max()) + 1)
        return int((logprobs + noise[token_ids]).argmax())

    def from_probs(self, probs: Floats, use: Use, position: int) -> int:
        """Index drawn from probs (V,), which are already at this temperature."""
        if self.temperature == 0.0:
            return int(probs.argmax())
        return sample(keep_top_p(probs, self.top_p), self.noise.uniform(use, position))


def check_draw(temperature: float, top_p: float, seed: int) -> None:
    """Raise InvalidSettingsError when a sampling parameter is out of range."""
    if not 0.0 <= temperature <= 10.0:
        raise InvalidSettingsError(
            f"temperature must lie between 0 and 10, not {temperature}"
        )
    if not 0.0 < top_p <= 1.0:
        raise InvalidSettingsError(f"top-p must lie above 0 and up to 1, not {top_p}")
    if not 0 <= seed < 1 << 63:
        raise InvalidSettingsError(f"seed must be a whole number from 0, not {seed}")
