"""Exact distributions of small vocabularies, and how far a sample may lie from one."""

from __future__ import annotations

import math

import numpy as np

from decoding_core.messages import NOTHING_LEFT_OUT, Candidates
from decoding_core.residual import keep_probability, residual_distribution
from decoding_core.sampling import TIED


def row_of(large, base, ids=None, strength=1.0):
    """A row of log-probabilities (V,), in float64 so that nothing is rounded."""
    ids = np.arange(len(large)) if ids is None else np.asarray(ids)
    others = np.setdiff1d(np.arange(len(large)), ids)
    tail = (large - strength * base)[others].max() if others.size else NOTHING_LEFT_OUT
    return Candidates(ids.astype(np.int32), large[ids], base[ids], float(tail))


def steered(small, large, base, strength):
    """T by its definition, without logarithms."""
    weights = np.exp(large) * (np.exp(small) / np.exp(base)) ** strength
    return weights / weights.sum()


def clipped(small, large, base, threshold):
    """What rejection emits: S * min(L/B, threshold), normalised."""
    weights = np.exp(small) * np.minimum(np.exp(large - base), threshold)
    return weights / weights.sum()


def mixture(small, large, base, threshold, target):
    """What stochastic steering emits: drafts that stay, else tokens of `target`."""
    kept = np.exp(small) * np.minimum(1, np.exp(large - base) / threshold)
    return kept + (1 - kept.sum()) * target


def contrasted(small, base, strength, share):
    """S * (S/B)^strength on the plausible tokens, without logarithms."""
    probs = np.exp(small)
    weights = probs * (probs / np.exp(base)) ** strength
    weights[probs < share * probs.max() * (1 - TIED)] = 0.0
    return weights / weights.sum()


def cut(probs, ids):
    """Probabilities (V,) restricted to some tokens."""
    kept = np.zeros_like(probs)
    kept[ids] = probs[ids]
    return kept / kept.sum()


def emitted_by_device(target, draft, row):
    """Exact distribution (V,) of what a device emits that keeps by the ratio, from its
    target (K,) and the distribution (V,) of its drafts."""
    keep = [keep_probability(target, draft, row, token) for token in range(len(draft))]
    kept = draft * np.array(keep)
    out = kept.copy()
    out[row.token_ids] += (1 - kept.sum()) * residual_distribution(target, draft, row)
    return out


def emitted_by_server(keep, draft, row, target):
    """The same where a server keeps with probabilities (V,)."""
    kept = draft * keep
    out = kept.copy()
    out[row.token_ids] += (1 - kept.sum()) * target
    return out


def off_the_edge(logprobs):
    """Whether no two log-probabilities (V,) lie just as far apart as ties may: there,
    and only there, the last bits decide."""
    apart = np.abs(np.subtract.outer(logprobs, logprobs))
    return bool((np.abs(apart - TIED) > 1e-8).all())


def total_variation(one, other):
    return float(np.abs(one - other).sum() / 2)


def farthest(cells, n, failure=1e-4):
    """How far the frequencies of n draws lie from their probabilities at most, in L1
    norm, but for a share `failure` of all seeds: P(|f - p|_1 >= eps) <=
    (2^k - 2) exp(-n eps^2 / 2) for k cells (Weissman et al. 2003, theorem 2.1)."""
    return math.sqrt(2 / n * math.log((2**cells - 2) / failure))


def merged(probs, cells):
    """Which cell (V,) a token belongs to: the likeliest have one each, the rest the
    last."""
    cell = np.full(len(probs), cells - 1)
    cell[np.argsort(-probs, kind="stable")[: cells - 1]] = np.arange(cells - 1)
    return cell


def check_frequencies(tokens, probs, cells=7):
    """Tokens drawn against their probabilities (V,)."""
    cell, n = merged(probs, cells), len(tokens)
    seen = np.bincount(cell[np.asarray(tokens)], minlength=cells) / n
    expected = np.bincount(cell, probs, minlength=cells)
    distance = np.abs(seen - expected).sum()
    assert distance < farthest(cells, n), (distance, farthest(cells, n))
