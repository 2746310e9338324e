"""PAD: its rule against the authors' words, and as an engine over two others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from decoding_core.errors import ContextFullError
from decoding_core.sampling import log_softmax
from edge_app.decoding.rescoring import RescoredEngine, rescored
from tests.fakes import HashEngine


def drawn(seed, size=20):
    return 3.0 * np.random.default_rng(seed).normal(size=(2, 1, size))


@given(st.integers(0, 999), st.floats(0.0, 2.0))
def test_the_likeliest_is_the_authors_and_the_rest_keeps_its_mass(seed, weight):
    """Authors: the best of the ten by logit + weight * (log-softmax of the tuned model
    on these less that of the policy on these)."""
    policy, tuned = drawn(seed)
    ten = np.argsort(-policy[0])[:10]
    reward = log_softmax(tuned[0, ten]) - log_softmax(policy[0, ten])
    best = ten[np.argmax(policy[0, ten] + weight * reward)]
    before, after = log_softmax(policy[0]), rescored(policy, tuned, weight)[0]
    assert after.argmax() == best
    others = np.setdiff1d(np.arange(20), ten)
    assert_allclose(after[others], before[others])
    assert_allclose(np.exp(after).sum(), 1.0)
    of_ten = np.log(np.exp(before[ten]).sum())
    wanted = log_softmax(before[ten] + weight * reward) + of_ten
    assert_allclose(after[ten], wanted)
    assert_allclose(rescored(policy, tuned, 0.0)[0], before)  # the policy itself
    assert_allclose(rescored(policy, tuned, 1.0, 99), log_softmax(tuned))


def test_both_engines_read_the_same_text():
    """Rolled back, and after one of them was full, it goes on as if nothing were."""
    policy, tuned = HashEngine("policy"), HashEngine("tuned", context=6)
    engine = RescoredEngine(policy, tuned)
    engine.evaluate([1, 2, 3, 4], rows=2)
    engine.rollback(2)
    with pytest.raises(ContextFullError):
        engine.evaluate([5] * 5)
    assert (engine.position, engine.tokens) == (2, [1, 2])
    found = engine.evaluate([5, 6], rows=2)
    fresh = (HashEngine(name).evaluate([1, 2, 5, 6], 2) for name in ("policy", "tuned"))
    assert_allclose(found, rescored(*fresh))
    assert policy.read == tuned.read == [1, 2, 5, 6]
    engine.close()
    assert engine.position == 0
