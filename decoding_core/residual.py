"""What a device computes that decides on its drafts by itself.

S is the distribution (V,) that a draft was drawn from, T the target, which gives all
its probability to the K candidates of a row. A draft x stays with min(1, T(x)/S(x)),
else a token is drawn from the positive part of T - S. What comes out is T, whatever S:
S * min(1, T/S) + (1 - sum of min(S, T)) * (T - S)+ / norm = min(S, T) + (T - S)+ = T.

Source: Leviathan et al. 2023 (arXiv 2211.17192), theorem 1 and appendix A.1.
"""

from __future__ import annotations

import math

import numpy as np

from decoding_core.messages import NOTHING_LEFT_OUT, Candidates
from decoding_core.sampling import Drawn, Floats, sum_of

_ROUNDING = 1.001
"""More than float32 can have taken away from a sum of exponentials."""
_TINY = float(np.finfo(np.float32).tiny)
"""More than an exponential that is 0 as float32."""


def keep_probability(
    target: Floats, draft: Floats | Drawn, row: Candidates, token: int
) -> float:
    """With which probability a drafted token stays, from T (K,) and S (V,); a token
    that is no candidate never does."""
    at = np.flatnonzero(row.token_ids == token)
    if not at.size:
        return 0.0
    wanted, drawn = float(target[at[0]]), float(draft[token])
    return 1.0 if wanted >= drawn else wanted / drawn


def residual_distribution(
    target: Floats, draft: Floats | Drawn, row: Candidates
) -> Floats:
    """Probabilities (K,) of the token in place of a refused one: (T - S)+, normed."""
    left = np.maximum(target - draft[row.token_ids], 0.0)
    total = left.sum()
    # Nothing is left only where S and T are equal but for rounding.
    return np.asarray(left / total) if total > 0.0 else target


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
