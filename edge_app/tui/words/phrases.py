"""Which phrases of the writer's letters can be read in what left the device.

What is sent are token ids. They are turned back into words with the texts that the
event stream gives for them, so this is computed from what was handed to the socket.
An id whose text never came makes a message unreadable, which is counted too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from edge_app.decoding.events import Sent

PHRASE_WORDS = 5
"""So many words in a row make a phrase; fewer are everybody's."""
_CONTEXT = 60
"""Settled tokens before a message that are read with it."""

Words = tuple[str, ...]


@dataclass(slots=True)
class SentText:
    """The letters' phrases that can be read in the messages sent for one version."""

    request: str = ""
    """What the person asked for: phrases that stand there are no news."""
    texts: dict[int, str] = field(default_factory=dict)
    """Texts of token ids, as far as events gave them."""
    phrases: list[str] = field(default_factory=list)
    """Phrases of the letters that could be read so far, each as long as it goes."""
    unreadable: int = 0
    """Messages with an id whose text is unknown."""
    _secret: set[Words] = field(default_factory=set)

    def read_letters(self, letters: Iterable[str]) -> None:
        """Add the letters of the private prompt, whose phrases are searched for."""
        for letter in letters:
            self._secret.update(_runs(_words(letter)))
        self._secret.difference_update(_runs(_words(self.request)))

    def add(self, sent: Sent, settled_ids: Sequence[int]) -> None:
        """Search a sent message for phrases; `settled_ids` is the text so far."""
        if not sent.token_ids:
            return
        if sent.what == "open":  # the text so far, from its beginning
            before = settled_ids[:0]
        else:
            repeated = _overlap(settled_ids[-_CONTEXT:], sent.token_ids)
            before = settled_ids[: len(settled_ids) - repeated][-_CONTEXT:]
        try:
            text = "".join(map(self.texts.__getitem__, (*before, *sent.token_ids)))
        except KeyError:
            self.unreadable += 1
        else:
            for phrase in copied_phrases(text, self._secret):
                if any(phrase in known for known in self.phrases):
                    continue  # the longest form of a phrase is kept
                self.phrases = [known for known in self.phrases if known not in phrase]
                self.phrases.append(phrase)


def copied_phrases(text: str, secret: set[Words]) -> list[str]:
    """The longest stretches of `text` that are made of `secret` runs."""
    words = _words(text)
    phrases: list[list[str]] = []
    end = 0  # where the last phrase ends
    for at, run in enumerate(_runs(words)):
        if run not in secret:
            continue
        if phrases and at < end:
            phrases[-1].append(run[-1])
        else:
            phrases.append(list(run))
        end = at + PHRASE_WORDS
    return [" ".join(phrase) for phrase in phrases]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _runs(words: Sequence[str]) -> list[Words]:
    last = len(words) - PHRASE_WORDS + 1
    return [tuple(words[at : at + PHRASE_WORDS]) for at in range(last)]


def _overlap(before: Sequence[int], after: Sequence[int]) -> int:
    """The longest end of `before` with which `after` begins."""
    for length in range(min(len(before), len(after)), 0, -1):
        if tuple(before[-length:]) == tuple(after[:length]):
            return length
    return 0
