"""The arithmetic of `specsteer lab bench privacy`."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.privacy.attack import within_budget
from benchmarks.privacy.figures import (
    GRID,
    Found,
    Row,
    auc,
    chance_of_first,
    decide,
    found_at,
    gain_kept,
)
from benchmarks.privacy.runner import Gain
from edge_app.evaluation.bootstrap import Estimate


@pytest.mark.parametrize("among", [2, 3, 4, 6])
@pytest.mark.parametrize(("above", "tied"), [(0, 0), (1, 0), (0, 2), (2, 2), (5, 0)])
def test_the_chance_among_fewer_is_that_of_every_drawing(among, above, tied):
    """By enumerating which of five others stand beside the true one."""
    others = [1] * above + [0] * tied + [-1] * (5 - above - tied)
    shares = [
        0.0 if 1 in some else 1 / (1 + some.count(0))
        for some in combinations(others, among - 1)
    ]
    assert_allclose(chance_of_first(above, tied, 5, among), np.mean(shares))


def test_without_any_evidence_it_is_chance():
    assert_allclose(found_at(np.zeros((10, 3)), 4, 3, 10), 0.1)
    assert_allclose(found_at(np.zeros((10, 0)), 4, 3, 10), 0.1)


def test_a_budget_ends_the_evidence_behind_the_token_that_reaches_it():
    evidence = np.array([1.0, 3.0, -1.0, 2.0, 5.0])
    assert_allclose(within_budget(evidence, 4.0), [1.0, 3.0, 0.0, 0.0, 0.0])
    assert_allclose(within_budget(evidence, 99.0), evidence)


def test_auc_counts_ties_by_half():
    assert auc(np.array([1.0, 2.0]), np.array([0.0, 1.0])) == 0.875


def test_what_is_held_back_has_the_specialists_gain_and_costs_nothing():
    one = Gain((5.0, 5.0, 5.0), (1.0, 2.0, 2.0), (4.0, 4.0, 4.0), {"1": (2.0,) * 3})
    held = replace(one, held=(True, False, False))
    assert gain_kept([one], None, 1.0) == 1.0
    assert gain_kept([held], None, 1.0, guarded=True) == (3 + 2 + 2) / 6
    # 4 and 3 nats are told: then the base drafts; nothing is told of what is held.
    assert gain_kept([held], 3.0, 1.0) == 2 / 6
    assert gain_kept([held], 3.0, 1.0, guarded=True) == (3 + 2) / 6


def row(name, share, gain, habits):
    found = (Found(100, GRID[-1], Estimate(share), 1),)
    usual = Estimate(1.0)
    return Row(
        *(name, 1, found, usual, 1.0, usual, 1.0, Estimate(habits), (), {}, gain)
    )


@pytest.mark.parametrize(
    ("rows", "limit"),
    [
        ([(0.5, 0.9, 0.5), (0.3, 0.8, 0.4), (0.1, 0.7, 0.5)], "budget 2"),
        ([(0.4, 0.9, 0.5), (0.5, 0.8, 0.5), (0.1, 0.7, 0.5)], "budget 1"),
        ([(0.4, 0.9, 0.3), (0.3, 0.7, 0.5), (0.9, 1.0, 0.5)], ""),
    ],
)
def test_the_largest_limit_becomes_the_default_that_halves_and_keeps(rows, limit):
    """Of the writers found, and of gain and habits; else none does."""
    some = [row(f"budget {n}", *one) for n, one in enumerate(rows, 1)]
    decision = decide([row("nothing", 0.9, 1.0, 0.5), *some], 100)
    assert decision.limit == limit
    assert "90 % are found" in decision.sentence
    assert ("unlimited" in decision.sentence) == (not limit)
    assert decide(some, 100) is None
