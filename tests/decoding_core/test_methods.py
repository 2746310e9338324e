import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose

from decoding_core import methods
from decoding_core.errors import UnknownMethodError
from decoding_core.messages import Candidates
from decoding_core.methods import coupled, generalist, specialist, steering
from decoding_core.sampling import log_softmax
from decoding_core.settings import MethodSettings

SIZE = 9
logprobs = hnp.arrays(np.float64, SIZE, elements=st.floats(-6, 6)).map(log_softmax)
strengths = st.floats(0.25, 3)


def row(large, base):
    """A row over the whole vocabulary, without rounding to float32."""
    candidates = Candidates(
        np.arange(SIZE, dtype=np.int32), np.zeros(SIZE, "f4"), np.zeros(SIZE, "f4")
    )
    object.__setattr__(candidates, "generalist_logprobs", large)
    object.__setattr__(candidates, "base_logprobs", base)
    return candidates


def target(small, large, base, strength):
    """T by its definition, without logarithms."""
    weights = np.exp(large) * (np.exp(small) / np.exp(base)) ** strength
    return weights / weights.sum()


def emitted(method, small, large, base):
    """Exact distribution of the next token: drafted and kept, or redrawn."""
    keep = np.exp(small) * method.acceptance(large, base)
    return keep + (1 - keep.sum()) * method.redraw(small, row(large, base))


@given(logprobs, logprobs, logprobs, strengths)
def test_redraw_is_the_steered_target(small, large, base, strength):
    """Equation 8, for any strength."""
    method = steering.Method(strength=strength)
    assert_allclose(
        method.redraw(small, row(large, base)),
        target(small, large, base, strength),
        atol=1e-9,
    )


@given(logprobs, logprobs, logprobs, st.floats(0.05, 3))
def test_stochastic_steering_emits_its_mixture(small, large, base, threshold):
    """A * S*min(L/B, threshold)/norm + (1 - A) * T, exactly."""
    method = steering.Method(threshold=threshold, rule="stochastic")
    ratio = np.exp(large - base)
    share = (np.exp(small) * np.minimum(1, ratio / threshold)).sum()
    clipped = np.exp(small) * np.minimum(ratio, threshold)
    expected = share * clipped / clipped.sum()
    expected += (1 - share) * target(small, large, base, 1.0)
    assert_allclose(emitted(method, small, large, base), expected, atol=1e-9)


@given(logprobs, logprobs, logprobs)
def test_stochastic_steering_is_exact_above_the_largest_ratio(small, large, base):
    """Then what is emitted is T itself."""
    threshold = float(np.exp(large - base).max())
    method = steering.Method(threshold=threshold, rule="stochastic")
    assert_allclose(
        emitted(method, small, large, base),
        target(small, large, base, 1.0),
        atol=1e-9,
    )


@pytest.mark.parametrize("rule", ["greedy", "stochastic"])
@given(logprobs, logprobs, logprobs)
def test_threshold_zero_is_the_specialist(rule, small, large, base):
    """Everything is kept."""
    method = steering.Method(threshold=0.0, rule=rule)
    assert_allclose(emitted(method, small, large, base), np.exp(small), atol=1e-9)


@given(logprobs, logprobs, logprobs, strengths)
def test_an_endless_threshold_is_steering_token_by_token(small, large, base, strength):
    """Nothing is kept, so every token is drawn from T."""
    method = steering.Method(threshold=1e6, strength=strength)
    assert_allclose(
        emitted(method, small, large, base),
        target(small, large, base, strength),
        atol=1e-9,
    )


@given(logprobs, logprobs)
def test_equality_refuses(large, small):
    """The greedy rule keeps only above the threshold."""
    method = steering.Method(threshold=1.0)
    assert not method.acceptance(large, large).any()
    assert small.shape == large.shape


@pytest.mark.parametrize("rule", ["greedy", "stochastic"])
@given(logprobs, logprobs, st.floats(0.01, 2), st.floats(0.01, 2))
def test_a_stricter_threshold_never_keeps_more(rule, large, base, one, other):
    """Acceptance falls as the threshold rises."""
    low, high = sorted((one, other))
    loose = steering.Method(threshold=low, rule=rule).acceptance(large, base)
    strict = steering.Method(threshold=high, rule=rule).acceptance(large, base)
    assert (strict <= loose + 1e-12).all()


@given(logprobs, logprobs, strengths)
def test_without_history_the_target_is_the_generalist(large, base, strength):
    """Specialist equal to base: nothing personal, nothing steered."""
    method = steering.Method(strength=strength)
    assert_allclose(method.redraw(base, row(large, base)), np.exp(large), atol=1e-9)


@given(logprobs, logprobs, logprobs)
def test_bonus_flags(small, large, base):
    """Steered, the generalist's own, or none."""
    candidates = row(large, base)
    assert steering.Method(bonus_from="none").bonus(small, candidates) is None
    assert_allclose(
        steering.Method(bonus_from="generalist").bonus(small, candidates),
        np.exp(large),
        atol=1e-9,
    )
    assert_allclose(
        steering.Method().bonus(small, candidates),
        target(small, large, base, 1.0),
        atol=1e-9,
    )


@given(logprobs, logprobs, logprobs)
def test_baselines(small, large, base):
    """The generalist ignores the device; the specialist ignores the server."""
    candidates = row(large, base)
    assert_allclose(generalist.Method().redraw(small, candidates), np.exp(large))
    assert_allclose(specialist.Method().redraw(small, candidates), np.exp(small))
    assert specialist.Method().acceptance(large, base).all()


@given(logprobs, logprobs, logprobs, st.integers(0, 10_000))
def test_the_coupled_method_keeps_only_what_the_target_draws(small, large, base, seed):
    """The same noise, so equal distributions always agree."""
    settings = MethodSettings(method="coupled", temperature=1.0, seed=seed)
    probs = coupled.Method().redraw(small, row(large, base))
    with np.errstate(divide="ignore"):
        drawn = settings.draw().coupled(np.log(probs), 4)
        again = settings.draw().coupled(log_softmax(np.log(probs) + 3.0), 4)
    assert drawn == again


def test_methods_are_found_by_their_files():
    """And a name that is none is refused with the list of those there are."""
    names = methods.available()
    assert {"steering", "coupled", "generalist", "specialist"} <= set(names)
    for name in names:
        assert methods.build(MethodSettings(method=name)).name == name
    with pytest.raises(UnknownMethodError, match="steering"):
        methods.build(MethodSettings(method="nonsense"))
