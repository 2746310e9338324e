"""What a draw may tell is bounded by the weight of the history in it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding_core.mixture import UNCUT, largest_weight, mixed, reference, reference_of
from decoding_core.sampling import Draw, Noise

LOGITS = st.lists(st.floats(-8, 8), min_size=5, max_size=5).map(np.array)
BOUND = st.floats(0, 6)


def probs(logits):
    weights = np.exp(logits)
    return weights / weights.sum()


def told(own, base, weight):
    return np.log(mixed(own, base, weight) / base)


@given(LOGITS, LOGITS, BOUND, BOUND)
def test_no_token_tells_more_than_the_bounds(own, base, highest, lowest):
    own, base = probs(own), probs(base)
    weight = largest_weight(own, base, highest, -lowest)
    assert 0 <= weight <= 1
    assert told(own, base, weight).max() <= highest + 1e-9
    assert told(own, base, weight).min() >= -lowest - 1e-9
    assert mixed(own, base, weight).sum() == pytest.approx(1)


@given(LOGITS, LOGITS, st.floats(1e-3, 6))
def test_the_weight_is_what_bisection_finds(own, base, bound):
    own, base = probs(own), probs(base)
    for lowest in (-math.inf, -bound):
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            all_told = told(own, base, middle)
            fits = all_told.max() <= bound and all_told.min() >= lowest
            low, high = (middle, high) if fits else (low, middle)
        found = largest_weight(own, base, bound, lowest)
        assert found == pytest.approx(low, abs=1e-6)


@given(LOGITS, LOGITS, BOUND, BOUND)
def test_a_wider_bound_takes_no_weight_away(own, base, one, more):
    own, base = probs(own), probs(base)
    narrow = largest_weight(own, base, one, -one)
    assert narrow <= largest_weight(own, base, one + more, -one - more)


def test_the_extremes_are_both_models():
    own, base = probs(np.arange(5.0)), probs(np.zeros(5))
    assert largest_weight(own, base, 0.0) == 0.0
    assert largest_weight(own, base, -1.0) == 0.0
    assert largest_weight(own, base, math.inf) == 1.0
    assert largest_weight(own, own, 0.0, 0.0) == 1.0
    np.testing.assert_array_equal(mixed(own, base, 0.0), base)
    np.testing.assert_array_equal(mixed(own, base, 1.0), own)


def test_what_would_never_be_drawn_without_the_history_is_not_drawn():
    own, base = np.array([0.5, 0.5, 0.0]), np.array([1.0, 0.0, 0.0])
    assert largest_weight(own, base, 5.0) == 0.0


def test_a_reference_knows_every_token_and_hardly_charges_for_top_p():
    weights = probs(np.array([3.0, 2.0, 1.0, 0.0, -4.0]))
    draw = Draw(1.0, 0.9, Noise(0))
    without = reference(draw, weights)
    assert without.sum() == pytest.approx(1)
    assert without[4] == pytest.approx(UNCUT * weights[4])
    cut = draw.distribution(weights)
    kept = cut > 0
    cost = np.log(cut[kept] / without[kept])
    assert cost.max() <= -math.log(1 - UNCUT * 0.1)
    np.testing.assert_allclose(reference(Draw(1.0, 1.0, Noise(0)), weights), weights)


@given(LOGITS, st.floats(0.1, 1.0), st.sampled_from([0.5, 1.0, 2.0]))
def test_a_reference_is_the_same_where_it_is_looked_up(logits, top_p, temperature):
    """And the tokens that can be drawn are among those that are named."""
    draw = Draw(temperature, top_p, Noise(0))
    whole = reference(draw, np.exp(logits / temperature))
    found = reference_of(draw, logits)
    np.testing.assert_allclose(found[:], whole)
    np.testing.assert_allclose(found[np.array([1, 3])], whole[[1, 3]])
    drawn = draw.distribution_of(logits)
    assert set(np.flatnonzero(drawn[:])) <= set(drawn.ids())
