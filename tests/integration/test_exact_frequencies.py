"""The embedded pair's first two tokens, sampled through the whole loop, against the
exact distribution that the method is proved to emit."""

import numpy as np
import pytest

from decoding_core.sampling import log_softmax
from decoding_core.settings import MethodSettings
from decoding_core.verifier import EngineVerifier
from tests.exact import clipped, cut, farthest, steered
from tests.integration.test_shared_noise import prompts
from tests.writing import Writing

SEEDS, CELLS = 600, 6
THRESHOLD, STRENGTH, CANDIDATES, TEMPERATURE = 0.8, 1.5, 60, 0.8


class Remembering:
    """A sequence whose logits are computed once per text. A text ends after two tokens,
    so nobody looks at what stands after them."""

    def __init__(self, sequence, prompt):
        self._sequence, self.prompt = sequence, tuple(prompt)
        self._known = {}
        self._read = []
        self.vocabulary_id = sequence.vocabulary_id

    @property
    def tokens(self):
        return self._read

    @property
    def position(self):
        return len(self._read)

    def evaluate(self, token_ids, rows=1):
        self._read += [int(token) for token in token_ids]
        ends = range(len(self._read) - rows + 1, len(self._read) + 1)
        texts = (tuple(self._read[len(self.prompt) : end]) for end in ends)
        return np.stack([self.logits(text) for text in texts])

    def logits(self, text):
        """Logits (V,) after the prompt and a text of up to one token."""
        if len(text) > 1:
            return np.zeros_like(self.logits(()))
        if text not in self._known:
            start = len(self.prompt) - 1
            self._sequence.rollback(min(self._sequence.position, start))
            rest = [*self.prompt, *text][self._sequence.position :]
            self._known[text] = self._sequence.evaluate(rest)[0]
        return self._known[text]

    def rollback(self, position):
        del self._read[position:]


@pytest.fixture(scope="module")
def three(specialist, contexts):
    """Specialist, base and generalist, which remember."""
    private, public = prompts(specialist)
    for context in contexts:
        context.sequence(0).rollback(0)
    pairs = zip(contexts, (private, public, public), strict=True)
    return [Remembering(context.sequence(0), prompt) for context, prompt in pairs]


def opinions(three, text):
    """Of specialist, generalist and base."""
    small, base, large = (
        log_softmax(engine.logits(text).astype(float), TEMPERATURE) for engine in three
    )
    return small, large, base


def chosen(large):
    return np.argpartition(large, -CANDIDATES)[-CANDIDATES:]


def lossless(*three):
    return cut(steered(*three, STRENGTH), chosen(three[1]))


def steering(small, large, base):
    """The page's mixture with few candidates: a refused token joins them, so T is cut
    to one set for each."""
    kept = np.exp(small) * np.minimum(1, np.exp(large - base) / THRESHOLD)
    weights, ids = np.exp(large + STRENGTH * (small - base)), chosen(large)
    joining = weights.copy()
    joining[ids] = 0.0
    shares = (np.exp(small) - kept) / (weights[ids].sum() + joining)
    out = kept + shares * joining
    out[ids] += shares.sum() * weights[ids]
    return out


TARGETS = {
    "lossless": lossless,
    "steering": steering,
    "rejection": lambda *three: clipped(*three, THRESHOLD),
    "speculative": lambda *three: cut(np.exp(three[1]), chosen(three[1])),
}


def texts(three, method, specialist):
    """The first two tokens of every seed."""
    private, public = three[0].prompt, three[1].prompt
    for seed in range(SEEDS):
        settings = MethodSettings(
            draft_length=(1, 2, "auto")[seed % 3],
            window=(1, 2, 4)[seed // 3 % 3],
            method=method,
            threshold=THRESHOLD,
            strength=STRENGTH,
            candidates=CANDIDATES,
            temperature=TEMPERATURE,
            seed=seed,
        )
        for engine in three:
            engine.rollback(0)
        yield Writing(
            *(settings, three[0], EngineVerifier(three[2], three[1]), 2, ()),
            prompts=(private, public),
            vocabulary_id=specialist.vocabulary_id,
            weighs=False,
        ).run()


def cell_of(pair, firsts, seconds):
    """The likeliest first token with each of two seconds, with any other; another
    likely first token; the rest."""
    first, second = pair
    if first == firsts[0]:
        return seconds.index(second) if second in seconds else len(seconds)
    return len(seconds) + (1 + firsts[1:].index(first) if first in firsts else 3)


@pytest.mark.slow
@pytest.mark.parametrize("method", TARGETS)
def test_two_tokens_follow_their_distribution(method, three, specialist):
    """Frequencies of six cells of 600 seeds; `farthest` is Weissman's bound."""
    target = TARGETS[method]
    first = target(*opinions(three, ()))
    firsts = np.argsort(-first)[:3].tolist()
    second = target(*opinions(three, (firsts[0],)))
    seconds = np.argsort(-second)[:2].tolist()
    likely = first[firsts]
    both = likely[0] * second[seconds]
    expected = [*both, likely[0] - both.sum(), *likely[1:], 1 - likely.sum()]
    counts = np.zeros(CELLS)
    for pair in texts(three, method, specialist):
        counts[cell_of(pair, firsts, seconds)] += 1
    distance = np.abs(counts / SEEDS - expected).sum()
    assert distance < farthest(CELLS, SEEDS), (distance, counts / SEEDS, expected)
