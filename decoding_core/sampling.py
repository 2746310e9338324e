"""Logits to log-probabilities to probabilities to a token.

V vocabulary, N rows; nats everywhere. A temperature of 0 means greedy: the
log-probabilities are then those of temperature 1, and the token is their argmax.
Methods return probabilities; only `sample` draws.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from enum import IntEnum
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decoding_core.errors import InvalidSettingsError

Floats = NDArray[np.floating[Any]]
Ids = NDArray[np.int32]

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
            kept = self._gumbels[position] = self._gumbel(position, size)
        return kept[:size]

    def _gumbel(self, position: int, size: int) -> Floats:
        generator = np.random.Generator(
            np.random.SFC64(self._hash(Use.COUPLED, position))
        )
        exponential = generator.standard_exponential(size, dtype=np.float32)
        # An exponential of 0 is possible in float32 and would be an infinite Gumbel.
        return -np.log(np.maximum(exponential, np.finfo(np.float32).tiny))

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


def nucleus(weights: Floats, top_p: float) -> NDArray[np.intp]:
    """Indices of the fewest likeliest of weights (V,) that hold the share `top_p`."""
    total = float(weights.sum())
    # All tokens below this together hold less than 1 - top_p, so none is needed.
    likely = np.flatnonzero(weights > (1.0 - top_p) * total / len(weights))
    order = likely[np.argsort(-weights[likely], kind="stable")]
    mass = np.cumsum(weights[order])
    return order[: int(np.searchsorted(mass, top_p * total)) + 1]


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
            probs[weights.argmax()] = 1.0
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
            return int(logits.argmax())
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
            return int(logprobs.argmax())
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
            return int(probs.argmax())
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
