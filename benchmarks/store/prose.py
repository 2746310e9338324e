"""Made-up texts by the hundred thousand, with words as frequent as in real ones.

Words follow Zipf's law with Mandelbrot's shift. Each text has a topic of its own words,
so that words come together as they do in real texts.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_SHIFT = 2.7
_EXPONENT = 1.07
_TOPICS = 2_000
_TOPIC_WORDS = 60
_ON_TOPIC = 0.15
"""Share of the words of a text that belong to its topic."""
_LENGTH = 4.2, 0.8
"""Mean and deviation of the logarithm of a text's length in words."""
_SHORTEST, _LONGEST = 5, 1_000


class Prose:
    """Texts of word numbers; the same seed gives the same texts, and with other
    numbers `drawn` other texts on the same topics."""

    def __init__(self, seed: int, vocabulary: int = 120_000, drawn: int = 0) -> None:
        self._rng = np.random.default_rng(seed)
        weights = (np.arange(vocabulary) + _SHIFT) ** -_EXPONENT
        self._cumulative = np.cumsum(weights / weights.sum())
        self._topics = self._general(_TOPICS * _TOPIC_WORDS).reshape(_TOPICS, -1)
        self._rng = np.random.default_rng([seed, drawn])

    def text(self, length: int | None = None) -> str:
        """One text of so many words, or as many as texts have."""
        if length is None:
            drawn = self._rng.lognormal(*_LENGTH)
            length = int(np.clip(drawn, _SHORTEST, _LONGEST))
        topic = self._topics[self._rng.integers(_TOPICS)]
        words = np.where(
            self._rng.random(length) < _ON_TOPIC,
            self._rng.choice(topic, length),
            self._general(length),
        )
        return " ".join(map(_spelt, words.tolist()))

    def query(self, words: int = 6) -> str:
        """What a person types: words of one topic and others, the commonest left
        out."""
        topic = self._topics[self._rng.integers(_TOPICS)]
        found = [w for w in self._rng.choice(topic, words) if w >= words][: words // 2]
        while len(found) < words:
            found += [w for w in self._general(words).tolist() if w > 20]
        return " ".join(map(_spelt, found[:words]))

    def texts(self) -> Iterator[str]:
        """Endless texts."""
        while True:
            yield self.text()

    def _general(self, count: int) -> NDArray[np.int64]:
        return np.searchsorted(self._cumulative, self._rng.random(count))


def _spelt(number: int) -> str:
    """A word for a number: short ones for those that are met most."""
    letters = ""
    number += 1
    while number:
        number, rest = divmod(number, 20)
        letters += "bcdfghjklmnprstvwxyz"[rest] + "aeiou"[rest % 5]
    return letters
