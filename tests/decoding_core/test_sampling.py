import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose

from decoding_core.errors import InvalidSettingsError
from decoding_core.sampling import (
    TIED,
    Draw,
    Noise,
    Use,
    acceptance_seed,
    likeliest,
    likeliest_ids,
    log_softmax,
    log_sum_exp,
    nucleus,
    sample,
    weights_of,
)
from decoding_core.settings import MethodSettings, check_draw

# Drawn one by one: numbers that fill up an array take hypothesis twice the time.
logits = hnp.arrays(
    np.float64, st.integers(2, 12), elements=st.floats(-30, 30), fill=st.nothing()
)


@given(logits, st.floats(-100, 100), st.floats(0.1, 5))
def test_a_constant_changes_no_log_probability(values, constant, temperature):
    found = log_softmax(values, temperature)
    assert_allclose(found, log_softmax(values + constant, temperature), atol=1e-8)
    assert_allclose(np.exp(found).sum(), 1, atol=1e-9)


@given(logits, st.floats(0.05, 1))
def test_top_p_keeps_the_likeliest_and_enough(values, top_p):
    """What is kept holds the share, without those tied with the last it would not, and
    it is likelier than all that is dropped."""
    probs = np.exp(log_softmax(values))
    kept = nucleus(probs, top_p)
    last = probs[kept].min()
    assert probs[kept].sum() >= top_p - TIED
    assert probs[probs > last * (1 + 2 * TIED)].sum() <= top_p + 1e-9
    assert list(kept) == sorted(kept)
    dropped = np.delete(probs, kept)
    if dropped.size:
        assert last > dropped.max()


# Many of these are equal, sums of their weights are often round shares, and those that
# differ do so by far more than the last bits.
coarse = hnp.arrays(
    np.int8, st.integers(2, 12), elements=st.integers(-6, 6), fill=st.nothing()
).map(lambda halves: np.log(2.0) * halves)
shares = st.integers(2, 12).flatmap(
    lambda whole: st.integers(1, whole - 1).map(lambda part: part / whole)
)
steps = st.lists(st.integers(-3, 3), min_size=12, max_size=12)
precisions = st.sampled_from([np.float32, np.float64])


def nudged(values, by, precision):
    """Values (V,) with each moved by some last bits of logits of up to 32 nats."""
    bits = np.array(by[: len(values)]) * np.spacing(precision(16))
    return (values.astype(precision) + bits).astype(precision)


@given(coarse, shares, steps, precisions, st.sampled_from([1.0, 0.5]))
@example(np.log([32.0] + [1.0] * 8), 0.9, [1, -1, 0, 2, -2, 1] * 2, np.float64, 1.0)
@example(np.zeros(10), 0.9, [-3, 3] * 6, np.float32, 1.0)
def test_last_bits_decide_no_cut(values, top_p, by, precision, temperature):
    """Top-p, argmax and candidates choose the same tokens of the logits of one machine
    and of another's; so does whoever draws from what is left."""
    other = nudged(values, by, precision)
    one, two = weights_of(values, temperature), weights_of(other, temperature)
    assert list(nucleus(one, top_p)) == list(nucleus(two, top_p))
    assert likeliest(values) == likeliest(other) == int(values.argmax())
    for count in range(1, len(values)):
        assert list(likeliest_ids(values, count)) == list(likeliest_ids(other, count))
    for draw in (Draw(temperature, top_p, Noise(1)), Draw(0.0, 1.0, Noise(1))):
        assert_allclose(draw.distribution(one), draw.distribution(two), atol=TIED)
        assert draw.from_probs(one, Use.DRAFT, 3) == draw.from_probs(two, Use.DRAFT, 3)
        logits = np.log(one), np.log(two)
        assert draw.coupled(logits[0], 3) == draw.coupled(logits[1], 3)


def plainly_likeliest_ids(values, count):
    """`likeliest_ids` by its definition, from the whole row."""
    last = np.sort(values)[-count]
    above = np.flatnonzero(values > last + TIED)
    tied = np.flatnonzero((values >= last - TIED) & (values <= last + TIED))
    return sorted([*above, *tied[: count - len(above)]])


@given(logits, st.integers(1, 12))
def test_candidates_are_the_likeliest(values, count):
    count = min(count, len(values))
    assert list(likeliest_ids(values, count)) == plainly_likeliest_ids(values, count)


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.sampled_from([1e-4, 0.1, 3.0]))
def test_candidates_of_a_large_vocabulary_are_those_of_a_small_one(seed, count, step):
    """Where only the few above a bound are looked at: the same, among many tied ones,
    those at the very distance of a tie, and none of a part that is all large."""
    rng = np.random.default_rng(seed)
    values = (step * rng.integers(-8, 9, 64 * 90 + 7)).astype(np.float32)
    values[rng.integers(0, len(values), 20)] += np.float32(30)
    values[::90][: count // 2] = 50
    assert list(likeliest_ids(values, count)) == plainly_likeliest_ids(values, count)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.3, 0.7, 1.0, 5.0]),
    st.sampled_from([-3e4, -60.0, 0.0, 25.0, 200.0]),
)
def test_one_sum_makes_log_probabilities_of_logits(seed, temperature, constant):
    """Wherever the logits lie, and to a tenth of a tie in float32."""
    values = np.random.default_rng(seed).normal(constant, 4, 7001).astype(np.float32)
    expected = log_softmax(values.astype(np.float64), temperature)
    scaled = values.astype(np.float64) / (temperature or 1.0)
    found = scaled - log_sum_exp(values, temperature)
    off_by = 2e-6 if temperature in (0.0, 1.0) else 1e-5
    assert_allclose(found, expected, atol=off_by, rtol=2e-7)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.7, 1.0]),
    st.sampled_from([1.0, 0.95, 0.5]),
)
def test_what_is_looked_up_of_a_distribution_is_what_it_has(seed, temperature, top_p):
    values = np.random.default_rng(seed).normal(0, 3, 5000).astype(np.float32)
    draw = Draw(temperature, top_p, Noise(0))
    whole = draw.distribution(weights_of(values.astype(float), temperature))
    found = draw.distribution_of(values)
    assert_allclose(found[np.arange(5000)], whole, rtol=1e-4, atol=1e-12)
    assert_allclose(found[int(values.argmax())], whole.max(), rtol=1e-4)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.3, 2.0, 5.0]),
    st.sampled_from([0.999, 0.95, 0.5, 0.01]),
)
def test_top_p_of_a_large_vocabulary_is_found_among_the_likely(seed, spread, top_p):
    """As by sorting it whole, be it flat or peaked, with many tied."""
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(0, spread, 20_000), 1).astype(np.float32)
    weights = weights_of(values, 1.0)
    order = np.sort(weights.astype(np.float64))[::-1]
    share = top_p * (1 - TIED * (1 - top_p)) * order.sum()
    passed = np.searchsorted(np.cumsum(order), share * (1 + 1e-6 * np.array([-1, 1])))
    allowed = [np.flatnonzero(weights >= order[at] * np.exp(-TIED)) for at in passed]
    assert any(np.array_equal(nucleus(weights, top_p), ids) for ids in allowed)


@given(st.integers(0, 2**32 - 1), st.floats(0, 1, exclude_max=True))
def test_a_token_of_a_large_vocabulary_is_drawn_by_inversion(seed, uniform):
    """The token at which the sum of all before it passes the number, to the last bits
    of that sum."""
    weights = np.random.default_rng(seed).exponential(1, 20_000).astype(np.float32) ** 4
    weights[weights < 1e-3] = 0
    mass = np.cumsum(weights, dtype=np.float64)
    index = sample(weights, uniform)
    assert weights[index] > 0
    assert mass[index] >= (uniform - 1e-6) * mass[-1]
    assert mass[index] - weights[index] <= (uniform + 1e-6) * mass[-1]


@given(logits, st.floats(0, 1, exclude_max=True))
def test_a_token_of_probability_zero_is_never_drawn(values, uniform):
    probs = np.exp(log_softmax(values))
    probs[values < np.median(values)] = 0
    assert probs[sample(probs, uniform)] > 0


def test_noise_is_a_function_of_seed_use_and_position():
    noise = Noise(5)
    assert noise.uniform(Use.DRAFT, 3) == Noise(5).uniform(Use.DRAFT, 3)
    others = [
        noise.uniform(Use.ACCEPT, 3),
        noise.uniform(Use.DRAFT, 4),
        Noise(6).uniform(Use.DRAFT, 3),
    ]
    assert noise.uniform(Use.DRAFT, 3) not in others
    assert list(noise.gumbel(9, np.array([4, 2]))) == list(
        noise.gumbel(9, np.arange(8))[[4, 2]]
    )


def test_noise_over_the_vocabulary_is_gumbel_s():
    """Its distribution function is exp(-exp(-x)): the largest distance of that of n
    numbers is below sqrt(ln(2e6) / 2n) but once in a million seeds (Massart 1990). And
    what neighbours have, or one token at two positions, has no correlation."""
    n, noise = 151_936, Noise(8)
    drawn = noise.gumbel(0, np.arange(n))
    expected = np.exp(-np.exp(-np.sort(drawn)))
    distance = np.abs(expected - (np.arange(n) + 0.5) / n).max()
    assert distance < np.sqrt(np.log(2e6) / (2 * n))
    across = [noise.gumbel(position, np.array([5]))[0] for position in range(2000)]
    for one, two in (
        (drawn[1:], drawn[:-1]),
        (drawn, noise.gumbel(1, np.arange(n))),
        (across[1:], across[:-1]),
    ):
        assert abs(np.corrcoef(one, two)[0, 1]) < 5 / np.sqrt(len(one))


def test_the_server_does_not_learn_the_seed():
    """It gets a number that is neither the seed nor gives its noise."""
    for seed in (0, 1, 2**53):
        told = MethodSettings(seed=seed).terms().seed
        assert told == acceptance_seed(seed) != seed
        assert 0 <= told < 2**63
        assert Noise(told).uniform(Use.DRAFT, 0) != Noise(seed).uniform(Use.DRAFT, 0)
    assert acceptance_seed(1) != acceptance_seed(2)


def test_candidates_see_the_noise_of_their_tokens():
    """A subset of tokens is drawn with the noise that the whole vocabulary has."""
    draw, logprobs = Draw(1.0, 1.0, Noise(1)), log_softmax(np.arange(6.0))
    for position in range(50):
        best = draw.coupled(logprobs, position)
        ids = np.unique([best, 2, 5]).astype(np.int32)
        assert ids[draw.coupled(logprobs[ids], position, ids)] == best


@pytest.mark.parametrize(
    ("temperature", "top_p", "seed"), [(-1, 1, 0), (0, 0, 0), (0, 1.1, 0), (0, 1, -1)]
)
def test_parameters_out_of_range_are_refused(temperature, top_p, seed):
    with pytest.raises(InvalidSettingsError, match="must"):
        check_draw(temperature, top_p, seed)


def test_acceptance_has_noise_of_its_own():
    """Neither that of the draft it verifies nor that of the redraw that may follow."""
    noise = Noise(11)
    decided = [noise.keeps(0.5, position) for position in range(64)]
    for use in Use:
        drawn = [noise.uniform(use, position) < 0.5 for position in range(64)]
        assert (drawn == decided) == (use is Use.ACCEPT)
    again = [noise.keeps(0.5, position, 1) for position in range(64)]
    assert again != decided


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_shared_noise_picks_among_what_top_p_keeps(temperature):
    """The likeliest alone holds the share: no noise brings another."""
    logits = temperature * np.log(np.array([0.1, 0.7, 0.1, 0.1]))
    draw = Draw(temperature, 0.65, Noise(3))
    logprobs = draw.unnormalised(logits)

    assert_allclose(logprobs, np.log([0.1, 0.7, 0.1, 0.1]))
    assert {draw.coupled(logprobs, position) for position in range(100)} == {1}
