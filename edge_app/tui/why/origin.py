"""Which settled tokens a word of the text was drafted as, also after edits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate, pairwise

from edge_app.tui.runs import Run, State
from edge_app.tui.variant import Variant
from edge_app.tui.words.whole import words_of

_MANY = 2000
"""Words from which on those that stand everywhere are passed over in comparing."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the text as it stands."""

    start: int
    """Letters of the text before it."""
    end: int
    text: str
    state: State
    tokens: tuple[int, ...] = ()
    """Places of the settled tokens that it was drafted as; empty where the person
    typed it, changed it or moved it."""


def words_of_version(variant: Variant) -> list[Word]:
    """All words of a version, each with the tokens that it was drafted as."""
    drafted = _words(variant.drafted())
    # What it goes on from, or is put back behind it, was no part of its writing.
    begin = sum(len(text) for text, _ in variant.before)
    lengths = (len(token.text) for token in variant.settled)
    spans = list(pairwise(accumulate(lengths, initial=begin)))
    first, placed = 0, list[tuple[int, ...]]()
    for word in drafted:
        while first < len(spans) and spans[first][1] <= word.start:
            first += 1
        last = first
        while last < len(spans) and spans[last][0] < word.end:
            last += 1
        placed.append(tuple(range(first, last)))
    standing = _words(variant.runs())
    found = list(standing)
    for first, there, count in _same(standing, drafted):
        for i in range(count):
            word = standing[first + i]
            if word.state != "typed":
                found[first + i] = Word(
                    word.start, word.end, word.text, word.state, placed[there + i]
                )
    return found


def word_at(words: Sequence[Word], letter: int | None) -> int | None:
    """The place of the word that holds `letter`, or else stands before it; the last
    one without a letter; None where there is no word."""
    before = [
        at for at, word in enumerate(words) if letter is None or word.start <= letter
    ]
    return before[-1] if before else (0 if words else None)


def _words(runs: Sequence[Run]) -> list[Word]:
    text = "".join(text for text, _ in runs)
    states = [state for text, state in runs for _ in text]
    return [
        Word(start, end, text[start:end], look)
        for start, end, look in words_of(text, states)
    ]


def _same(one: Sequence[Word], other: Sequence[Word]) -> list[tuple[int, int, int]]:
    """Places in both and lengths of the stretches that are the same."""
    matcher = SequenceMatcher(
        None,
        [word.text for word in one],
        [word.text for word in other],
        autojunk=len(one) > _MANY,
    )
    return [(b.a, b.b, b.size) for b in matcher.get_matching_blocks()]
