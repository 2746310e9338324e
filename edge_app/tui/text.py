"""Pieces of a text, each with the state of its words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Literal, get_args

State = Literal["kept", "replaced", "waiting", "refused", "typed", "pasted", "held"]
STATES: tuple[State, ...] = get_args(State)
Run = tuple[str, State]


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


_STRONGEST: tuple[State, ...] = (
    *("waiting", "typed", "pasted", "held", "replaced", "kept"),
)
WORD = re.compile(r"\w+(?:['’-]\w+)*")


def alike(one: Sequence[object], other: Sequence[object]) -> int:
    """How many first letters, or other items, are the same."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def joins(before: str, after: str) -> bool:
    """Whether a word goes on from the end of one text into the next."""
    return bool(before and after) and (
        (before[-1].isalnum() and (after[0].isalnum() or after[0] in "'’-"))
        or (before[-1] in "'’-" and after[0].isalnum())
    )  # fmt: skip


def strongest(states: Iterable[State]) -> State:
    """How a word looks whose pieces have these states."""
    found = set(states)
    return next((state for state in _STRONGEST if state in found), "kept")


def words_of(runs: Iterable[Run]) -> list[tuple[int, int, State]]:
    """Start, end and look of every word."""
    runs = list(runs)
    states = [state for text, state in runs for _ in text]
    return [
        (word.start(), word.end(), strongest(states[word.start() : word.end()]))
        for word in WORD.finditer("".join(text for text, _ in runs))
    ]


def pieces_of(text: str) -> list[str]:
    """Words, spaces and single signs, which make up the text."""
    return re.findall(r"\w+|\s+|[^\w\s]", text)


def counted(number: int, noun: str) -> str:
    """A number with its noun, such as `1 word` or `2 words`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def word_count(text: str) -> int:
    """How many words a text has."""
    return len(WORD.findall(text))


def count_words(runs: Iterable[Run]) -> dict[State, int]:
    """Words by how they look; one that was kept from the server was kept, too."""
    counts: dict[State, int] = {"kept": 0, "replaced": 0, "typed": 0, "pasted": 0}
    for _, _, look in words_of(runs):
        counted_as: State = "kept" if look == "held" else look
        counts[counted_as] = counts.get(counted_as, 0) + 1
    return counts


def in_bytes(size: int) -> str:
    """`size` with its unit, such as `96 B` or `1.9 kB`."""
    return f"{size} B" if size < 1000 else f"{size / 1000:.1f} kB"


def kept_share(before: str, after: str) -> tuple[int, int]:
    """How many words of the earlier text the later one has in their order, and of how
    many."""
    old, new = before.split(), after.split()
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks), len(old)
