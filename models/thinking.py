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


class ThoughtRemover:
    """Takes a block of thoughts off the beginning of a text that comes in pieces."""

    __slots__ = ("_end", "_held", "_state")

    def __init__(self) -> None:
        self._held = ""
        self._end = ""
        self._state = "beginning"

    @property
    def thinking(self) -> bool:
        """Whether what came last belongs to the block, or to the space behind it."""
        return self._state in ("block", "behind")

    def push(self, text: str) -> str:
        """What of the text so far is now known to be none of the block. A text that
        ends with the beginning of a mark, and nothing before it, loses that."""
        if self._state == "text":
            return text
        self._held += text
        space = ""
        if self._state == "beginning":
            words = self._held.lstrip()
            space = self._held[: len(self._held) - len(words)]
            self._held = words
            for opening, end in MARKS:
                # One that the prompt closed may be closed once more.
                if words.startswith((opening, end)):
                    self._state, self._end = "block", end
            marks = (mark for both in MARKS for mark in both)
            if words and self._state == "beginning":
                waits = any(mark.startswith(words) for mark in marks)
                self._state = "beginning" if waits else "text"
        if self._state == "block":
            _, closed, behind = self._held.partition(self._end)
            if closed:
                self._held, self._state = behind, "behind"
        if self._state == "behind":
            self._held = self._held.lstrip()
            if self._held:
                self._state = "text"
        if self._state == "text":
            text, self._held = space + self._held, ""
            return text
        return space

    def fork(self) -> ThoughtRemover:
        """One in the same state, for a text that may yet change."""
        copy = ThoughtRemover()
        copy._held, copy._end, copy._state = self._held, self._end, self._state
        return copy
