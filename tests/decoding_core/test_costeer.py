import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose

from decoding_core.errors import InvalidSettingsError
from decoding_core.messages import DraftBlock
from decoding_core.methods import build, costeer
from decoding_core.sampling import log_softmax
from decoding_core.settings import MethodSettings
from decoding_core.verifier import role_of, verify
from tests.exact import row_of, steered

# Drawn one by one: numbers that fill up an array take hypothesis twice the time.
logprobs = hnp.arrays(np.float64, 9, elements=st.floats(-6, 6), fill=st.nothing()).map(
    log_softmax
)


def loop(large, base, small, steps, alpha=2.0, beta=1.0, lam=2.0, eta=10.0):
    """The paper's own loop: log pi_T (V,)."""
    delta, last, utility = small - base, large, np.zeros_like(large)
    for step in range(1, steps + 1):
        utility = utility + alpha * (last - large) + beta * delta
        last = utility + step * lam * large + last / eta
        last = log_softmax(last / (step * lam + 1 / eta))
    return last


@given(
    *(logprobs, logprobs, logprobs),
    st.sampled_from([1, 2, 5, 20, 100]),
    *(st.floats(0.1, 3), st.floats(0.5, 3), st.floats(1, 3), st.floats(1, 20)),
)
def test_the_loop_collapses_to_a_strength(
    small, large, base, steps, beta, alpha, lam, eta
):
    """T steps are steering with c_T * beta, whatever the loop's parameters."""
    how = {"alpha": alpha, "lam": lam, "eta": eta}
    strength = beta * costeer.steps_as_strength(steps, **how)
    closed = log_softmax(large + strength * (small - base))
    looped = loop(large, base, small, steps, beta=beta, **how)
    assert_allclose(np.exp(looped), np.exp(closed), rtol=0, atol=1e-12)


def test_the_numbers_of_the_page():
    found = {t: round(costeer.steps_as_strength(t), 6) for t in (1, 2, 10, 20, 50)}
    expected = {1: 0.476190, 2: 0.731707, 10: 1.448781, 20: 1.783257, 50: 2.234015}
    assert found == expected
    assert costeer.steps_as_strength(0) == 0.0


@pytest.mark.parametrize(
    ("name", "constant"), [("costeer", 1.783257), ("lightcosteer", 0.476190)]
)
@given(logprobs, logprobs, logprobs, st.floats(0.25, 2))
def test_every_token_is_drawn_from_it(name, constant, small, large, base, beta):
    """The method's own target, with its strength as the paper's beta."""
    method = build(MethodSettings(method=name, strength=beta))
    expected = steered(small, large, base, beta * constant)
    row = row_of(large, base)
    assert_allclose(method.target(small, row), expected, atol=1e-5)
    assert_allclose(method.bonus(small, row), expected, atol=1e-5)
    assert not method.drafts


@pytest.mark.parametrize("method", ["costeer", "lightcosteer"])
@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_what_lies_outside_of_the_row_is_bounded(method, beta):
    """By the row that a server sends: its tail is weighed with c_T * beta, not with
    beta. With all candidates nothing lies outside."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        small, large, base = log_softmax(rng.normal(0, 2, (3, 60)))
        for count in (5, 30, 60):
            settings = MethodSettings(method=method, strength=beta, candidates=count)
            block = DraftBlock(0, 0, 0, 0, (), ())
            role = role_of(settings.terms())
            row = verify(block, large[None], base[None], role).rows[0]
            chosen = build(settings)
            whole = steered(small, large, base, chosen.strength)
            outside = 1 - whole[row.token_ids].sum()
            bound = chosen.truncation_bound(small, row)
            assert outside - 1e-6 <= bound <= 1.0
            assert (bound == 0.0) == (count == 60)


CHANGED = {"costeer_steps": 7, "costeer_alpha": 0.5, "costeer_lambda": 3.0}


@pytest.mark.parametrize(
    ("changes", "steps", "loops"),
    [
        ({"costeer_steps": 50}, 50, {}),
        (CHANGED | {"costeer_eta": 2.0}, 7, {"alpha": 0.5, "lam": 3.0, "eta": 2.0}),
    ],
)
def test_device_and_server_take_the_loop_from_the_settings(changes, steps, loops):
    """Both know what it amounts to: the server by the terms of the session. The light
    one has one step, whatever is set."""
    for name, taken in (("costeer", steps), ("lightcosteer", 1)):
        settings = MethodSettings(method=name, strength=1.5, **changes)
        expected = 1.5 * costeer.steps_as_strength(taken, **loops)
        assert build(settings).delta_weight == pytest.approx(expected, rel=1e-15)
        role = role_of(settings.terms())
        assert role.method.delta_weight == build(settings).delta_weight


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"costeer_steps": 0}, "steps must lie between 1 and 1000"),
        ({"costeer_alpha": -1.0}, "alpha must lie between 0 and 100"),
        ({"costeer_lambda": float("nan")}, "lambda must lie between 0 and 100"),
        ({"costeer_eta": 0.0}, "eta must lie between 0.01 and 1e"),
        ({"costeer_alpha": 90.0, "costeer_steps": 1000}, "take fewer steps"),
        ({"costeer_alpha": 100.0, "costeer_lambda": 0.0}, "strength of"),
        ({"strength": 90.0}, "strength of 160.5, and 100 is the highest"),
    ],
)
def test_a_loop_that_cannot_be_is_refused(changes, words):
    with pytest.raises(InvalidSettingsError, match=words):
        build(MethodSettings(method="costeer", **changes))
