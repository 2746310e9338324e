"""What the guard would do with a text, without a model."""

from __future__ import annotations

import time
from dataclasses import dataclass

from edge_app.privacy.guard.history import PrivateIndex
from edge_app.privacy.guard.spans import Scanner
from edge_app.privacy.guard.stand_ins import StandIns
from edge_app.privacy.guard.words import words_of

_BLOCK = 8
"""Words of a block whose time is taken, about as many as one holds."""
_CONTEXT = 240
"""Characters before a block that are read with it."""


@dataclass(frozen=True, slots=True)
class Found:
    """A span of the text."""

    start: int
    end: int
    kind: str
    reason: str
    text: str
    stand_in: str


@dataclass(frozen=True, slots=True)
class Report:
    """What the guard would do with a text."""

    found: tuple[Found, ...]
    public: str
    """The text as the server would read it."""
    words: int
    held_back: int
    """How many of the words."""
    block_ms: float
    """Median time of the guard over a block of eight words."""
    slowest_ms: float


_FIRST = "Call 07700 900123 by 3 May 1990; DE89 3704 0044 0532 0130 00; a@b.org"
"""Looked at before the time is taken: libraries read their tables when they meet the
first number of a kind, once in a process."""


def check(text: str, index: PrivateIndex, *, typed: bool = True) -> Report:
    """What the guard would do with a text that is drafted with this private index."""
    scanner = Scanner(index)
    stand_ins = StandIns(index, typed=typed, seed=0)
    words = words_of(text)
    scanner.scan(_FIRST, final=True)
    spans = scanner.scan(text, final=True).spans
    times = []
    for first in range(0, len(words), _BLOCK):
        begin, end = words[first].start, words[min(first + _BLOCK, len(words)) - 1].end
        context = max(0, begin - _CONTEXT)
        started = time.thread_time()
        scanner.scan(text[context:end], begin - context)
        times.append(1000 * (time.thread_time() - started))
    found, public, position, held = [], "", 0, 0
    for span in spans:
        shown = text[span.start : span.end]
        stand_in = stand_ins.choose(shown, span.kind)
        found.append(
            Found(span.start, span.end, span.kind, span.reason, shown, stand_in)
        )
        public += text[position : span.start] + stand_in
        position = span.end
        held += len(words_of(shown))
    times.sort()
    return Report(
        tuple(found),
        public + text[position:],
        len(words),
        held,
        round(times[len(times) // 2], 3) if times else 0.0,
        round(times[-1], 3) if times else 0.0,
    )
