"""Logits to log-probabilities to probabilities to a token.

V vocabulary, N rows; nats everywhere. A temperature of 0 means greedy: the
log-probabilities are then those of temperature 1, and the token is their argmax.
Methods return probabilities; only `sample` draws.

Whatever cuts sharply, an argmax, top-p, the last of K candidates, a threshold, treats
log-probabilities no more than `TIED` apart as equal, and equal ones by a rule that does
not look at their order. So the last bits of a sum, which differ between machines and
between ways to write one formula, decide nothing where tokens really are equal.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decoding_core.errors import InvalidSettingsError

Floats = NDArray[np.floating[Any]]
Ids = NDArray[np.int32]

TIED = 1e-4
"""Log-probabilities no farther apart than this are equal, in nats. Those of 32 nats are
off by 1e-6 as float32, a target at strength 2.5 and temperature 0.5 by some 1e-5."""
_AS_LIKELY = math.exp(-TIED)

_KEY = struct.Struct("<QQQ")
_GUMBELS_KEPT = 72  # a draft and what follows it


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
    _gumbels: dict[int, Floats] = field(default_factory=dict, compare=False, repr=False)

    def uniform(self, use: Use, position: int, attempt: int = 0) -> float:
        """A number in [0, 1) for the token at `position`, a fresh one for each attempt
        at it."""
        return (self._hash(use, position, attempt) >> 11) / (1 << 53)

    def keeps(self, probability: float, position: int, attempt: int = 0) -> bool:
        """Whether a drafted token stays that stays with this probability."""
        return self.uniform(Use.ACCEPT, position, attempt) < probability

    def gumbel(self, position: int, size: int) -> Floats:
        """Standard Gumbel noise (size,) shared by draft and target at `position`.

        A shorter one is the beginning of a longer one."""
        kept = self._gumbels.get(position)
        if kept is None or len(kept) < size:
            if len(self._gumbels) >= _GUMBELS_KEPT:
                self._gumbels.clear()
            seed = np.random.SFC64(self._hash(Use.COUPLED, position))
            drawn = np.random.Generator(seed).standard_exponential(size, np.float32)
            # An exponential of 0 is possible and would be an infinite Gumbel.
            kept = -np.log(np.maximum(drawn, np.finfo(np.float32).tiny))
            self._gumbels[position] = kept
        return kept[:size]

    def _hash(self, use: Use, position: int, attempt: int = 0) -> int:
        data = _KEY.pack(self.seed, use | attempt << 8, position)
        return int.from_bytes(blake2b(data, digest_size=8).digest(), "little")


def acceptance_seed(seed: int) -> int:
    """The seed that the server is given: a one-way function of the device's.

    Whoever knows the device's own seed could draw the drafts again for a guessed
    history, and so test the guess.
    """
    data = _KEY.pack(seed, Use.ACCEPT, 0)
    return int.from_bytes(blake2b(data, digest_size=8, person=b"accept").digest()) >> 1


def log_softmax(logits: Floats, temperature: float = 1.0) -> Floats:
    """Log-probabilities of logits (..., V), in nats and in the precision given."""
    scaled = logits if temperature in (0.0, 1.0) else logits / temperature
    shifted = scaled - scaled.max(axis=-1, keepdims=True)
    total: Floats = np.exp(shifted).sum(axis=-1, keepdims=True)
    result: Floats = shifted - np.log(total)
    return result


def weights_of(logits: Floats, temperature: float) -> Floats:
    """Weights (..., V) in proportion to the probabilities of logits, the largest 1."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    if temperature not in (0.0, 1.0):
        shifted *= 1.0 / temperature
    weights: Floats = np.exp(shifted)
    return weights


def likeliest(logits: Floats) -> int:
    """Index of the largest of logits (V,); the lowest index of those tied."""
    return int((logits >= logits.max() - TIED).argmax())


def _heaviest(weights: Floats) -> int:
    """Index of the largest of weights (V,); the lowest index of those tied."""
    return int((weights >= _AS_LIKELY * weights.max()).argmax())


def likeliest_ids(logits: Floats, count: int) -> NDArray[np.intp]:
    """Indices of the `count` largest of logits (V,), rising; of those tied with the
    last of them, the lowest indices."""
    if count >= len(logits):
        return np.arange(len(logits))
    last = np.partition(logits, -count)[-count]
    above = np.flatnonzero(logits > last + TIED)
    tied = np.flatnonzero((logits >= last - TIED) & (logits <= last + TIED))
    return np.sort(np.concatenate([above, tied[: count - len(above)]]))


@dataclass(frozen=True, slots=True, eq=False)
class TopLogits:
    """One row of logits (V,) where only the likeliest and some given tokens matter."""

    token_ids: NDArray[np.intp]  # (K,)
    """The likeliest tokens, rising."""
    logits: Floats  # (K,)
    asked: Floats  # (N,)
    """The logits of the tokens that were asked for."""
    log_sum_exp: float
    """Of all logits, at the temperature: less this, a logit is a log-probability."""


def top_logits(
    logits: Floats, count: int, asked: Sequence[int], temperature: float = 1.0
) -> TopLogits:
    """The `count` likeliest of logits (V,) and those of `asked`, all divided by the
    temperature, as `log_softmax` does."""
    scaled = logits if temperature in (0.0, 1.0) else logits / temperature
    ids = likeliest_ids(scaled, count) if count else np.empty(0, np.intp)
    highest = float(scaled.max())
    total = float(np.exp(scaled.astype(np.float64) - highest).sum())
    at = np.asarray(asked, np.intp)
    return TopLogits(ids, scaled[ids], scaled[at], highest + math.log(total))


def nucleus(weights: Floats, top_p: float) -> NDArray[np.intp]:
    """Indices, rising, of the fewest likeliest of weights (V,) that hold the share
    `top_p`, and of all those tied with the last of them."""
    total = float(weights.sum(dtype=np.float64))
    # Weights that are each off by a factor of up to 1 + TIED / 2 move a share of p by
    # up to TIED * p * (1 - p); a share that is reached but for that is reached.
    share = top_p * (1.0 - TIED * (1.0 - top_p))
    # All tokens below this together hold less than 1 - top_p, so none is needed.
    needless = _AS_LIKELY * (1.0 - top_p) * total / len(weights)
    likely = np.sort(weights[weights > needless])[::-1]
    mass = np.cumsum(likely, dtype=np.float64)
    last = likely[min(int(np.searchsorted(mass, share * total)), len(likely) - 1)]
    return np.flatnonzero(weights >= _AS_LIKELY * last)


def sample(weights: Floats, uniform: float) -> int:
    """Index into weights (V,) drawn in proportion to them, by inversion of their sum;
    `uniform` is in [0, 1). An index of weight zero is never returned."""
    mass = np.cumsum(weights, dtype=np.float64)
    index = int(np.searchsorted(mass, uniform * mass[-1], side="right"))
    if index < len(weights) and weights[index] > 0.0:
        return index
    return int(np.flatnonzero(weights)[-1])


@dataclass(frozen=True, slots=True)
class Draw:
    """How a token is drawn on the device from log-probabilities."""

    temperature: float
    top_p: float
    noise: Noise

    def unnormalised(self, logits: Floats) -> Floats:
        """Logits at this temperature: log-probabilities but for a constant."""
        if self.temperature in (0.0, 1.0):
            return logits
        return logits / self.temperature

    def distribution(self, weights: Floats) -> Floats:
        """The probabilities (V,) with which `from_probs` draws from weights (V,):
        top-p is applied; at temperature 0 the likeliest token has all."""
        probs = np.zeros(len(weights))
        if self.temperature == 0.0:
            probs[_heaviest(weights)] = 1.0
            return probs
        kept = slice(None) if self.top_p >= 1.0 else nucleus(weights, self.top_p)
        probs[kept] = weights[kept]
        return np.asarray(probs / probs.sum())

    def distribution_of(self, logits: Floats) -> Floats:
        """The probabilities (V,) with which `from_logits` draws from logits (V,)."""
        return self.distribution(weights_of(logits, self.temperature))

    def from_distribution(self, probs: Floats, position: int) -> int:
        """Index of a redrawn token from probs (V,) as they are: top-p cuts nothing."""
        return sample(probs, self.noise.uniform(Use.REDRAW, position))

    def from_logits(
        self, logits: Floats, use: Use, position: int, attempt: int = 0
    ) -> int:
        """Token id drawn from logits (V,)."""
        if self.temperature == 0.0:
            return likeliest(logits)
        weights = weights_of(logits, self.temperature)
        return self.from_probs(weights, use, position, attempt)

    def coupled(
        self, logprobs: Floats, position: int, token_ids: Ids | None = None
    ) -> int:
        """Index of the largest of logprobs (V,), known up to a constant, plus the noise
        that every model shares at `position`; `token_ids` (V,) name the tokens when
        they are not 0..V-1.

        The more two distributions agree, the more often they give the same token.
        """
        if self.temperature == 0.0:
            return likeliest(logprobs)
        if self.top_p < 1.0:
            kept = nucleus(weights_of(logprobs, 1.0), self.top_p)
            ids = kept if token_ids is None else token_ids[kept]
            noise = self.noise.gumbel(position, int(ids.max()) + 1)
            return int(kept[(logprobs[kept] + noise[ids]).argmax()])
        if token_ids is None:
            return int((logprobs + self.noise.gumbel(position, len(logprobs))).argmax())
        noise = self.noise.gumbel(position, int(token_ids.max()) + 1)
        return int((logprobs + noise[token_ids]).argmax())

    def from_probs(
        self, probs: Floats, use: Use, position: int, attempt: int = 0
    ) -> int:
        """Index drawn in proportion to probs (V,), already at this temperature."""
        if self.temperature == 0.0:
            return _heaviest(probs)
        uniform = self.noise.uniform(use, position, attempt)
        if self.top_p >= 1.0:
            return sample(probs, uniform)
        kept = nucleus(probs, self.top_p)
        return int(kept[sample(probs[kept], uniform)])


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
