import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose

from decoding_core import methods
from decoding_core.errors import DecodingError, InvalidSettingsError, UnknownMethodError
from decoding_core.methods import (
    contrast,
    generalist,
    lossless,
    rejection,
    specialist,
    steering,
)
from decoding_core.residual import truncation_bound
from decoding_core.sampling import TIED, log_softmax
from decoding_core.settings import MethodSettings
from tests.exact import (
    contrasted,
    cut,
    emitted_by_device,
    emitted_by_server,
    off_the_edge,
    row_of,
    steered,
    total_variation,
)

SIZE = 9
# Drawn one by one: numbers that fill up an array take hypothesis twice the time.
logprobs = hnp.arrays(
    np.float64, SIZE, elements=st.floats(-6, 6), fill=st.nothing()
).map(log_softmax)
strengths = st.floats(0.25, 3)
candidates = st.sets(st.integers(0, SIZE - 1), min_size=1).map(sorted)
top_ps = st.sampled_from([1.0, 0.9, 0.5])


def emitted(method, small, large, base, threshold):
    """Exact distribution of the next token: drafted and kept, or redrawn."""
    row = row_of(large, base)
    keep = method.acceptance(large, base, threshold)
    return emitted_by_server(keep, np.exp(small), row, method.target(small, row))


def draws(top_p=1.0, temperature=1.0):
    return MethodSettings(temperature=temperature, top_p=top_p).draw()


@given(logprobs, logprobs, logprobs, strengths)
def test_the_target_is_the_steered_one(small, large, base, strength):
    """Equation 8, for any strength and in every method that steers."""
    for kind in (steering.Steering, lossless.Lossless, lossless.Coupled):
        assert_allclose(
            kind(strength).target(small, row_of(large, base)),
            steered(small, large, base, strength),
            atol=1e-9,
        )


@given(logprobs, logprobs, logprobs, st.floats(0.05, 3), top_ps)
def test_stochastic_steering_emits_its_mixture(small, large, base, threshold, top_p):
    """A * S*min(L/B, threshold)/norm + (1 - A) * T, exactly, T being that of the test
    above. Top-p cuts S and T, which are drawn from, and not the rule."""
    draw, row = draws(top_p), row_of(large, base)
    method = steering.Steering(rule="stochastic")
    ratio = np.exp(large - base)
    drafts = draw.distribution(np.exp(small))
    target = draw.distribution(method.target(small, row))
    share = (drafts * np.minimum(1, ratio / threshold)).sum()
    clipped = drafts * np.minimum(ratio, threshold)
    expected = share * clipped / clipped.sum() + (1 - share) * target
    keep = method.acceptance(large, base, threshold)
    found = emitted_by_server(keep, drafts, row, target)
    assert_allclose(found, expected, atol=1e-9)


@given(logprobs, logprobs, logprobs, st.floats(0.05, 3))
def test_greedy_steering_keeps_what_lies_above(small, large, base, threshold):
    """The page's formula: S * [L/B > threshold] in the place of the clipped part."""
    ratio = large - base
    assume(off_the_edge(np.append(ratio, np.log(threshold))))
    keep = ratio > np.log(threshold) + TIED
    kept = np.exp(small) * keep
    expected = kept + (1 - kept.sum()) * steered(small, large, base, 1.0)
    found = emitted(steering.Steering(), small, large, base, threshold)
    assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("rule", ["greedy", "stochastic"])
@given(logprobs, logprobs, logprobs, strengths)
def test_at_its_ends_the_threshold_keeps_all_or_nothing(
    rule, small, large, base, strength
):
    """The specialist at 0, steering token by token without an end."""
    method = steering.Steering(strength, rule)
    found = emitted(method, small, large, base, 0.0)
    assert_allclose(found, np.exp(small), atol=1e-9)
    found = emitted(method, small, large, base, 1e15)
    assert_allclose(found, steered(small, large, base, strength), atol=1e-9)


@given(logprobs, st.floats(0.05, 3), st.lists(st.integers(-3, 3), min_size=SIZE))
def test_equality_refuses(base, threshold, by):
    """The greedy rule keeps only above the threshold, whatever the last bits say."""
    large = base + np.log(threshold) + np.array(by[:SIZE]) * np.spacing(np.float32(16))
    assert not steering.Steering().acceptance(large, base, threshold).any()
    assert steering.Steering().acceptance(large + 0.001, base, threshold).all()


@given(logprobs, st.sampled_from([0.1, 0.5, 1.0]), st.integers(-3, 3))
def test_a_plausible_token_is_one_whatever_its_last_bits(small, share, by):
    small = np.append(small, small.max() + np.log(share))
    small[-1] += by * np.spacing(np.float32(16))
    target = contrast.Contrast(0.0, share).target(small, row_of(small, small))
    assert target[-1] > 0


@given(logprobs, logprobs, strengths, candidates)
def test_without_history_the_target_is_the_generalist(large, base, strength, ids):
    """Specialist equal to base: nothing personal, nothing steered, in any method that
    draws from a row, whatever its strength."""
    row = row_of(large, base, ids)
    for name in methods.available():
        settings = MethodSettings(method=name, strength=strength, temperature=1.0)
        method = methods.build(settings)
        if not method.needs_generalist or method.drafts_again:
            continue
        found = method.target(base[ids], row)
        assert_allclose(found, cut(np.exp(large), ids)[ids], atol=1e-9)


@given(logprobs, logprobs, logprobs)
def test_bonus_flags(small, large, base):
    """Steered, or the generalist's own; unless one is asked for there is none."""
    row = row_of(large, base)
    assert not steering.Steering().takes_bonus
    assert steering.Steering(bonus_from="generalist").takes_bonus
    unsteered = steering.Steering(bonus_from="generalist").bonus(small, row)
    assert_allclose(unsteered, np.exp(large), atol=1e-9)
    target = steered(small, large, base, 1.0)
    assert_allclose(steering.Steering().bonus(small, row), target, atol=1e-9)
    for kind in (lossless.Lossless, lossless.Coupled, rejection.Rejection):
        assert not kind().takes_bonus


@given(logprobs, logprobs, logprobs, strengths, top_ps)
def test_lossless_emits_the_target(small, large, base, strength, top_p):
    """Whatever the specialist drafts, at any strength and any top-p, which cuts both
    the drafts and the target."""
    draw, row = draws(top_p), row_of(large, base)
    target = draw.distribution(lossless.Lossless(strength).target(small, row))
    drafts = draw.distribution(np.exp(small))
    assert_allclose(emitted_by_device(target, drafts, row), target, atol=1e-9)
    if top_p == 1.0:
        expected = steered(small, large, base, strength)
        assert_allclose(target, expected, atol=1e-9)


@given(logprobs, logprobs, logprobs, strengths, candidates)
def test_lossless_emits_the_cut_target(small, large, base, strength, ids):
    """With any candidates: exactly T cut to them, and no farther from T than its own
    bound, which is the mass outside of them or more."""
    row = row_of(large, base, ids, strength)
    method = lossless.Lossless(strength)
    whole = steered(small, large, base, strength)
    found = emitted_by_device(method.target(small[ids], row), np.exp(small), row)
    assert_allclose(found, cut(whole, ids), atol=1e-9)
    bound = method.truncation_bound(small, row)
    assert total_variation(found, whole) <= bound + 1e-9
    assert bound <= 1.0
    assert_allclose(total_variation(found, whole), 1 - whole[ids].sum(), atol=1e-9)
    if len(ids) == SIZE:
        assert bound == 0.0


@pytest.mark.parametrize("edge", [False, True])
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 1.0, 2.5]))
def test_the_bound_of_a_large_vocabulary_is_never_too_small(edge, seed, strength):
    """As float32, and from logits that lack a constant; nor larger than by a
    thousandth than that of a float64 sum over log-probabilities."""
    rng = np.random.default_rng(seed)
    small, large, base = log_softmax(rng.normal(0, rng.uniform(1, 9), (3, 7000)))
    ids = np.sort(np.argsort(large)[-50:])
    row = row_of(large, base, ids, strength=0.0 if edge else strength)
    if edge:
        object.__setattr__(row, "whole_base", base)
    others = np.delete(strength * (small - base if edge else small), ids)
    outside = np.exp(others).sum() * np.exp(row.tail_log_ratio)
    inside = (np.exp(large) * (np.exp(small) / np.exp(base)) ** strength)[ids].sum()
    plain = outside / (outside + inside)
    found = truncation_bound((small + 11.0).astype(np.float32), row, strength)
    assert plain * (1 - 1e-12) <= found <= min(1.0, 1.002 * plain + 1e-30)


@given(logprobs, logprobs, candidates, top_ps)
def test_speculative_decoding_emits_the_generalist(small, large, ids, top_p):
    """Whatever the specialist drafts; its bound is the mass outside."""
    draw = draws(top_p)
    row = row_of(large, np.zeros(SIZE), ids)
    method = generalist.Speculative()
    target = draw.distribution(method.target(np.zeros(len(ids)), row))
    drafts = draw.distribution(np.exp(small))
    expected = np.zeros(SIZE)
    expected[ids] = target
    assert_allclose(emitted_by_device(target, drafts, row), expected, atol=1e-9)
    if top_p == 1.0:
        assert_allclose(expected, cut(np.exp(large), ids), atol=1e-9)
    outside = 1 - np.exp(large)[ids].sum()
    assert_allclose(method.truncation_bound(np.empty(0), row), outside, atol=1e-9)


@given(logprobs, logprobs, logprobs, strengths)
def test_at_temperature_zero_a_device_keeps_the_likeliest(small, large, base, strength):
    draw, row = draws(temperature=0.0), row_of(large, base)
    target = draw.distribution(lossless.Lossless(strength).target(small, row))
    found = emitted_by_device(target, draw.distribution_of(small)[np.arange(SIZE)], row)
    assert found.argmax() == target.argmax()
    assert found.max() == 1.0


@given(logprobs, logprobs, logprobs)
def test_baselines(small, large, base):
    """The generalist ignores the device; the specialist ignores the server."""
    assert_allclose(
        generalist.Generalist().target(small, row_of(large, base)), np.exp(large)
    )
    assert specialist.Specialist().acceptance(large, base, 0.5).all()
    with pytest.raises(DecodingError, match="nothing is drawn"):
        specialist.Specialist().target(small, row_of(large, base))
    with pytest.raises(DecodingError, match="verifies nothing in the lossless"):
        lossless.Lossless().acceptance(large, base, 0.5)


EIGHT_TIED = [log_softmax(np.log([larger] + [1.0] * 8)) for larger in (22.0, 62.0)]
"""A first few of them hold 0.9, but for the last bits."""


@given(logprobs, logprobs, strengths, st.sampled_from([0.0, 0.1, 0.5, 1.0]), top_ps)
@example(EIGHT_TIED[0], EIGHT_TIED[0], 1.0, 0.0, 0.9)
@example(EIGHT_TIED[1], EIGHT_TIED[1], 1.0, 0.0, 0.9)
def test_the_contrast_is_emitted_exactly(small, base, strength, share, top_p):
    """Whatever is drafted, at any strength, plausibility and top-p; what the row holds
    of a generalist plays no part."""
    contrasted_logs = small + strength * (small - base)
    assume(off_the_edge(np.append(small, small.max() + np.log(share or 1.0))))
    assume(off_the_edge(contrasted_logs))
    row = row_of(np.zeros(SIZE), base)
    method, draw = contrast.Contrast(strength, share), draws(top_p)
    target = draw.distribution(method.target(small - 3.0, row))
    found = emitted_by_device(target, draw.distribution(np.exp(small)), row)
    expected = contrasted(small, base, strength, share)
    assert_allclose(found, draw.distribution(expected), atol=1e-9)
    assert method.truncation_bound(small, row) == 0.0


@given(logprobs, logprobs, logprobs, st.integers(0, 10_000), top_ps)
def test_the_coupled_method_keeps_only_what_the_target_draws(
    small, large, base, seed, top_p
):
    """The same noise, so equal distributions always agree; what top-p drops is never
    drawn."""
    assume(off_the_edge(large + small - base))
    settings = MethodSettings(method="coupled", temperature=1.0, seed=seed, top_p=top_p)
    probs = lossless.Coupled().target(small, row_of(large, base))
    with np.errstate(divide="ignore"):
        drawn = settings.draw().coupled(np.log(probs), 4)
        again = settings.draw().coupled(log_softmax(np.log(probs) + 3.0), 4)
    assert drawn == again
    assert settings.draw().distribution(probs)[drawn] > 0


def test_methods_are_found_by_their_files():
    """And a name that is none is refused with the list of those there are."""
    names = methods.available()
    assert len(names) == 12
    for name in names:
        settings = MethodSettings(method=name, temperature=1.0)
        assert methods.build(settings).name == name
        assert 20 < len(methods.summary(name)) <= 50
    with pytest.raises(UnknownMethodError, match="steering"):
        methods.build(MethodSettings(method="nonsense"))


def test_what_cannot_work_says_why():
    with pytest.raises(InvalidSettingsError, match="temperature above 0"):
        methods.build(MethodSettings(method="rejection"))
    with pytest.raises(InvalidSettingsError, match="base on the server"):
        MethodSettings(base="edge", candidate_rule="contrast")


def clipped_twice(small, keep):
    """Exact probabilities (V, V) of the first two tokens with drafts of two, from rows
    (last token or none, next token). A round keeps both tokens, or the first alone, or
    none, and then begins again with fresh drafts: a geometric series."""
    kept = small * keep
    alone = kept / kept.sum(-1, keepdims=True)  # one token from a draft of one
    first, rest = kept[-1], kept[:-1]
    both = first[:, None] * rest + (first * (1 - rest.sum(-1)))[:, None] * alone[:-1]
    return both / first.sum()


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9, 2.0])
@pytest.mark.parametrize("seed", range(10))
def test_rejection_emits_the_clipped_target(seed, threshold):
    """S * min(L/B, threshold) / norm at every position, whatever the block length."""
    logits = np.random.default_rng(seed).normal(0, 1.2, (3, 5, 4))
    small, large, base = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    keep = rejection.Rejection().acceptance(np.log(large), np.log(base), threshold)
    clipped = small * np.minimum(large / base, threshold)
    clipped /= clipped.sum(-1, keepdims=True)
    expected = clipped[-1][:, None] * clipped[:-1]
    assert_allclose(clipped_twice(small, keep), expected, atol=1e-12)
