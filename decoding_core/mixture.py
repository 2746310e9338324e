"""How much a draw reveals of the history, and draws that reveal no more than a bound.

S is the distribution (V,) that a token is drawn from given the history, R one that does
not know it: the reference. A drawn token x reveals log S(x)/R(x) nats. The mixture
M = (1 - w) R + w S reveals log M/R = log(1 + w (S/R - 1)), which is monotone in w and
in S/R: so the largest weight that keeps it between two bounds at every token is
known in closed form, from the largest and the least S/R. (Under a Renyi divergence it
is found by bisection, as in the paper.)

Source: DP-Fusion (arXiv 2507.04531), which mixes what a model gives with and without a
private context, and bounds the divergence of each token.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from decoding_core.sampling import Draw, Drawn, Floats

UNCUT = 0.1
"""Share of a reference that top-p does not cut. With none, a token outside of the
nucleus without the history would reveal infinitely much; with all, every token would
reveal something even if the history changes nothing."""
_HIGHEST = 700.0  # nats; the exponential of more is no float


def reference(draw: Draw, weights: Floats) -> Floats:
    """R (V,): how a token would be drawn from weights (V,) that do not know the
    history, but for `UNCUT`, which is drawn without top-p."""
    probs = np.asarray(weights / weights.sum(dtype=np.float64), np.float64)
    if draw.top_p >= 1.0:
        return probs
    return np.asarray((1.0 - UNCUT) * draw.distribution(weights) + UNCUT * probs)


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """R over a vocabulary, computed when it is looked up, as `Drawn` is."""

    cut: Drawn
    uncut: Drawn

    def __getitem__(self, token_ids: Any) -> Any:
        return (1.0 - UNCUT) * self.cut[token_ids] + UNCUT * self.uncut[token_ids]


Probabilities = Floats | Drawn | Reference  # of all tokens (V,), by their ids


def reference_of(draw: Draw, logits: Floats) -> Reference:
    """`reference` of logits (V,), in float64: next to impossible is not impossible."""
    logits = logits.astype(np.float64)
    uncut = replace(draw, top_p=1.0).distribution_of(logits)
    cut = uncut if draw.top_p >= 1.0 else draw.distribution_of(logits)
    return Reference(cut, uncut)


def largest_weight(
    own: Floats, base: Floats, highest: float, lowest: float = -math.inf
) -> float:
    """The largest w in [0, 1] with lowest <= log M/R <= highest nats at every token,
    for S `own` (V,) and R `base` (V,); `lowest` <= 0 <= `highest`, else w is 0."""
    known = base > 0.0
    if own[~known].any():
        return 0.0
    excess = own[known] / base[known] - 1.0
    most, least = float(excess.max()), float(excess.min())
    weight = 1.0
    if most > 0.0:
        weight = min(weight, max(math.expm1(min(highest, _HIGHEST)), 0.0) / most)
    if least < 0.0:
        weight = min(weight, min(math.expm1(min(lowest, 0.0)), 0.0) / least)
    return weight


def mixed(own: Floats, base: Floats, weight: float) -> Floats:
    """M (V,)."""
    return np.asarray((1.0 - weight) * base + weight * own)
