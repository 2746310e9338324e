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
from dataclasses import dataclass
from enum import IntEnum
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Ids = NDArray[np.int32]

TIED = 1e-4
"""Log-probabilities no farther apart than this are equal, in nats. Those of 32 nats are
off by 1e-6 as float32, a target at strength 2.5 and temperature 0.5 by some 1e-5."""
_AS_LIKELY = math.exp(-TIED)

_KEY = struct.Struct("<QQQ")
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIXES = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)
"""The constants of SplitMix64 (Steele, Lea, Flood 2014)."""
_AT_ONCE = 8192
"""Tokens whose noise is computed at once: their arrays stay in the fastest cache."""
_COLUMNS = 64
"""Sums and maxima over a vocabulary are taken over this many strides of it: element by
element of long rows, which a processor does many times faster than along one row."""
_LARGE = 16_384  # shorter rows are summed as they are, and drawn from in one step
_PART = 1024
"""How many tokens have their mass summed as one first when a token is drawn."""
_RARE = 1e-4  # tokens of less than this probability are seldom in a nucleus
_NEAR_ZERO, _NEAR_INFINITY = 1e-20, 1e30
"""A sum of float32 exponentials in between has lost nothing at either end."""


_EDGE = 1e-3  # more than rounding can move the logit of the last token that top-p keeps


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

    def uniform(self, use: Use, position: int, attempt: int = 0) -> float:
        """A number in [0, 1) for the token at `position`, a fresh one for each attempt
        at it."""
        return (self._hash(use, position, attempt) >> 11) / (1 << 53)

    def keeps(self, probability: float, position: int, attempt: int = 0) -> bool:
        """Whether a drafted token stays that stays with this probability."""
        return self.uniform(Use.ACCEPT, position, attempt) < probability

    def gumbel(self, position: int, token_ids: NDArray[np.integer[Any]]) -> Floats:
        """Standard Gumbel noise (K,) of tokens (K,), shared by draft and target at
        `position`; a token has the same whichever others are asked for.

        It is computed in float64 from uniform numbers of 52 bits, none of them 0 or 1:
        the largest possible noise is 36.7, as rare as it should be. From the zeros of
        float32, one in eight million numbers, would come a noise of 87.
        """
        key = np.uint64(self._hash(Use.COUPLED, position))
        noise = np.empty(len(token_ids))
        for start in range(0, len(token_ids), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            bits = token_ids[part].astype(np.uint64)
            bits *= _GOLDEN
            bits += key
            for shift, factor in _MIXES:
                bits ^= bits >> shift
                bits *= factor
            bits ^= bits >> np.uint64(31)
            uniform = (bits >> np.uint64(12)) + 0.5
            uniform *= 2.0**-52
            noise[part] = -np.log(-np.log(uniform))
        return noise

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
    shifted -= np.log(total)
    return np.asarray(shifted)


def log_sum_exp(
    logits: Floats, temperature: float = 1.0, scratch: Floats | None = None
) -> float:
    """Logarithm of the sum of exp(logits / temperature) over logits (V,): less this, a
    logit at the temperature is a log-probability. `scratch` (V,) saves memory.

    The exponentials have the precision of the logits; float32 ones give it to 2e-6,
    and to 1e-5, a tenth of what is tied, at a temperature.
    """
    scale = 1.0 if temperature == 0.0 else 1.0 / temperature
    _, total, origin = _exponentials(logits, scale, scratch)
    return math.log(total) + origin * scale


def _exponentials(
    logits: Floats, scale: float, scratch: Floats | None = None
) -> tuple[Floats, float, float]:
    """Exponentials (V,) of (logits - origin) * scale, their sum, and the origin: 0, or
    the largest logit if the logits lie too far from 0 for float32."""
    with np.errstate(over="ignore"):
        if scale == 1.0:
            found = np.exp(logits, out=scratch)
        else:
            found = np.multiply(logits, scale, out=scratch)
            np.exp(found, out=found)
        total = sum_of(found)
    if _NEAR_ZERO < total < _NEAR_INFINITY:
        return found, total, 0.0
    highest = np.maximum.reduce(logits)
    found = np.subtract(logits, highest, out=scratch)
    found *= scale
    np.exp(found, out=found)
    return found, sum_of(found), float(highest)


def weights_of(logits: Floats, temperature: float) -> Floats:
    """Weights (..., V) in proportion to the probabilities of logits, the largest 1."""
    shifted = logits - logits.max(axis=-1, keepdims=True)
    if temperature not in (0.0, 1.0):
        shifted *= 1.0 / temperature
    weights: Floats = np.exp(shifted, out=shifted)
    return weights


def sum_of(values: Floats) -> float:
    """Sum of positive values (V,), float32 ones to some 1e-6 of it."""
    if len(values) < _LARGE:
        return float(np.add.reduce(values))
    width = len(values) // _COLUMNS
    body, rest = values[: _COLUMNS * width], values[_COLUMNS * width :]
    columns = np.add.reduce(body.reshape(_COLUMNS, width), axis=0)
    return float(np.add.reduce(columns) + np.add.reduce(rest))


def likeliest(logits: Floats) -> int:
    """Index of the largest of logits (V,); the lowest index of those tied."""
    return int((logits >= np.maximum.reduce(logits) - TIED).argmax())


def _heaviest(weights: Floats) -> int:
    """Index of the largest of weights (V,); the lowest index of those tied."""
    return int((weights >= _AS_LIKELY * weights.max()).argmax())


def likeliest_ids(logits: Floats, count: int, tied: float = TIED) -> NDArray[np.intp]:
    """Indices of the `count` largest of logits (V,), rising; of those tied with the
    last of them, the lowest indices."""
    if count >= len(logits):
        return np.arange(len(logits))
    width, few = len(logits) // _COLUMNS, None
    if 2 * count <= width:  # else little would be saved
        # The maxima of `count` parts of the logits are logits too, so the last of the
        # likeliest is no smaller than the least of them; few others are as large.
        body, rest = logits[: _COLUMNS * width], logits[_COLUMNS * width :]
        maxima = np.append(body.reshape(_COLUMNS, width).max(axis=0), rest)
        bound = np.partition(maxima, -count)[-count]
        few = np.flatnonzero(logits >= bound - tied)
        logits = logits[few]
    last = np.partition(logits, -count)[-count]
    above = np.flatnonzero(logits > last + tied)
    ties = np.flatnonzero((logits >= last - tied) & (logits <= last + tied))
    ids = np.sort(np.concatenate([above, ties[: count - len(above)]]))
    return ids if few is None else few[ids]


class ArrayRows:
    """Rows of logits (N, V) in this memory: the `LogitRows` of an engine that hands out
    whole rows."""

    def __init__(self, logits: Floats) -> None:
        self.logits = logits

    def __len__(self) -> int:
        return len(self.logits)

    @property
    def vocabulary_size(self) -> int:
        """How many tokens the rows are over."""
        return int(self.logits.shape[-1])

    def log_sum_exps(self, temperature: float) -> Floats:
        """`log_sum_exp` of each row (N,)."""
        # In one piece of memory, which the processor then has at hand.
        scratch = np.empty_like(self.logits[0])
        return np.array([log_sum_exp(row, temperature, scratch) for row in self.logits])

    def at(self, rows: Sequence[int] | Ids, token_ids: Sequence[int] | Ids) -> Floats:
        """The logits (K,) of tokens (K,), each in its row of `rows`; with one row, all
        in that."""
        found = self.logits[np.asarray(rows, np.intp), np.asarray(token_ids, np.intp)]
        return np.asarray(found, np.float64)

    def likeliest_ids(
        self,
        row: int,
        count: int,
        tied: float,
        base: ArrayRows | None = None,
        weight: float = 0.0,
    ) -> NDArray[np.intp]:
        """`likeliest_ids` of a row; with a base, of what `largest_besides` compares."""
        if base is None or not weight:
            return likeliest_ids(self.logits[row], count, tied)
        return likeliest_ids(self._less(row, base, weight), count, tied)

    def largest_besides(
        self,
        row: int,
        token_ids: Ids,
        base: ArrayRows | None = None,
        weight: float = 0.0,
    ) -> float:
        """Upper bound on logit - weight * base logit in a row, over all tokens but
        `token_ids`."""
        if base is None or not weight:
            others = self.logits[row].copy()
            others[token_ids] = -np.inf
            return float(others.max())
        others = self._less(row, base, weight)
        others[token_ids] = -np.inf
        largest = float(others.max())
        # The differences were rounded, and with another weight it and its products.
        rounded = abs(largest)
        if weight != 1.0:
            of_base = base.logits[row]
            rounded += weight * max(float(of_base.max()), -float(of_base.min()))
        return largest + 2 * float(np.finfo(others.dtype).eps) * rounded

    def _less(self, row: int, base: ArrayRows, weight: float) -> Floats:
        of_base = base.logits[row]
        less: Floats = of_base if weight == 1.0 else weight * of_base
        return np.asarray(self.logits[row] - less)


def nucleus(weights: Floats, top_p: float) -> NDArray[np.intp]:
    """Indices, rising, of the fewest likeliest of weights (V,) that hold the share
    `top_p`, and of all those tied with the last of them."""
    return _nucleus(weights, sum_of(weights), top_p)[0]


def _nucleus(
    weights: Floats, total: float, top_p: float
) -> tuple[NDArray[np.intp], Floats, float]:
    """The indices of `nucleus`, their weights, and the least weight that would be kept
    as well, from weights (V,) and their sum."""
    # Weights that are each off by a factor of up to 1 + TIED / 2 move a share of p by
    # up to TIED * p * (1 - p); a share that is reached but for that is reached.
    share = top_p * (1.0 - TIED * (1.0 - top_p))
    # All tokens below this together hold less than 1 - top_p, so none is needed.
    needless = _AS_LIKELY * (1.0 - top_p) * total / len(weights)
    # As a rule very few tokens hold the share: those are looked at first.
    for floor in (max(needless, _RARE * total), needless):
        ids = (weights > floor).nonzero()[0]
        likely = weights[ids]
        rising = likely.copy()
        rising.sort()
        falling = rising[::-1]
        mass = falling.cumsum(dtype=np.float64)
        place = int(mass.searchsorted(share * total))
        least = float(_AS_LIKELY * falling[place]) if place < len(falling) else 0.0
        if least > floor:
            break
    if not least:  # what all together hold is known less well than the share
        least = float(_AS_LIKELY * falling[-1])
    kept = likely >= least
    return ids[kept], likely[kept], least


def sample(weights: Floats, uniform: float) -> int:
    """Index into weights (V,) drawn in proportion to them, by inversion of their sum;
    `uniform` is in [0, 1). An index of weight zero is never returned."""
    if len(weights) > _LARGE:
        parts = np.add.reduceat(weights, np.arange(0, len(weights), _PART))
        masses = np.cumsum(parts, dtype=np.float64)
        wanted = uniform * masses[-1]
        part = int(np.searchsorted(masses, wanted, side="right"))
        if part < len(parts):
            start, before = part * _PART, masses[part - 1] if part else 0.0
            left = (wanted - before) / float(parts[part])
            return start + sample(weights[start : start + _PART], left)
    mass = weights.cumsum(dtype=np.float64)
    index = int(mass.searchsorted(uniform * mass[-1], side="right"))
    if index < len(weights) and weights[index] > 0.0:
        return index
    return int(np.flatnonzero(weights)[-1])


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """The probabilities (V,) that a token is drawn with: computed when they are looked
    up, by an index or by several, since few of them ever are."""

    logits: Floats  # (V,)
    scale: float = 1.0  # 1 / temperature
    origin: float = 0.0  # the logit of weight 1
    total: float = 1.0  # the sum of all weights that are kept
    least: float = 0.0  # the least weight that top-p keeps
    certain: int | None = None  # the only token that can be drawn, at temperature 0

    def __getitem__(self, token_ids: Any) -> Any:
        if self.certain is not None:
            return np.equal(token_ids, self.certain).astype(np.float64)
        # In the precision that the token was drawn in, so that no edge moves.
        shifted = self.logits[token_ids] - self.logits.dtype.type(self.origin)
        weights = np.exp(shifted * self.logits.dtype.type(self.scale)).astype(float)
        return np.where(weights >= self.least, weights, 0.0) / self.total

    def ids(self) -> NDArray[np.intp]:
        """The tokens that can be drawn, and perhaps some that hardly cannot, rising."""
        if self.certain is not None:
            return np.array([self.certain])
        if self.least <= 0.0:
            return np.arange(len(self.logits))
        last = self.origin + math.log(self.least) / self.scale - _EDGE
        return np.flatnonzero(self.logits >= last)


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

    def distribution_of(self, logits: Floats) -> Drawn:
        """The probabilities with which `from_logits` draws from logits (V,)."""
        if self.temperature == 0.0:
            return Drawn(logits, certain=likeliest(logits))
        scale = 1.0 / self.temperature
        weights, total, origin = _exponentials(logits, scale)
        if self.top_p >= 1.0:
            return Drawn(logits, scale, origin, total)
        _, kept, least = _nucleus(weights, total, self.top_p)
        return Drawn(logits, scale, origin, sum_of(kept), least)

    def from_distribution(
        self, probs: Floats, position: int, use: Use = Use.REDRAW, attempt: int = 0
    ) -> int:
        """Index drawn from probs (V,) as they are: top-p cuts nothing."""
        return sample(probs, self.noise.uniform(use, position, attempt))

    def from_logits(
        self, logits: Floats, use: Use, position: int, attempt: int = 0
    ) -> int:
        """Token id drawn from logits (V,)."""
        if self.temperature == 0.0:
            return likeliest(logits)
        uniform = self.noise.uniform(use, position, attempt)
        weights, total, _ = _exponentials(logits, 1.0 / self.temperature)
        if self.top_p >= 1.0:
            return sample(weights, uniform)
        kept, likely, _ = _nucleus(weights, total, self.top_p)
        return int(kept[sample(likely, uniform)])

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
        kept: NDArray[np.intp] | slice = slice(None)
        if self.top_p < 1.0:
            kept = nucleus(weights_of(logprobs, 1.0), self.top_p)
        if token_ids is None:
            token_ids = np.arange(len(logprobs), dtype=np.int32)
        noise = self.noise.gumbel(position, token_ids[kept])
        index = int((logprobs[kept] + noise).argmax())
        return index if isinstance(kept, slice) else int(kept[index])

    def from_probs(
        self, probs: Floats, use: Use, position: int, attempt: int = 0
    ) -> int:
        """Index drawn in proportion to probs (V,), already at this temperature."""
        if self.temperature == 0.0:
            return _heaviest(probs)
        uniform = self.noise.uniform(use, position, attempt)
        if self.top_p >= 1.0:
            return sample(probs, uniform)
        kept, likely, _ = _nucleus(probs, sum_of(probs), self.top_p)
        return int(kept[sample(likely, uniform)])
