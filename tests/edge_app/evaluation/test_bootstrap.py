"""Intervals: what they hold, what they are drawn from."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from edge_app.evaluation.figures import RESAMPLES, Resamples

costs = st.lists(
    st.tuples(st.integers(0, 4), st.floats(0.1, 5.0), st.integers(1, 900)),
    min_size=2,
    max_size=12,
)


def columns(rows):
    users, rates, sizes = zip(*rows, strict=True)
    size = np.array(sizes, float)
    return users, np.array(rates) * size, size


@given(costs)
def test_the_figure_is_the_ratio_of_the_sums(rows):
    """And no draw lies outside the texts' own range."""
    users, nats, size = columns(rows)
    estimate = Resamples(users, 0).ratio(nats, size)
    assert_allclose(estimate.value, nats.sum() / size.sum())
    assert estimate.low <= estimate.high
    rates = nats / size
    assert rates.min() - 1e-9 <= estimate.low
    assert estimate.high <= rates.max() + 1e-9


@given(costs)
def test_whole_users_are_drawn(rows):
    """Texts of one user are drawn equally often."""
    users = [user for user, *_ in rows]
    resamples = Resamples(users, 0)
    assert resamples.weights.shape == (RESAMPLES, len(users))
    if len(set(users)) == 1:
        assert resamples.units == len(users)
        return
    assert resamples.units == len(set(users))
    for place, user in enumerate(users):
        first = resamples.weights[:, users.index(user)]
        assert (resamples.weights[:, place] == first).all()


@given(costs, st.floats(-0.5, 0.5))
def test_equal_shares_leave_no_doubt(rows, change):
    """A change that is the same in every text has an interval of no width."""
    users, nats, _ = columns(rows)
    estimate = Resamples(users, 1).ratio(nats * (1 + change), nats, 1.0)
    assert_allclose([estimate.value, estimate.low, estimate.high], change, atol=1e-9)


def test_one_text_has_no_interval():
    """There is nothing to draw from."""
    estimate = Resamples(["u"], 0).ratio(np.array([2.0]), np.array([4.0]))
    assert (estimate.value, estimate.low, estimate.high) == (0.5, None, None)


def test_the_seed_decides():
    """The same seed gives the same interval."""
    rng = np.random.default_rng(3)
    nats, size = rng.uniform(1, 2, 20), np.ones(20)
    first, again, other = (Resamples(range(20), n).ratio(nats, size) for n in (1, 1, 2))
    assert first == again != other


def test_the_interval_covers():
    """Of figures whose truth is known, about 95 % of the intervals hold it."""
    rng = np.random.default_rng(5)
    held = 0
    for seed in range(100):
        nats = np.repeat(rng.normal(2.0, 0.5, 30), 3) + rng.normal(0, 0.1, 90)
        estimate = Resamples(np.repeat(range(30), 3).tolist(), seed).ratio(
            nats, np.ones(90)
        )
        held += estimate.low <= 2.0 <= estimate.high
    assert 86 <= held <= 100
