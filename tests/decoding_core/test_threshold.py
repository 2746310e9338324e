import itertools
import math
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from decoding_core.messages import RATIO_UNIT, DraftBlock
from decoding_core.sampling import log_softmax
from decoding_core.settings import THRESHOLD_LIMIT, Terms
from decoding_core.verifier import RunningThreshold, role_of, verify

STRIDE = RunningThreshold.STRIDE
counts = st.integers(0, 1 << 22).map(lambda units: units * RATIO_UNIT)


def test_the_mean_of_all_places_but_those_of_the_last_stride():
    """It changes between strides alone; before the first mean it is the papers' own."""
    threshold = RunningThreshold("auto")
    for place in range(3 * STRIDE):
        threshold.learn(place, float(place), 1)
    settled = 3 * STRIDE
    expected = {0: 0.5, 1: 0.5, 2: (STRIDE - 1) / 2, 3: (2 * STRIDE - 1) / 2}
    for place in range(4 * STRIDE):
        assert threshold.at(place, settled)[0] == expected[place // STRIDE]


def test_it_never_grows_beyond_what_a_block_can_say():
    threshold = RunningThreshold("auto")
    threshold.learn(0, 1e30, STRIDE)
    assert threshold.at(2 * STRIDE, STRIDE)[0] == THRESHOLD_LIMIT


@given(st.lists(counts, min_size=3 * STRIDE, max_size=6 * STRIDE), st.data())
def test_it_is_the_same_wherever_blocks_end_and_whenever_verdicts_come(ratios, data):
    """Exactly: places are taken in one by one, or by blocks of any length that `room`
    allows; and what is asked as soon as it is known is what is asked at the end."""
    one_by_one, by_blocks = RunningThreshold("auto"), RunningThreshold("auto")
    for place, ratio in enumerate(ratios):
        one_by_one.learn(place, ratio, 1)
    wanted = [one_by_one.at(place, len(ratios))[0] for place in range(len(ratios))]
    settled = 0
    while settled < len(ratios):
        known = [by_blocks.at(place, settled)[0] for place in range(len(ratios))]
        pairs = zip(known, wanted, strict=True)
        assert all(one in (None, other) for one, other in pairs)
        most = min(by_blocks.at(settled, settled)[1], len(ratios) - settled)
        length = data.draw(st.integers(1, most))
        block = ratios[settled : settled + length]
        by_blocks.learn(settled, sum(block), length)
        settled += length
    assert [by_blocks.at(place, settled)[0] for place in range(len(ratios))] == wanted


@given(st.integers(0, 10 * STRIDE), st.integers(0, 10 * STRIDE))
def test_it_is_not_known_while_it_depends_on_tokens_that_are_not_settled(place, more):
    """So one may draft ahead of the settled text for a stride, and less than two."""
    threshold = RunningThreshold("auto")
    needed = max(place // STRIDE - 1, 0) * STRIDE
    assert (threshold.at(place, more)[0] is None) == (more < needed)
    assert not needed or STRIDE <= place - needed < 2 * STRIDE
    last = place + threshold.at(place, 0)[1] - 1
    assert last // STRIDE == place // STRIDE
    assert (last + 1) // STRIDE == place // STRIDE + 1


def test_places_that_nobody_verified_do_not_count():
    threshold = RunningThreshold("auto")
    assert threshold.at(2 * STRIDE, STRIDE)[0] == 0.5
    threshold.learn(STRIDE + 3, 6.0, 2)
    assert threshold.at(2 * STRIDE, 2 * STRIDE)[0] == 0.5
    assert threshold.at(3 * STRIDE, 2 * STRIDE)[0] == 3.0


class Tables:
    """Three models of two tokens, whose logits depend on the text before."""

    def __init__(self, seed):
        self._seed = seed
        self._logits = {}

    def logits(self, text):
        """Of specialist, generalist and base (3, V)."""
        if text not in self._logits:
            rng = np.random.default_rng([self._seed, len(text), *text])
            self._logits[text] = rng.normal(size=(3, 2)) * 1.5
        return self._logits[text]

    def norm(self, text):
        """Z after a text."""
        small, large, base = map(log_softmax, self.logits(text))
        return np.exp(small + large - base).sum()


def expected_means(tables, terms, places, length, threshold=None, text=(), norms=()):
    """The expectations of the threshold that was learnt over so many places, and of the
    mean Z of these, by enumerating every draft of blocks of one length."""
    threshold = threshold or RunningThreshold("auto")
    if len(text) == places:
        learnt, _ = threshold.at(places + threshold.STRIDE, places)
        return np.array([learnt, np.mean(norms)])
    limit, room = threshold.at(len(text), len(text))
    size = min(length, room, places - len(text))
    total = np.zeros(2)
    for drafted in itertools.product(range(2), repeat=size):
        texts = [(*text, *drafted[:n]) for n in range(size + 1)]
        chance = math.prod(
            np.exp(log_softmax(tables.logits(before)[0]))[token]
            for before, token in zip(texts, drafted, strict=False)
        )
        _, large, base = np.stack([tables.logits(before) for before in texts[:-1]], 1)
        block = DraftBlock(0, 0, len(text), 0, (), drafted, limit)
        verdict = verify(block, large, base, role_of(terms))
        kept = verdict.accepted
        judged = min(kept + 1, size)
        learnt = deepcopy(threshold)
        learnt.learn(len(text), verdict.ratio_sum, judged)
        # Which token is redrawn depends on nothing that was not drawn before.
        after = texts[kept] if kept == size else (*texts[kept], sum(drafted[:kept]) % 2)
        seen = (*norms, *map(tables.norm, texts[:judged]))
        total += chance * expected_means(
            tables, terms, places, length, learnt, after, seen
        )
    return total


@pytest.mark.parametrize("rule", ["greedy", "stochastic"])
@pytest.mark.parametrize("places", [2, 6])
def test_the_automatic_threshold_is_unbiased(rule, places, monkeypatch):
    """Over any fixed number of places its expectation is that of what it estimates;
    with strides of two, the last two of six are verified by what the first two
    taught."""
    monkeypatch.setattr(RunningThreshold, "STRIDE", 2)
    for seed in range(3):
        terms = Terms("steering", rule=rule, temperature=1.0, seed=seed, draft_limit=3)
        found = [expected_means(Tables(seed), terms, places, n) for n in (1, 2)]
        for threshold, norm in found:
            assert_allclose(threshold, norm, rtol=1e-5)
