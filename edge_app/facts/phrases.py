"""A text as words in which phrases, values and denials are found."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from edge_app.facts.values import ENGLISH, Language, values, words_of

_TABLE = tomllib.loads(Path(__file__).with_name("answers.toml").read_text("utf-8"))
COMMON = frozenset(_TABLE["common"].split())
"""Words that say nothing of what a sentence is about."""
NEGATIONS = frozenset(("not", "no", "never", "without", "nobody", "none", "nor"))
_GAP = 8  # words that `..` may stand for


@dataclass(frozen=True, slots=True)
class Element:
    """One part of a phrase."""

    kind: str  # `word` or `gap`; in a rule also `name`, `answer`, or one of `KINDS`
    value: Any = None  # of a word: what it may be, as patterns
    other: bool = False
    """Whether any other value of the kind is meant; of a name, one nearly like it."""


Part = tuple[Element, ...]  # elements that follow each other


def word_or_gap(piece: str) -> Element:
    """The element of `plan*`, `plum|damson` or `..`."""
    if piece == "..":
        return Element("gap")
    return Element("word", tuple(piece.lower().split("|")))


@cache
def forms_of(answer: str) -> tuple[Part, ...]:
    """The forms of an answer, or of one of those that contradict it."""
    lines = _TABLE["answers"][answer].strip().splitlines()
    return tuple(tuple(map(word_or_gap, line.split())) for line in lines)


@dataclass(frozen=True, slots=True)
class Span:
    """Words of a text, from the first on, up to another."""

    first: int
    last: int


class WordsOf:
    """A text to look for facts in."""

    def __init__(self, text: str, spoken: Language = ENGLISH) -> None:
        self.words = words_of(text, spoken)
        self.texts = [word.text for word in self.words]
        self._values: dict[str, list[tuple[int, int, Any]]] = {}

    def values(self, kind: str) -> list[tuple[int, int, Any]]:
        """Every value of a kind: place, length, value."""
        if kind not in self._values:
            self._values[kind] = list(values(kind, self.words))
        return self._values[kind]

    def found(self, part: Part) -> Iterator[Span]:
        """Every place of a part."""
        forms = part[0].value if part[0].kind == "word" else ("*",)
        starred = any("*" in form for form in forms)
        for first, word in enumerate(self.words):
            if not starred and word.text not in forms:
                continue
            for last in self._ends(part, first, first):
                if last > first:
                    yield Span(first, last)

    def where(self, span: Span) -> tuple[int, int]:
        """The characters of words."""
        return self.words[span.first].span[0], self.words[span.last - 1].span[1]

    def _ends(self, part: Part, first: int, place: int) -> Iterator[int]:
        """Where a part ends that begins at a place."""
        if not part:
            yield place
            return
        element, rest = part[0], part[1:]
        if element.kind == "gap":
            # Values must not be read across an end of a sentence.
            for skipped in range(_GAP + 1):
                at = place + skipped
                if at > len(self.words) or not self._same_sentence(first, at - 1):
                    return
                yield from self._ends(rest, first, at)
            return
        if place >= len(self.words) or not self._same_sentence(first, place):
            return
        for length in self._lengths(element, place):
            yield from self._ends(rest, first, place + length)

    def _same_sentence(self, first: int, place: int) -> bool:
        if place < first or place >= len(self.words):
            return place < first
        return self.words[place].sentence == self.words[first].sentence

    def _lengths(self, element: Element, place: int) -> Iterator[int]:
        """How many words an element takes at a place, in each way that it does."""
        if any(_is(self.words[place].text, form) for form in element.value):
            yield 1


def stem(word: str) -> str:
    """Enough of a word to know its other forms."""
    return word.removesuffix("s")[:6]


def _is(word: str, form: str) -> bool:
    return word.startswith(form[:-1]) if form.endswith("*") else word == form
