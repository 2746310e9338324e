"""Whether a text says a fact, contradicts it, or leaves it out.

What contradicts a fact follows from its rules where they hold values: another value in
its place, in a sentence that is about what was asked. The rest is said by rules of its
own.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from benchmarks.content.answers import FIRM_OPPOSITE, OPPOSITE
from benchmarks.content.matching import Span, Text
from benchmarks.content.rules import Element, Rule
from benchmarks.content.values import KINDS

Verdict = Literal["said", "contradicted", "omitted"]

_NEGATIONS = frozenset(("not", "no", "never", "without", "nobody", "none", "nor"))
_NO_LONGER = _NEGATIONS | {"instead", "rather", "than", "from", "was", "were", "longer"}
"""Before what does not hold, or held once."""
_OVERRULES = frozenset(("date", "day"))
"""Kinds of which another value, said of what was asked, contradicts the right one even
where that stands too."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What a text does with a fact, and where in the text."""

    verdict: Verdict
    where: tuple[int, int] | None = None
    """From the character on, up to the other; None where nothing was found."""


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
    says: Sequence[Rule], against: Sequence[Rule], text: Text, asked: Text
) -> Judged:
    """What a text does with a fact that `says` say, each alone, and `against` deny;
    `asked` is all that its writer was told."""
    for rule in against:
        span = text.find(rule)
        negates = any(
            form in _NEGATIONS or element.kind == "answer"
            for group in rule.groups
            for element in group[0]
            for form in (element.value if element.kind == "word" else ("",))
        )
        if span and (negates or not text.denied(span, _NO_LONGER)):
            return Judged("contradicted", text.where(span))
    said = next(filter(None, map(text.find, says)), None)
    for rule in says:
        span = _other_value(rule, text, asked, bool(said))
        if span is not None:
            return Judged("contradicted", text.where(span))
    if said is not None:
        return Judged("said", text.where(said))
    return Judged("omitted")


def _other_value(rule: Rule, text: Text, asked: Text, said: bool) -> Span | None:
    """Where another value stands in the place of the right one."""
    answers = [element for element in rule.values if element.kind == "answer"]
    if answers:
        # A wish is no answer where the other one is given: "I would love to come, but
        # I must say no".
        opposite = FIRM_OPPOSITE if said else OPPOSITE
        other = Element("answer", opposite[answers[0].value])
        span = text.find(rule.with_instead(answers[0], other))
        if span is None or not rule.alone:
            return span
        shared, strange = text.about(span, asked)
        return span if shared or not strange else None
    if rule.alone and rule.values:
        return _other_alone(rule.values[0], text, asked, said)
    for element in rule.values:
        opposed = rule.with_instead(element, replace(element, other=True))
        if not said and asked.find(opposed) is None:
            span = text.find(opposed)
            if span is not None:
                return span
    return None


def _other_alone(element: Element, text: Text, asked: Text, said: bool) -> Span | None:
    """Where another value stands that is said of what was asked, and that the request
    does not name."""
    if element.kind == "number" or (said and element.kind not in _OVERRULES):
        return None
    if element.kind == "name":
        named = {word.text for word in asked.words}
        miscopied = text.found((replace(element, other=True),))
        return next((s for s in miscopied if text.word(s) not in named), None)
    same = KINDS[element.kind].same
    right = [element.value, *(value for _, _, value in asked.values(element.kind))]
    for place, length, value in text.values(element.kind):
        span = Span(place, place + length)
        shared, strange = text.about(span, asked)
        if (
            not any(same(value, one) for one in right)
            and not text.denied(span, _NEGATIONS)
            and (shared or not strange)
        ):
            return span
    return None
