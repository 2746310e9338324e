"""Rules that say whether a text says a fact, contradicts it, or leaves it out.

A rule is a line of words. In it

- `word` is that word in any case, contractions written out ("can not", "i will");
- `plan*` is each word that begins so, `plum|damson` either word;
- `..` is up to eight words of the same sentence, or none;
- `{date 14 November}`, `{day Friday}`, `{month May}`, `{time 6.30 pm}`, `{number 3}`,
  `{money 12.50}` are values in any form ("14th", "the fourteenth", "half past six");
- `{name Priya}` is a name; `{yes}` and `{no}` are an answer to what is asked of one;
- `+` stands between parts that stand in one sentence, in any order;
- `&` stands between parts that stand anywhere.

`matching` finds rules in a text, `judging` says what follows; `docs/bench.md` says it
in full.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from benchmarks.content.values import KINDS, value_of, words_of
from decoding_core.errors import DecodingError

_PLAIN = ("word", "gap")
_PIECE = re.compile(r"\{[^{}]*\}|\S+")


class RuleError(DecodingError):
    """A rule cannot be read. Told to the user."""


@dataclass(frozen=True, slots=True)
class Element:
    """One part of a rule."""

    kind: str
    """`word`, `gap`, `name`, `answer`, or one of `KINDS`."""
    value: Any = None
    """Of a word: what it may be, as patterns."""
    other: bool = False
    """Whether any other value of the kind is meant; of a name, one nearly like it."""


Part = tuple[Element, ...]
"""Elements that follow each other."""


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
    """The rule that a line says.

    Raises:
        RuleError: it says nothing that is known.
    """
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
    if piece == "..":
        return Element("gap")
    if not piece.startswith("{"):
        if "'" in piece or "’" in piece or not piece.strip("|*"):
            raise RuleError(
                f"'{piece}' in the rule '{line}' is no word: contractions are written "
                "out, such as 'can not'"
            )
        return Element("word", tuple(piece.lower().split("|")))
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
