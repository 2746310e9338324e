"""Rules of facts: words and values that stand in a sentence or anywhere in a text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from decoding_core.errors import DecodingError
from edge_app.facts.phrases import Element, Part, word_or_gap
from edge_app.facts.values import KINDS, words_of


def value_of(kind: str, text: str) -> Any:
    """The value that a text is, such as "14 November"; None if it is not one."""
    context = {"date": "the ", "time": "at "}.get(kind, "")
    words = words_of(f"{context}{text}")
    place = 1 if context else 0
    if kind == "date" and len(words) == 2 and words[1].text.isdecimal():
        return int(words[1].text), 0
    for read in (KINDS[kind].read, KINDS[kind].loosely):
        found = read(words, place) if read is not None and place < len(words) else None
        if found is not None and place + found[1] == len(words):
            return found[0]
    return None


_PLAIN = ("word", "gap")
_PIECE = re.compile(r"\{[^{}]*\}|\S+")


class RuleError(DecodingError):
    """A rule is invalid; the message is shown."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Parts that must all be found."""

    line: str
    groups: tuple[tuple[Part, ...], ...]
    """The parts of a group stand in one sentence, the groups anywhere."""

    @property
    def values(self) -> list[Element]:
        """Its values, names and answers."""
        return [
            element
            for group in self.groups
            for part in group
            for element in part
            if element.kind not in _PLAIN
        ]

    def with_instead(self, element: Element, wanted: Element) -> Rule:
        """The rule with another element; a group without the element says nothing of
        where the other one stands, and is left out."""
        return Rule(
            self.line,
            tuple(
                tuple(
                    tuple(wanted if one == element else one for one in part)
                    for part in group
                )
                for group in self.groups
                if any(element in part for part in group)
            ),
        )

    @property
    def alone(self) -> bool:
        """Whether it is one value and nothing else."""
        (group, *more) = self.groups
        return not more and len(group) == 1 and len(group[0]) == 1


@cache
def rule_of(line: str) -> Rule:
    """The rule that a line says. Raises RuleError if it says nothing that is known."""
    groups: list[list[list[Element]]] = [[[]]]
    for piece in _PIECE.findall(line):
        if piece == "&":
            groups.append([[]])
        elif piece == "+":
            groups[-1].append([])
        else:
            groups[-1][-1].append(_element(piece, line))
    rule = Rule(line, tuple(tuple(tuple(part) for part in group) for group in groups))
    for group in rule.groups:
        for part in group:
            gaps = [element.kind == "gap" for element in part]
            if not part or gaps[0] or gaps[-1] or (True, True) in pairwise(gaps):
                raise RuleError(
                    f"the rule '{line}' has an empty part, or a '..' that does not "
                    "stand between words"
                )
    return rule


def _element(piece: str, line: str) -> Element:
    if not piece.startswith("{"):
        if "'" in piece or "’" in piece or not piece.strip("|*"):
            raise RuleError(
                f"'{piece}' in the rule '{line}' is no word: contractions are written "
                "out, such as 'can not'"
            )
        return word_or_gap(piece)
    kind, _, value = piece[1:-1].strip().partition(" ")
    if kind in ("yes", "no") and not value:
        return Element("answer", kind)
    if kind == "name" and value:
        return Element("name", tuple(word.text for word in words_of(value)))
    if kind in KINDS:
        read = value_of(kind, value)
        if read is not None:
            return Element(kind, read)
    raise RuleError(
        f"{piece} in the rule '{line}' is unknown: there are {{yes}}, {{no}}, {{name "
        f"...}} and {', '.join(f'{{{name} ...}}' for name in KINDS)}"
    )
