"""Pieces of a text, each with the state of its words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, get_args

State = Literal["kept", "replaced", "waiting", "refused", "typed", "pasted", "held"]
STATES: tuple[State, ...] = get_args(State)
Run = tuple[str, State]
"""A piece of text and the state of its words."""
_WORD = re.compile(r"[^\S\n]*[^\s]+|[^\S\n]*\n|[^\S\n]+")


def joined(runs: Iterable[Run]) -> list[Run]:
    """Neighbours of one state as one run; empty ones left out."""
    made: list[Run] = []
    for text, state in runs:
        if made and made[-1][1] == state:
            text = made.pop()[0] + text
        if text:
            made.append((text, state))
    return made


def cut(runs: Iterable[Run], start: int, end: int) -> list[Run]:
    """What stands from letter `start` to letter `end`."""
    made, place = [], 0
    for text, state in runs:
        made.append((text[max(0, start - place) : max(0, end - place)], state))
        place += len(text)
    return joined(made)


def words(runs: Iterable[Run]) -> list[Run]:
    """The same text in pieces of a word at most."""
    return [(piece, state) for text, state in runs for piece in _WORD.findall(text)]


def spliced(
    runs: Iterable[Run], at: int, removed: int, inserted: Iterable[Run]
) -> list[Run]:
    """`runs` with `inserted` in the place of `removed` letters from `at` on."""
    before, behind, place = [], [], 0
    for text, state in runs:
        before.append((text[: max(0, at - place)], state))
        behind.append((text[max(0, at + removed - place) :], state))
        place += len(text)
    return joined([*before, *inserted, *behind])
