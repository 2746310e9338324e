"""What a text costs: the chain rule, the target, and the share that is kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from decoding_core.errors import EngineError
from decoding_core.methods.steering import log_steered, steered
from decoding_core.sampling import log_softmax
from edge_app.evaluation.pair import Readers, read
from tests.exact import row_of
from tests.fakes import HashEngine

SIZE = 17
PUBLIC, PRIVATE = (3, 1, 4), (1, 5, 9, 2, 6)
texts = st.lists(st.integers(0, SIZE - 1), min_size=1, max_size=12)
strengths = st.floats(0.0, 3.0)


def readers(generalist="large"):
    engines = map(HashEngine, ("small", "small", generalist))
    return Readers(*engines, PUBLIC, PRIVATE)


def cost(name, prompt, token_ids):
    """Nats of each token (T,), one step at a time."""
    engine = HashEngine(name)
    parts = [prompt, *([token] for token in token_ids[:-1])]
    logits = [engine.evaluate(part)[0] for part in parts]
    rows = log_softmax(np.array(logits, np.float64))
    return -rows[np.arange(len(token_ids)), token_ids]


@given(texts, st.integers(1, 20))
def test_the_cost_is_that_of_the_chain_rule(token_ids, rows):
    opinions = read(readers(), token_ids, [1.0], [0.5], rows)
    assert_allclose(opinions.base, cost("small", PUBLIC, token_ids))
    assert_allclose(opinions.specialist, cost("small", PRIVATE, token_ids))
    assert_allclose(opinions.generalist, cost("large", PUBLIC, token_ids))
    whole = read(readers(), token_ids, [1.0], [0.5])
    assert_allclose(opinions.steered, whole.steered)
    assert_allclose(opinions.kept, whole.kept)


@given(texts)
def test_steering_by_a_small_model_of_ones_own_size_gives_the_specialist(token_ids):
    """Where L is B, T of strength 1 is S."""
    opinions = read(readers(generalist="small"), token_ids, [1.0], [0.5])
    assert_allclose(opinions.steered[0], opinions.specialist)
    assert_allclose(opinions.kept[0], 1.0)


@given(st.integers(0, 10_000), strengths)
def test_the_target_is_a_distribution(seed, strength):
    """Its logarithm is normalised over the vocabulary, and is that of the method."""
    rng = np.random.default_rng(seed)
    three = log_softmax(rng.normal(0, 3, (3, 5, SIZE)))
    logs = log_steered(*three, strength)
    assert_allclose(np.exp(logs).sum(axis=-1), 1.0)
    for small, large, base, found in zip(*three, logs, strict=True):
        row = row_of(large, base)
        assert_allclose(np.exp(found), steered(small, row, strength))


class BrokenEngine(HashEngine):
    def logits(self):
        return np.full(self.size, -np.inf)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_numbers_that_are_no_probabilities():
    three = Readers(
        HashEngine("a"), HashEngine("a"), BrokenEngine("b"), PUBLIC, PRIVATE
    )
    with pytest.raises(EngineError, match="no probabilities"):
        read(three, [1, 2], [1.0], [])
