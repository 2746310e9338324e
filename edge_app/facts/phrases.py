"""A text as words in which phrases, values and denials are found."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from decoding_core.errors import DecodingError
from edge_app.facts.values import ENGLISH, KINDS, Language, values, words_of

_TABLE = tomllib.loads(Path(__file__).with_name("answers.toml").read_text("utf-8"))
COMMON = frozenset(_TABLE["common"].split())
"""Words that say nothing of what a sentence is about."""
NEGATIONS = frozenset(("not", "no", "never", "without", "nobody", "none", "nor"))
_GAP = 8  # words that `..` may stand for
_BEFORE = 4  # words before what is denied in which the denial is looked for


class RuleError(DecodingError):
    """A rule is invalid; the message is shown."""


@dataclass(frozen=True, slots=True)
class Element:
    """One part of a phrase."""

    kind: str  # `word` or `gap`; in a rule also `name`, `answer`, or one of `KINDS`
    value: Any = None  # of a word: what it may be, as patterns
    other: bool = False
    """Whether any other value of the kind is meant; of a name, one nearly like it."""


Part = tuple[Element, ...]  # elements that follow each other


def word_or_gap(piece: str, line: str) -> Element:
    """The element of `plan*`, `plum|damson` or `..` in a line; raises RuleError."""
    if piece == "..":
        return Element("gap")
    if "'" in piece or "’" in piece or not piece.strip("|*"):
        raise RuleError(
            f"'{piece}' in the rule '{line}' is no word: contractions are written "
            "out, such as 'can not'"
        )
    return Element("word", tuple(piece.lower().split("|")))


@cache
def forms_of(answer: str) -> tuple[Part, ...]:
    """The forms of an answer, or of one of those that contradict it."""
    lines = _TABLE["answers"][answer].strip().splitlines()
    return tuple(
        tuple(word_or_gap(piece, line) for piece in line.split()) for line in lines
    )


@dataclass(frozen=True, slots=True)
class Span:
    """Words of a text, from the first on, up to another."""

    first: int
    last: int


class WordsOf:
    """A text to look for facts in."""

    def __init__(self, text: str, spoken: Language = ENGLISH) -> None:
        self.words = words_of(text, spoken)
        self._values: dict[str, list[tuple[int, int, Any]]] = {}

    def values(self, kind: str) -> list[tuple[int, int, Any]]:
        """Every value of a kind: place, length, value."""
        if kind not in self._values:
            self._values[kind] = list(values(kind, self.words))
        return self._values[kind]

    def found(self, part: Part) -> Iterator[Span]:
        """Every place of a part."""
        for first in range(len(self.words)):
            for last in self._ends(part, first, first):
                if last > first:
                    yield Span(first, last)

    def where(self, span: Span) -> tuple[int, int]:
        """The characters of words."""
        return self.words[span.first].span[0], self.words[span.last - 1].span[1]

    def denied(self, span: Span, by: frozenset[str]) -> bool:
        """Whether one of these words stands shortly before, in the same sentence."""
        sentence = self.words[span.first].sentence
        before = self.words[max(0, span.first - _BEFORE) : span.first]
        return any(w.text in by for w in before if w.sentence == sentence)

    def about(self, span: Span, asked: WordsOf) -> bool:
        """Whether the sentence of a span has a word of the request, or no word that is
        strange to it; common words and values are neither."""
        sentence = self.words[span.first].sentence
        known = {stem(word.text) for word in asked.words}
        valued = {
            place + i
            for kind in KINDS
            for place, length, _ in self.values(kind)
            for i in range(length)
        }
        words = {
            word.text
            for place, word in enumerate(self.words)
            if word.sentence == sentence
            and place not in valued
            and not span.first <= place < span.last
            and len(word.text) > 2
            and word.text not in COMMON
        }
        return not words or any(stem(word) in known for word in words)

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
