"""Blocks of thoughts: what some models write before a text, and what nobody is to read.

A model that thinks aloud is told not to where its template knows how (`chat`). Where it
does not, three things keep thoughts out of a text: a block that the prompt leaves open
is closed there; the tokens that mark one are never drawn, so that no thought about the
history goes to a server either; and what a model still writes between such marks, in
tokens of other kinds, is taken off the beginning of the text.
"""

from __future__ import annotations

from typing import Protocol

MARKS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
)
"""What opens and what closes a block: Qwen, DeepSeek, SmolLM3 and most others; models
distilled from other makers'; EXAONE Deep; Seed-OSS; Magistral; Command."""


class _Vocabulary(Protocol):
    def tokenize(self, text: str, control: bool = False) -> list[int]:
        """Ids of a text."""


def mark_ids(vocabulary: _Vocabulary) -> tuple[int, ...]:
    """The tokens, each a mark of its own, that open or close a block."""
    found = (vocabulary.tokenize(mark, control=True) for both in MARKS for mark in both)
    return tuple(sorted({ids[0] for ids in found if len(ids) == 1}))


def closing(words: str) -> str:
    """What closes a block that `words` end in; empty where they end in none."""
    for opening, end in MARKS:
        _, opened, thoughts = words.rpartition(opening)
        if opened and end not in thoughts:
            return ("" if thoughts.endswith("\n") else "\n") + f"\n{end}\n\n"
    return ""


def mentions(template: str) -> bool:
    """Whether a template is written for a model that thinks aloud."""
    return any(mark in template for pair in MARKS for mark in pair)
