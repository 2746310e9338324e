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
_SENTENCE_START = re.compile(r"(^|[.!?]\s+)([a-z])")


@cache
def grammar() -> dict[str, Any]:
    """The word lists and templates of `grammar.toml`."""
    return tomllib.loads(Path(__file__).with_name("grammar.toml").read_text("utf-8"))


class Filling:
    """What the slots of one act stand for; the first use of a slot decides."""

    def __init__(self, rng: Random, known: dict[str, str]) -> None:
        self.rng = rng
        self.values = dict(known)

    def fill(self, template: str) -> str:
        """The template with every slot and choice filled."""
        chosen = _CHOICE.sub(lambda m: self.rng.choice(m[1].split("|")), template)
        filled = _SLOT.sub(lambda m: self._value(m[1]), chosen)
        return _ON.sub(r"\1", filled)  # nobody writes "on tomorrow"

    def pick(self, templates: Sequence[str]) -> str:
        """One of the templates, filled."""
        return self.fill(self.rng.choice(templates))

    def _value(self, slot: str) -> str:
        if slot not in self.values:
            words = grammar()
            self.values[slot] = self.pick(
                words["slots"].get(slot) or words["habits"][slot]
            )
        return self.values[slot]


def capitalised(text: str) -> str:
    """The text with a capital after each full stop, as most people write."""
    return _SENTENCE_START.sub(lambda m: m[1] + m[2].upper(), text)


def invented_name(rng: Random) -> str:
    """A name nobody has, so that names must be copied and cannot be known."""
    words = grammar()["invented"]
    stem = "".join(
        rng.choice(words["starts"]) + rng.choice(words["vowels"])
        for _ in range(rng.randint(1, 2))
    )
    return (stem + str(rng.choice(words["ends"]))).capitalize()
