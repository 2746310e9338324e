"""What the server reads in the place of what was held back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b

from edge_app.privacy.guard.formats import Kind
from edge_app.privacy.guard.history import PrivateIndex
from edge_app.privacy.guard.words import Word, words_of
from models.running.interface import Vocabulary

FIRST_NAMES = (
    *("Alex", "Sam", "Robin", "Chris", "Kim", "Jamie", "Pat", "Charlie", "Taylor"),
    *("Jordan", "Morgan", "Casey", "Riley", "Jesse", "Quinn", "Avery", "Dana", "Lee"),
)
LAST_NAMES = ("Smith", "Jones", "Brown", "Miller", "Wilson", "Clark", "Hall", "Young")
NEUTRAL = "..."
_TYPED: dict[Kind, str] = {
    "address": "1 Main Street",
    "email": "someone@example.com",
    "phone": "+00 000",
    "card": "0000 0000",
    "bank account": "XX00 0000",
    "id": "X00",
    "number": "000",
    "link": "https://example.com",
    "date": "1 January 2000",
    "amount": "100",
    "word": "something",
    "phrase": "...",
}
LONGEST = 12
"""Tokens of a stand-in at most."""


class StandIns:
    """Chooses stand-ins; the same one wherever the same is held back in a text."""

    def __init__(self, index: PrivateIndex, *, typed: bool, seed: int) -> None:
        """`typed`: it is of the kind of what it stands for; else it is neutral. Names
        depend on the seed, which stays on the device: else they would tell a little of
        what they stand for. They depend on nothing else, so that a text that is
        drafted again has the same."""
        self._typed = typed
        self._key = seed.to_bytes(8, "little", signed=False)
        # None that the request or the history speaks of, who would be two people then.
        self._first = self._names(FIRST_NAMES, index)
        self._last = self._names(LAST_NAMES, index)

    def choose(self, shown: str, kind: Kind) -> str:
        """What stands in for a span that reads `shown`."""
        if not self._typed:
            return NEUTRAL
        stand_in = _TYPED.get(kind, "")
        if kind == "person":
            stand_in = self._person(shown)
        if kind == "word" and shown[:1].isupper():
            stand_in = stand_in.capitalize()
        return stand_in

    def _person(self, shown: str) -> str:
        """A common name of the same shape: of one or two words, behind the same title,
        with the same ending."""
        title = re.match(r"((?:Mr|Mrs|Ms|Miss|Dr|Prof|Herr|Frau)\.?) ", shown)
        ending = re.search(r"['’]s?\Z", shown)
        body = shown[title.end() if title else 0 : ending.start() if ending else None]
        parts = words_of(body)
        name = self._one_of(self._last if title else self._first, parts[:1])
        if not title and len(parts) > 1:
            name += f" {self._one_of(self._last, parts[1:])}"
        if shown[:1].islower():  # not of a script without capitals
            name = name.lower()
        return f"{title[0] if title else ''}{name}{ending[0] if ending else ''}"

    def _one_of(self, names: Sequence[str], parts: Sequence[Word]) -> str:
        words = " ".join(word.folded for word in parts).encode()
        number = blake2b(words, digest_size=4, key=self._key).digest()
        return names[int.from_bytes(number, "little") % len(names)]

    @staticmethod
    def _names(names: tuple[str, ...], index: PrivateIndex) -> list[str]:
        return [
            name
            for name in names
            if not index.is_public(name.lower()) and name.lower() not in index.literals
        ] or list(names)


def tokens_of(text: str, vocabulary: Vocabulary) -> tuple[int, ...]:
    """The tokens of a stand-in as it stands in the middle of a text: some tokenizers
    put a space of their own before what they are given."""
    ids = vocabulary.tokenize(text)
    if text.startswith(" ") and vocabulary.detokenize(ids) != text:
        without = vocabulary.tokenize(text[1:])
        if vocabulary.detokenize(without) == text:
            ids = without
    return tuple(ids[:LONGEST])
