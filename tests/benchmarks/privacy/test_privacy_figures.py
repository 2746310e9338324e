"""The arithmetic of `specsteer lab bench privacy`."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.privacy.runner import chance_of_first, found_at


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
