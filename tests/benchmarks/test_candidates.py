import numpy as np
import pytest

from benchmarks.pair.bench_candidates import rows_of, shares
from decoding_core.sampling import log_softmax

SIZE, COUNTS = 12, (1, 3, 12)


@pytest.mark.parametrize("strength", [0.5, 1.0, 2.0])
def test_the_shares_are_those_of_the_target(strength):
    """By each rule, place by place, from the definition of T."""
    rng = np.random.default_rng(0)
    small, large, base = log_softmax(rng.normal(0, 2, (3, 5, SIZE)))
    found = shares(small, large, base, strength, COUNTS)
    weights = np.exp(large) * (np.exp(small) / np.exp(base)) ** strength
    target = weights / weights.sum(axis=-1, keepdims=True)
    for rule, scores in enumerate((large, large - strength * base)):
        for at, count in enumerate(COUNTS):
            for place in range(5):
                chosen = np.argsort(-scores[place])[:count]
                held = target[place][chosen].sum()
                assert found[rule, at, 0, place] == pytest.approx(held)
                among = target[place].argmax() in chosen
                assert found[rule, at, 1, place] == among


def test_an_eighth_of_the_candidates_may_be_the_bases():
    """The likeliest by the base of those that the generalist did not choose."""
    rng = np.random.default_rng(1)
    small, large, base = log_softmax(rng.normal(0, 2, (3, 5, 40)))
    found = shares(small, large, base, 1.0, (16,))
    target = np.exp(small + large - base)
    target /= target.sum(axis=-1, keepdims=True)
    for place in range(5):
        ours = list(np.argsort(-large[place])[:14])
        rest = [token for token in np.argsort(-base[place]) if token not in ours]
        held = target[place][ours + rest[:2]].sum()
        assert found[2, 0, 0, place] == pytest.approx(held)


def test_rows_name_rule_and_count():
    """With the mean and the bad places."""
    found = np.ones((3, 3, 2, 100))
    found[1, 0, 0, :50] = 0.0
    rows = rows_of(found)
    assert [(r.rule, r.count) for r in rows[:2]] == [
        ("generalist", 10),
        ("generalist", 100),
    ]
    assert (rows[3].rule, rows[3].mean, rows[3].tenth) == ("contrast", 0.5, 0.0)
    assert rows[0].holds_likeliest == 1.0
