"""A Markov toy on which rejection is computed to the end, without a random number."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from decoding_core.methods import rejection

SIZE = 4


def chains(seed):
    """Rows (last token, next token) of specialist, generalist and base."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.2, (3, SIZE + 1, SIZE))
    probs = np.exp(logits)
    return probs / probs.sum(-1, keepdims=True)


def emitted(small, keep):
    """Exact probabilities (SIZE, SIZE) of the first two tokens with drafts of two.

    A round keeps both tokens, or the first alone, or none, and then begins again with
    fresh drafts: the probability of no token is summed as a geometric series.
    """
    kept = small * keep
    alone = kept / kept.sum(-1, keepdims=True)  # one token from a draft of one
    first, rest = kept[SIZE], kept[:SIZE]
    refused = 1 - rest.sum(-1)
    both = first[:, None] * rest + (first * refused)[:, None] * alone[:SIZE]
    return both / first.sum()


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9, 2.0])
@pytest.mark.parametrize("seed", range(10))
def test_rejection_emits_the_clipped_target(seed, threshold):
    """S * min(L/B, threshold) / norm at every position, whatever the block length."""
    small, large, base = chains(seed)
    keep = rejection.Rejection().acceptance(np.log(large), np.log(base), threshold)
    clipped = small * np.minimum(large / base, threshold)
    clipped /= clipped.sum(-1, keepdims=True)
    expected = clipped[SIZE][:, None] * clipped[:SIZE]
    assert_allclose(emitted(small, keep), expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_above_the_largest_ratio_it_is_the_steered_target(seed):
    """T at strength 1."""
    small, large, base = chains(seed)
    threshold = (large / base).max()
    keep = rejection.Rejection().acceptance(np.log(large), np.log(base), threshold)
    target = small * large / base
    target /= target.sum(-1, keepdims=True)
    expected = target[SIZE][:, None] * target[:SIZE]
    assert_allclose(emitted(small, keep), expected, atol=1e-12)
