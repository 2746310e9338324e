"""What a device computes that decides on its drafts by itself.

S is the distribution (V,) that a draft was drawn from, T the target, which gives all
its probability to the K candidates of a row. A draft x stays with min(1, T(x)/S(x)),
else a token is drawn from the positive part of T - S. What comes out is T, whatever S:
S * min(1, T/S) + (1 - sum of min(S, T)) * (T - S)+ / norm = min(S, T) + (T - S)+ = T.

What somebody sees who is shown both the draft and what became of it is an outcome: the
draft stays, or it is replaced by a token of the row. `rejection_outcomes` and
`coupling_outcomes` give the probabilities (1 + K,) of all outcomes of one draft.

Source: Leviathan et al. 2023 (arXiv 2211.17192), theorem 1 and appendix A.1.
"""

from __future__ import annotations

import math

import numpy as np

from decoding_core.messages import NOTHING_LEFT_OUT, Candidates
from decoding_core.mixture import Probabilities
from decoding_core.sampling import Floats, sum_of

_ROUNDING = 1.001  # more than float32 can have taken away from a sum of exponentials
_TINY = float(np.finfo(np.float32).tiny)
"""More than an exponential that is 0 as float32."""


def keep_probability(
    target: Floats, draft: Probabilities, row: Candidates, token: int
) -> float:
    """With which probability a drafted token stays, from T (K,) and S (V,); a token
    that is no candidate never does."""
    at = np.flatnonzero(row.token_ids == token)
    if not at.size:
        return 0.0
    wanted, drawn = float(target[at[0]]), float(draft[token])
    return 1.0 if wanted >= drawn else wanted / drawn


def residual_distribution(
    target: Floats, draft: Probabilities, row: Candidates
) -> Floats:
    """Probabilities (K,) of the token in place of a refused one: (T - S)+, normed."""
    left = np.maximum(target - draft[row.token_ids], 0.0)
    total = left.sum()
    # Nothing is left only where S and T are equal but for rounding.
    return np.asarray(left / total) if total > 0.0 else target


def rejection_outcomes(
    target: Floats, draft: Probabilities, row: Candidates, token: int
) -> Floats:
    """Probabilities (1 + K,) that a draft stays, and that each token of the row
    replaces it, where `keep_probability` and `residual_distribution` decide."""
    stays = keep_probability(target, draft, row, token)
    left = residual_distribution(target, draft, row)
    return np.concatenate([[stays], (1.0 - stays) * left])


def coupling_outcomes(
    target: Floats, draft: Probabilities, row: Candidates, token: int
) -> Floats:
    """The same (1 + K,) where draft and target are drawn with one Gumbel noise.

    The noise is a race of exponential clocks E: the draft x has the least E/S, and what
    is drawn in its place the least E/T. With a(v) = S(v)/S(x), b = T and G(u) the sum
    of max(a, u b), both are x with probability 1 / G(1/b(x)), and x and v with
    b(v) times the integral of 1 / G^2 from a(v)/b(v) to 1/b(x). G is piecewise linear,
    and between two of its bends p and q that is (q - p) / (G(p) G(q)).
    """
    own = float(draft[token])
    ahead = np.asarray(draft[row.token_ids], np.float64) / own
    elsewhere = max(1.0 / own - float(ahead.sum()), 0.0)  # of tokens T never draws
    with np.errstate(divide="ignore", invalid="ignore"):
        bends = np.where(target > 0.0, ahead / target, np.inf)
        end = float((1.0 / target[row.token_ids == token]).sum()) or np.inf

    def paces(times: Floats) -> Floats:
        larger = np.maximum(ahead, np.multiply.outer(times, target))
        return np.asarray(elsewhere + larger.sum(axis=-1))

    others = np.flatnonzero(bends < end)
    others = others[bends[others].argsort()]
    points = bends[others]
    outcomes = np.zeros(1 + len(target))
    if end < np.inf:
        points = np.append(points, end)
        outcomes[0] = 1.0 / paces(points)[-1]
    values = paces(points)
    parts = np.diff(points) / (values[:-1] * values[1:])
    if end == np.inf:  # behind the last bend G rises by the sum of T, which is 1
        parts = np.append(parts, 1.0 / values[-1])
    outcomes[1 + others] = target[others] * parts[::-1].cumsum()[::-1]
    return np.asarray(outcomes / own)


def truncation_bound(specialist: Floats, row: Candidates, strength: float) -> float:
    """How much of T can lie outside of the row at most: a bound on the total variation
    between T and T cut to the row. Log-probabilities (V,), before top-p, which may lack
    a constant.

    The share is m / (m + Z), with Z the sum of L (S/B)^strength over the row and m that
    over all others, which is no more than the largest L/B^strength among them times
    their sum of S^strength. A constant factor of S is in both.
    """
    ids = row.token_ids
    if row.tail_log_ratio <= NOTHING_LEFT_OUT or len(ids) == len(specialist):
        return 0.0
    others = specialist if row.whole_base is None else specialist - row.whole_base
    highest = others.max()
    others = others - highest
    if strength != 1.0:
        others *= strength
    weights = np.exp(others, out=others)
    weights[ids] = 0.0
    total = _ROUNDING * sum_of(weights) + len(weights) * _TINY
    outside = row.tail_log_ratio + strength * float(highest) + math.log(total)
    delta = specialist[ids].astype(np.float64) - row.base
    inside = _log_sum(row.generalist_logprobs + strength * delta)
    return math.exp(-np.logaddexp(0.0, inside - outside))


def left_out_of_generalist(row: Candidates) -> float:
    """How much of L lies outside of the row."""
    return max(0.0, 1.0 - float(np.exp(row.generalist_logprobs.astype(float)).sum()))


def _log_sum(logs: Floats) -> float:
    highest = float(logs.max())
    return highest + math.log(float(np.exp(logs - highest).sum()))
