"""What is seen of a draft on which the device decides, and how likely it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding_core.messages import Candidates
from decoding_core.residual import coupling_outcomes, rejection_outcomes

V = 6
WEIGHTS = st.lists(st.floats(0.01, 5), min_size=V, max_size=V).map(np.array)


def row_of(ids):
    ids = np.asarray(ids, np.int32)
    return Candidates(ids, np.zeros(len(ids), np.float32), None)


@pytest.mark.parametrize("outcomes", [rejection_outcomes, coupling_outcomes])
@given(draft=WEIGHTS, target=WEIGHTS, ids=st.sets(st.integers(0, V - 1), min_size=1))
def test_whatever_becomes_of_drafts_is_the_target(outcomes, draft, target, ids):
    """Also where it draws none of a draft's tokens; a token never replaces itself."""
    draft = draft / draft.sum()
    row = row_of(sorted(ids))
    wanted = target[row.token_ids]
    if len(wanted) > 2:
        wanted[0] = 0.0
    wanted = wanted / wanted.sum()
    emitted = np.zeros(V)
    for token in range(V):
        found = outcomes(wanted, draft, row, token)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1)
        emitted[token] += draft[token] * found[0]
        emitted[row.token_ids] += draft[token] * found[1:]
        if found[0] < 1 - 1e-9:
            assert found[1:][row.token_ids == token].sum() == 0
    np.testing.assert_allclose(emitted[row.token_ids], wanted, atol=1e-9)


def test_the_race_is_that_of_the_shared_noise():
    noise = np.random.default_rng(5)
    draft, wanted = noise.dirichlet(np.ones(V)), noise.dirichlet(np.ones(4))
    row = row_of([0, 2, 3, 5])
    gumbel = noise.gumbel(size=(100_000, V))
    drafted = (np.log(draft) + gumbel).argmax(axis=1)
    drawn = row.token_ids[(np.log(wanted) + gumbel[:, row.token_ids]).argmax(axis=1)]
    for token in range(V):
        seen = drawn[drafted == token]
        found = coupling_outcomes(wanted, draft, row, token)
        replaced = [np.mean((seen == i) & (i != token)) for i in row.token_ids]
        counted = [np.mean(seen == token), *replaced]
        np.testing.assert_allclose(counted, found, atol=5 * 0.5 / np.sqrt(len(seen)))
