import itertools
import math
from copy import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose

from decoding_core.messages import THRESHOLD_LIMIT, DraftBlock, Terms
from decoding_core.sampling import log_softmax
from decoding_core.verifier import RunningThreshold, role_of, verify

# Drawn one by one: numbers that fill up an array take hypothesis twice the time.
logprobs = hnp.arrays(np.float64, 9, elements=st.floats(-6, 6), fill=st.nothing()).map(
    log_softmax
)


def test_a_number_stays():
    """Whatever is learnt."""
    threshold = RunningThreshold(0.3)
    threshold.learn(5.0, 8)
    assert threshold.value == 0.3


def test_the_running_mean():
    """Of all drafted tokens; before the first it is the papers' own."""
    threshold = RunningThreshold("auto")
    assert threshold.value == 0.5
    threshold.learn(2.0, 3)
    assert threshold.value == 2.0
    threshold.learn(0.0, 0)
    threshold.learn(1.0, 1)
    assert_allclose(threshold.value, (3 * 2.0 + 1.0) / 4)


def test_it_never_grows_beyond_what_a_block_can_say():
    """However absurd the ratios."""
    threshold = RunningThreshold("auto")
    threshold.learn(1e30, 8)
    assert threshold.value == THRESHOLD_LIMIT


@given(logprobs, logprobs, logprobs)
def test_the_mean_ratio_of_drafts_is_the_norm(small, large, base):
    """E[L/B] over x ~ S is Z, the norm of T at strength 1."""
    mean = (np.exp(small) * np.exp(large - base)).sum()
    norm = (np.exp(large) * np.exp(small) / np.exp(base)).sum()
    assert_allclose(mean, norm, rtol=1e-9)


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


def expected_means(tables, terms, blocks, text=(), threshold=None, norms=()):
    """The expectations of the threshold after so many blocks of three tokens, and of
    the mean Z of the places where they were drawn, by enumerating every draft."""
    threshold = threshold or RunningThreshold("auto")
    if not blocks:
        return np.array([threshold.value, np.mean(norms)])
    total = np.zeros(2)
    for drafted in itertools.product(range(2), repeat=3):
        places = [(*text, *drafted[:n]) for n in range(4)]
        chance = math.prod(
            np.exp(log_softmax(tables.logits(place)[0]))[token]
            for place, token in zip(places, drafted, strict=False)
        )
        _, large, base = np.stack([tables.logits(place) for place in places], 1)
        block = DraftBlock(0, 0, len(text), 0, (), drafted, threshold.value)
        verdict = verify(block, large, base, role_of(terms))
        learnt = copy(threshold)
        learnt.learn(verdict.mean_ratio, 3)
        # Which token is redrawn depends on nothing that was not drawn before.
        after = (*places[verdict.accepted], sum(drafted) % 2)
        seen = (*norms, *map(tables.norm, places[:3]))
        total += chance * expected_means(tables, terms, blocks - 1, after, learnt, seen)
    return total


@pytest.mark.parametrize("rule", ["greedy", "stochastic"])
@pytest.mark.parametrize("blocks", [1, 2])
def test_the_automatic_threshold_is_unbiased(rule, blocks):
    """After each block of a text its expectation is that of what it estimates."""
    for seed in range(3):
        terms = Terms("steering", rule=rule, temperature=1.0, seed=seed, draft_limit=3)
        threshold, norm = expected_means(Tables(seed), terms, blocks)
        assert_allclose(threshold, norm, rtol=1e-6)


def test_without_a_history_the_automatic_threshold_is_one():
    """Where S = B, Z is 1 at every place."""
    tables = Tables(4)
    for place in itertools.chain(
        *(itertools.product(range(2), repeat=n) for n in range(6))
    ):
        tables.logits(place)[0] = tables.logits(place)[2]
    terms = Terms("steering", rule="greedy", temperature=1.0, draft_limit=3)

    assert_allclose(expected_means(tables, terms, 1), 1.0, rtol=1e-6)
