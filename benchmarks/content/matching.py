"""A text in which rules are looked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.content.answers import forms_of
from benchmarks.content.rules import Element, Part, Rule
from benchmarks.content.values import KINDS, Word, listed, values, words_of

_GAP = 8
"""Words that `..` may stand for."""
_BEFORE = 4
"""Words before what is denied in which the denial is looked for."""
_COMMON = frozenset(
    listed(
        """
    able about absolutely afraid after afternoon again alas all also and another any
    are around ask asked asks attend back been before being believe best between bit
    both but came can certainly changed come coming could course date day days decline
    definitely each early evening few fine first for free from get glad gladly goes
    going gone good got great had happy has have having her here him his hope hour how
    instead into its join just know last late later let like look looking lot love
    made make makes manage many may means meant meet might mine month more morning
    most moved much must need new next nice night nor not now off old only onto other
    our ours out over please said say says see shall she should since some soon sorry
    still suppose sure take takes tell than thank thanks that the their them then
    there these they think this those till time today told tomorrow tonight too took
    unable under until very want was week weekend well went were what when where which
    who why will with would year yes yesterday you your yours
        """
    )
)
"""Words that say nothing of what a sentence is about."""


@dataclass(frozen=True, slots=True)
class Span:
    """Words of a text, from the first on, up to another."""

    first: int
    last: int


class Text:
    """A text to look for facts in."""

    def __init__(self, text: str) -> None:
        self.words = words_of(text)
        self._values: dict[str, list[tuple[int, int, Any]]] = {}

    def values(self, kind: str) -> list[tuple[int, int, Any]]:
        """Every value of a kind: place, length, value."""
        if kind not in self._values:
            self._values[kind] = list(values(kind, self.words))
        return self._values[kind]

    def find(self, rule: Rule) -> Span | None:
        """Where a rule is found."""
        spans = []
        for group in rule.groups:
            found = next(self._in_one_sentence(group), None)
            if found is None:
                return None
            spans.append(found)
        return Span(min(s.first for s in spans), max(s.last for s in spans))

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

    def word(self, span: Span) -> str:
        """The first word of a span."""
        return self.words[span.first].text

    def about(self, span: Span, asked: Text) -> tuple[int, int]:
        """How many words of the sentence of a span the request has too, and how many
        are strange to it; common words and values are neither."""
        sentence = self.words[span.first].sentence
        known = {_stem(word.text) for word in asked.words}
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
            and word.text not in _COMMON
        }
        shared = sum(_stem(word) in known for word in words)
        return shared, len(words) - shared

    def _in_one_sentence(self, group: tuple[Part, ...]) -> Iterator[Span]:
        """Where all parts stand in one sentence."""
        first, *more = [list(self.found(part)) for part in group]
        for span in first:
            sentence = self.words[span.first].sentence
            beside = [
                next(
                    (s for s in found if self.words[s.first].sentence == sentence), None
                )
                for found in more
            ]
            spans = [span, *(s for s in beside if s is not None)]
            if len(spans) == len(group):
                yield Span(min(s.first for s in spans), max(s.last for s in spans))

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
        words, word = self.words, self.words[place]
        match element.kind:
            case "word":
                if any(_is(word.text, form) for form in element.value):
                    yield 1
            case "answer":
                for part in forms_of(element.value):
                    for end in self._ends(part, place, place):
                        yield end - place
            case "name":
                name = element.value
                if element.other:
                    if _miscopied(word, name):
                        yield 1
                elif tuple(w.text for w in words[place : place + len(name)]) == name:
                    yield len(name)
            case kind:
                same, loosely = KINDS[kind].same, KINDS[kind].loosely
                for at, length, value in self.values(kind):
                    if at == place and same(value, element.value) != element.other:
                        yield length
                if not element.other and loosely is not None:
                    found = loosely(words, place)
                    if found and same(found[0], element.value):
                        yield found[1]


def _stem(word: str) -> str:
    """Enough of a word to know its other forms."""
    return word.removesuffix("s")[:6]


def _is(word: str, form: str) -> bool:
    return word.startswith(form[:-1]) if form.endswith("*") else word == form


def _miscopied(word: Word, name: Sequence[str]) -> bool:
    """Whether a word is nearly a part of a name, and no other word for that."""
    if not word.capital or word.begins or word.text in _COMMON:
        return False
    for part in name:
        most = 0 if len(part) < 4 else 1 if len(part) < 6 else 2
        if 0 < _distance(word.text, part) <= most:
            return True
    return False


def _distance(one: str, other: str) -> int:
    """Letters to change, add or drop."""
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, wanted in enumerate(other, 1):
            before, row[j] = (
                row[j],
                min(row[j] + 1, row[j - 1] + 1, before + (letter != wanted)),
            )
    return row[-1]
