"""Filling templates: `{slot}` from named lists, `(a|b)` by a free choice."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

_SLOT = re.compile(r"\{(\w+)\}")
_CHOICE = re.compile(r"\(([^()|]*(?:\|[^()|]*)+)\)")
_ON = re.compile(r"\bon (tomorrow|next|this)\b")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeiouAEIOU])")
_SENTENCE_START = re.compile(r"(^|[.!?]\s+)([a-z])")
_STAYS = re.compile(r"I\b|[A-Z]{2}|God")
"""Words of a habit that keep their capital within a sentence."""

NOT_NAMED = frozenset(("name", "them", "interjection"))
"""Slots of a request that no sentence has to name again, besides the habits."""


@cache
def grammar() -> dict[str, Any]:
    """What is written about: `grammar.toml`."""
    return _read("grammar.toml")


@cache
def habits() -> dict[str, Any]:
    """How it is written: `habits.toml`."""
    return _read("habits.toml")


class Filling:
    """What the slots of one act stand for; the first use of a slot decides."""

    def __init__(self, rng: Random, known: dict[str, str]) -> None:
        self.rng = rng
        self.values = dict(known)

    def fill(self, template: str) -> str:
        """The template with every slot and choice filled."""
        chosen = _CHOICE.sub(lambda m: self.rng.choice(m[1].split("|")), template)
        return tidy(_SLOT.sub(self._filled, chosen))

    def pick(self, templates: Sequence[str]) -> str:
        """One of the templates, filled."""
        return self.fill(self.rng.choice(templates))

    def _filled(self, match: re.Match[str]) -> str:
        value = self._value(match[1])
        within = match.string[: match.start()].endswith((", ", ": "))
        if within and match[1] in habits()["words"] and not _STAYS.match(value):
            return value[:1].lower() + value[1:]
        return value

    def _value(self, slot: str) -> str:
        if slot == "invented":
            return invented_name(self.rng)
        if slot not in self.values:
            lists = grammar()["slots"]
            self.values[slot] = self.pick(lists.get(slot) or grammar()["pronoun"][slot])
        return self.values[slot]


def composed(template: str, rng: Random, known: dict[str, str]) -> str:
    """A template of `habits.toml`, filled with parts that are drawn each time; slots
    with a capital begin with one. `known` is what stays, such as `{name}`."""

    if "{" not in template:
        return template

    def part(match: re.Match[str]) -> str:
        slot = match[1]
        if slot in known:
            return known[slot]
        word = _part(slot.lower(), rng, known)
        return word[:1].upper() + word[1:] if slot[0].isupper() else word

    return tidy(_SLOT.sub(part, template))


def named_slots(template: str) -> frozenset[str]:
    """The slots of a request or a sentence that say what it is about."""
    found = set(_SLOT.findall(template))
    return frozenset(found - NOT_NAMED - set(habits()["words"]))


def tidy(text: str) -> str:
    """Grammar that depends on the words filled in."""
    text = _ON.sub(r"\1", text)  # nobody writes "on tomorrow"
    return _ARTICLE.sub(r"\1n ", text)


def capitalised(text: str) -> str:
    """The text with a capital after each full stop, as most people write."""
    return _SENTENCE_START.sub(lambda m: m[1] + m[2].upper(), text)


def invented_name(rng: Random) -> str:
    """A name nobody has, so that names must be copied and cannot be known."""
    starts, vowels, ends = habits()["invented"].values()
    stem = "".join(
        rng.choice(starts) + rng.choice(vowels) for _ in range(rng.randint(1, 2))
    )
    return (stem + str(rng.choice(ends))).capitalize()


def _part(slot: str, rng: Random, known: dict[str, str]) -> str:
    if slot == "invented":
        return invented_name(rng).lower()
    lists = habits()["parts"].get(slot) or grammar()["slots"][slot]
    return composed(rng.choice(lists), rng, known)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))
