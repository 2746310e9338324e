"""Words as the guard compares them, and which of them many writers use.

A word is a run of letters and digits, without case and accents, so that `ANA`, `Ana's`
and `Ána` share one. Common words and phrases were counted in the texts that the
embedded pair was trained on: a word in at least 12 of them, mostly in lower case, so
that names are left out; a phrase of four words that at least 8 writers use. As those
texts hold no modern letters, formulas of these were written down by hand
(`courtesies.txt`). A dictionary, as CRC-32 of each word in `dictionary.bin`, has 21,000
rarer words: in 3 of the texts and more, mostly in lower case.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from math import log2

import numpy as np

RUN = 4
"""Words of the shortest phrase that is looked at."""
_WORD = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u036f])*")
_OTHER = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
)
_WEAK, _FAMILIAR = 150, 5_000
"""A phrase of which all words but one are among the so many commonest, and that one
among the second so many, says nothing of its writer by itself."""
_GUESSED = 6.0
"""Bits of a word that whoever writes a sentence has guessed anyway: what is commoner
than about the sixth of all words tells nothing."""
_PLACE_OF_NAME, _PLACE_OF_KNOWN, _PLACE_OF_RARE = 1_200, 20_000, 60_000
"""By frequency, of what the list of common words has no place for."""
_BITS_OF_DIGIT = log2(10)
_CLITICS = frozenset(("i", "m", "s", "t", "d", "ll", "ve", "re"))
"""Words so common that they tell nothing, which the list has in other forms."""
_ENDINGS = ("s", "es", "ed", "d", "ing", "ly", "er", "ers", "est", "ness")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text and where it stands."""

    start: int
    end: int
    text: str
    """As it is written."""
    folded: str
    """As it is compared."""


@lru_cache(20_000)
def fold(text: str) -> str:
    """A text without case and accents."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold().translate(_OTHER))
    return "".join(char for char in parts if not unicodedata.combining(char))


def words_of(text: str) -> list[Word]:
    """The words of a text, in its order."""
    return [
        Word(found.start(), found.end(), found[0], fold(found[0]))
        for found in _WORD.finditer(text)
    ]


@cache
def common_words() -> dict[str, int]:
    """Words that many writers use, and their places by frequency."""
    place: dict[str, int] = {}
    for line in _data("common_words.txt").decode().split():
        for part in line.split("'"):
            place.setdefault(part, len(place))
    return place


@cache
def known_names() -> frozenset[str]:
    """Proper names that are no person's: days, months, languages, countries, large
    cities, feasts, well-known makers."""
    return frozenset(fold(word) for word in _data("known_names.txt").decode().split())


@cache
def _common_phrases() -> frozenset[int]:
    return frozenset(np.frombuffer(_data("common_phrases.bin"), "<u4").tolist())


@cache
def given_names() -> frozenset[str]:
    """First names that are common words too."""
    return frozenset(_data("given_names.txt").decode().split())


@lru_cache(20_000)
def is_common(word: str) -> bool:
    """Whether many writers use this folded word, or one that it is a form of."""
    common = common_words()
    if word in common or word in known_names():
        return True
    return any(
        word.endswith(ending)
        and len(word) - len(ending) > 3  # of shorter ones too much is a form
        and (word[: -len(ending)] in common or word[: -len(ending)] + "e" in common)
        for ending in _ENDINGS
    )


@cache
def _dictionary() -> frozenset[int]:
    return frozenset(np.frombuffer(_data("dictionary.bin"), "<u4").tolist())


def is_in_dictionary(word: str) -> bool:
    """Whether some writers use this folded word, mostly in lower case: it is none that
    somebody made up, and hardly a name."""
    return is_common(word) or zlib.crc32(word.encode()) in _dictionary()


@lru_cache(20_000)
def told_by(word: str) -> float:
    """About how many bits a folded word tells, by how rare it is (Zipf's law: of the
    word in place r the share is 1/10r); 0 for those that anybody would have guessed."""
    if word in _CLITICS:
        return 0.0
    if word.isdigit():
        return _BITS_OF_DIGIT * len(word)
    place = common_words().get(word)
    if place is None and word in known_names():
        place = _PLACE_OF_NAME
    if place is None:
        place = _PLACE_OF_KNOWN if is_in_dictionary(word) else _PLACE_OF_RARE
    return max(0.0, log2(10 * (place + 1)) - _GUESSED)


@cache
def _courtesies() -> frozenset[tuple[str, ...]]:
    """Every `RUN` words of the formulas of letters."""
    found: set[tuple[str, ...]] = set()
    for line in _data("courtesies.txt").decode().splitlines():
        words = [word.folded for word in words_of(line)]
        found.update(zip(*(words[i:] for i in range(RUN)), strict=False))
    return frozenset(found)


def is_common_phrase(phrase: Sequence[str]) -> bool:
    """Whether many writers use these `RUN` folded words in this order."""
    if tuple(phrase) in _courtesies():
        return True
    places = sorted(common_words().get(word, _FAMILIAR) for word in phrase)
    if places[-1] < _FAMILIAR and places[-2] < _WEAK:
        return True
    return zlib.crc32(" ".join(phrase).encode()) in _common_phrases()


def _data(name: str) -> bytes:
    return resources.files(__package__).joinpath(name).read_bytes()
