import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose

from decoding_core.messages import THRESHOLD_LIMIT
from decoding_core.sampling import log_softmax
from decoding_core.threshold import RunningThreshold

# Drawn one by one: numbers that fill up an array take hypothesis twice the time.
logprobs = hnp.arrays(np.float64, 9, elements=st.floats(-6, 6), fill=st.nothing()).map(
    log_softmax
)


def test_a_number_stays():
    """Whatever is learnt."""
    threshold = RunningThreshold(0.3)
    threshold.learn(5.0, 8)
    assert threshold.value == 0.3


def test_the_running_mean():
    """Of all tokens looked at; the start counts as one of them."""
    threshold = RunningThreshold("auto")
    assert threshold.value == 0.5
    threshold.learn(2.0, 3)
    threshold.learn(0.0, 0)
    threshold.learn(1.0, 1)
    assert_allclose(threshold.value, (0.5 + 3 * 2.0 + 1.0) / 5)


def test_it_never_grows_beyond_what_a_block_can_say():
    """However absurd the ratios."""
    threshold = RunningThreshold("auto")
    threshold.learn(1e30, 8)
    assert threshold.value == THRESHOLD_LIMIT


@given(logprobs, logprobs, logprobs)
def test_the_mean_ratio_of_drafts_is_the_norm(small, large, base):
    """E[L/B] over x ~ S is Z, the norm of T at strength 1."""
    mean = (np.exp(small) * np.exp(large - base)).sum()
    norm = (np.exp(large) * np.exp(small) / np.exp(base)).sum()
    assert_allclose(mean, norm, rtol=1e-9)
