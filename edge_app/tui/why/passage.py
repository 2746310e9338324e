"""Which of the letters that were read a word follows: the longest run of words around
it that one of them holds too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from edge_app.decoding.events import Source
from edge_app.tui.words.sources_text import COMMON

_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_AROUND = 40
"""Letters of the passage that are shown before and behind the run."""
_SHORTEST_WORD = 4
"""Letters of a word that says something by itself."""
_MOST = 12
"""Words that are compared to either side."""


@dataclass(frozen=True, slots=True)
class Followed:
    """A passage that holds the word, and words beside it where there are any."""

    source: Source
    before: str
    run: str
    behind: str


def followed(text: str, start: int, sources: Iterable[Source]) -> Followed | None:
    """The passage that the word of `text` at letter `start` follows; None where no
    source holds it, or holds only a word that stands everywhere."""
    ours = list(_WORD.finditer(text))
    at = next((i for i, word in enumerate(ours) if word.end() > start), None)
    if at is None:
        return None
    names = [word.group().casefold() for word in ours]
    best: tuple[int, int] = (0, 0)
    found: Followed | None = None
    for source in sources:
        theirs = list(_WORD.finditer(source.excerpt))
        others = [word.group().casefold() for word in theirs]
        for there, name in enumerate(others):
            if name != names[at]:
                continue
            back = _alike(names[:at][::-1], others[:there][::-1])
            on = _alike(names[at + 1 :], others[there + 1 :])
            run = names[at - back : at + on + 1]
            # What it follows stands before it, so that counts first.
            rank = (back, on)
            if (rank <= best and found is not None) or not _telling(run):
                continue
            best = rank
            first, last = theirs[there - back].start(), theirs[there + on].end()
            found = Followed(source, *_cut(source.excerpt, first, last))
    return found


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = list(zip(one[:_MOST], other[:_MOST], strict=False))
    return next((i for i, (a, b) in enumerate(pairs) if a != b), len(pairs))


def _telling(run: Sequence[str]) -> bool:
    """Whether a run of words is more than what stands in every letter."""
    return any(len(word) >= _SHORTEST_WORD and word not in COMMON for word in run)


def _cut(text: str, first: int, last: int) -> tuple[str, str, str]:
    before, behind = text[max(0, first - _AROUND) : first], text[last : last + _AROUND]
    before = ("…" if first > _AROUND else "") + before
    return (
        before,
        text[first:last],
        behind + ("…" if last + _AROUND < len(text) else ""),
    )
