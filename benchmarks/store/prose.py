"""Made-up prose, and a mailbox of it, as large as is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_SHIFT = 2.7
_EXPONENT = 1.07
_TOPICS = 2_000
_TOPIC_WORDS = 60
_ON_TOPIC = 0.15  # share of the words of a text that belong to its topic
_LENGTH = 4.2, 0.8  # mean and deviation of the logarithm of a text's length in words
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
        """One text of `length` words, or of a length drawn as texts have it."""
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


ME = "sam@example.com"


def messages(number: int, seed: int = 7) -> Iterator[bytes]:
    """Made-up mails: one in four is sent, each is text and HTML."""
    prose = Prose(seed)
    for at in range(number):
        mail, text = EmailMessage(), prose.text()
        other = f"p{at % 90}@example.org"
        mail["From"], mail["To"] = (other, ME) if at % 4 else (ME, other)
        mail["Subject"] = prose.query(4)
        mail["Date"] = f"{1 + at % 28} Mar {2005 + at % 19} 11:02:{at % 60:02} +0100"
        mail["Message-ID"] = f"<{at}@mail.example.com>"
        mail.set_content(f"Hi there,\n\n{text}\n\nBest,\nSam\n")
        mail.add_alternative(f"<div>Hi there,</div><p>{text}</p>", subtype="html")
        yield mail.as_bytes()


def mailbox_file(path: Path, number: int, seed: int = 7) -> Path:
    """A mailbox of made-up mails on disk."""
    with path.open("wb") as file:
        for mail in messages(number, seed):
            file.write(b"From 1@xxx Tue Mar 12 10:02:03 +0000 2024\n" + mail + b"\n\n")
    return path
