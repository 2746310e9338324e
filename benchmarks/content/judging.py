"""Whether a text says a fact, contradicts it, or leaves it out.

What contradicts a fact follows from its rules if they hold values: another value in
its place, in a sentence that is about what was asked. The rest is said by rules of its
own.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from benchmarks.content.rules import Rule
from edge_app.facts.phrases import (
    COMMON,
    NEGATIONS,
    Element,
    Part,
    Span,
    WordsOf,
    forms_of,
    stem,
)
from edge_app.facts.values import KINDS, Word

_BEFORE = 4  # words before what is denied in which the denial is looked for
OPPOSITE = {"yes": "no", "no": "clear yes"}
"""What contradicts an answer that is not given."""
FIRM_OPPOSITE = {"yes": "firm no", "no": "firm yes"}
"""What contradicts an answer that is given too."""


class Judged(WordsOf):
    """A text to look for rules in."""

    def find(self, rule: Rule) -> Span | None:
        """Where a rule is found."""
        spans = []
        for group in rule.groups:
            found = next(self._in_one_sentence(group), None)
            if found is None:
                return None
            spans.append(found)
        return Span(min(s.first for s in spans), max(s.last for s in spans))

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

    def _lengths(self, element: Element, place: int) -> Iterator[int]:
        """How many words an element takes at a place, in each way that it does."""
        words, word = self.words, self.words[place]
        match element.kind:
            case "word":
                yield from super()._lengths(element, place)
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


def _miscopied(word: Word, name: Sequence[str]) -> bool:
    """Whether a word is nearly a part of a name, and no other word for that."""
    if not word.capital or word.begins or word.text in COMMON:
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


Verdict = Literal["said", "contradicted", "omitted"]

_NO_LONGER = NEGATIONS | {"instead", "rather", "than", "from", "was", "were", "longer"}
"""Before what does not hold, or held once."""
_OVERRULES = frozenset(("date", "day"))
"""Kinds of which another value, said of what was asked, contradicts the right one even
where that stands too."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a text does with a fact, and where in the text."""

    verdict: Verdict
    where: tuple[int, int] | None = None
    """From the character on, up to the other; None if nothing was found."""


def shows(text: str, kind: str, habit: str) -> bool:
    """Whether a text has a habit, whatever the case and the spaces; a greeting must
    stand at its beginning."""
    text, habit = (" ".join(one.casefold().split()) for one in (text, habit))
    return text.startswith(habit) if kind == "greeting" else habit in text


def repeats(items: Sequence[Hashable]) -> int:
    """The most times that any span of items stands in immediate succession."""
    numbers: dict[Hashable, int] = {}
    ids = np.array([numbers.setdefault(item, len(numbers)) for item in items])
    most = min(1, len(ids))
    for length in range(1, len(ids) // 2 + 1):
        # The span stands k times where k - 1 lengths in a row agree with what is one
        # length before.
        same = np.concatenate([[False], ids[length:] == ids[:-length], [False]])
        edges = np.flatnonzero(np.diff(same))
        runs = edges[1::2] - edges[::2]
        if len(runs):
            most = max(most, 1 + int(runs.max()) // length)
    return most


def judge(
    says: Sequence[Rule], against: Sequence[Rule], text: Judged, asked: Judged
) -> Judgement:
    """What a text does with a fact that `says` say, each alone, and `against` deny;
    `asked` is all that the writer got to read."""
    for rule in against:
        span = text.find(rule)
        negates = any(
            form in NEGATIONS or element.kind == "answer"
            for group in rule.groups
            for element in group[0]
            for form in (element.value if element.kind == "word" else ("",))
        )
        if span and (negates or not text.denied(span, _NO_LONGER)):
            return Judgement("contradicted", text.where(span))
    said = next(filter(None, map(text.find, says)), None)
    for rule in says:
        span = _other_value(rule, text, asked, bool(said))
        if span is not None:
            return Judgement("contradicted", text.where(span))
    if said is not None:
        return Judgement("said", text.where(said))
    return Judgement("omitted")


def _other_value(rule: Rule, text: Judged, asked: Judged, said: bool) -> Span | None:
    """The place of another value that replaces the right one."""
    answers = [element for element in rule.values if element.kind == "answer"]
    if answers:
        # A wish is no answer where the other one is given: "I would love to come, but
        # I must say no".
        opposite = FIRM_OPPOSITE if said else OPPOSITE
        other = Element("answer", opposite[answers[0].value])
        span = text.find(rule.with_instead(answers[0], other))
        if span is None or not rule.alone:
            return span
        return span if text.about(span, asked) else None
    if rule.alone and rule.values:
        return _other_alone(rule.values[0], text, asked, said)
    for element in rule.values:
        opposed = rule.with_instead(element, replace(element, other=True))
        if not said and asked.find(opposed) is None:
            span = text.find(opposed)
            if span is not None:
                return span
    return None


def _other_alone(
    element: Element, text: Judged, asked: Judged, said: bool
) -> Span | None:
    """The place of another value that is said of what was asked, and that the request
    does not name."""
    if element.kind == "number" or (said and element.kind not in _OVERRULES):
        return None
    if element.kind == "name":
        named = {word.text for word in asked.words}
        miscopied = text.found((replace(element, other=True),))
        return next(
            (s for s in miscopied if text.words[s.first].text not in named), None
        )
    same = KINDS[element.kind].same
    right = [element.value, *(value for _, _, value in asked.values(element.kind))]
    for place, length, value in text.values(element.kind):
        span = Span(place, place + length)
        if (
            not any(same(value, one) for one in right)
            and not text.denied(span, NEGATIONS)
            and text.about(span, asked)
        ):
            return span
    return None
