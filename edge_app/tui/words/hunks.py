"""What differs between two versions sentence by sentence, and how one takes a part of
the other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from edge_app.tui.runs import Run, cut

_SENTENCE = re.compile(r"\s*\S.*?(?:[.!?…]+[\"'”’)\]]*(?=\s)|(?=\n)|\Z)\s*", re.DOTALL)

_ALIKE = 0.3
"""Share of common words from which two sentences stand side by side."""

Span = tuple[int, int]
"""Where a stretch of a text begins and ends, in letters."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """Sentences of one version, and those that stand for them in the other."""

    here: Span
    there: Span
    same: bool


def sentences(text: str) -> list[Span]:
    """The sentences, each with the space behind it; a line is one at least."""
    found = [match.span() for match in _SENTENCE.finditer(text)]
    if not found and text:
        return [(0, len(text))]
    return found


def hunks(here: str, there: str) -> list[Hunk]:
    """All sentences of both, in order: those that are the same, those that are like
    each other side by side, and those that stand in one alone."""
    ours, theirs = sentences(here), sentences(there)
    left = [here[start:end].strip() for start, end in ours]
    right = [there[start:end].strip() for start, end in theirs]
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    made = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            pairs = [(i1 + n, i1 + n + 1, j1 + n, j1 + n + 1) for n in range(i2 - i1)]
        else:
            pairs = [
                (i1 + a, i1 + b, j1 + c, j1 + d)
                for a, b, c, d in _side_by_side(left[i1:i2], right[j1:j2])
            ]
        made += [
            Hunk(_span(ours, a, b), _span(theirs, c, d), tag == "equal")
            for a, b, c, d in pairs
        ]
    return made


def _side_by_side(
    left: Sequence[str], right: Sequence[str]
) -> list[tuple[int, int, int, int]]:
    """Which sentences stand beside which, so that those that share words do: places in
    both lists; where two that share none lie between the same neighbours, too."""
    words = [
        [set(re.findall(r"\w+", one.casefold())) for one in s] for s in (left, right)
    ]
    rows, columns = len(left), len(right)
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    alike = [[0.0] * columns for _ in range(rows)]
    for i in reversed(range(rows)):
        for j in reversed(range(columns)):
            one, other = words[0][i], words[1][j]
            alike[i][j] = 2 * len(one & other) / max(1, len(one) + len(other))
            beside = alike[i][j] + best[i + 1][j + 1] if alike[i][j] > _ALIKE else 0.0
            best[i][j] = max(beside, best[i + 1][j], best[i][j + 1])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < rows and j < columns:
        if alike[i][j] > _ALIKE and best[i][j] == alike[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    made, a, c = [], 0, 0
    for i, j in [*pairs, (rows, columns)]:
        if a < i or c < j:
            one_each = i - a == j - c
            made += (
                [(a + n, a + n + 1, c + n, c + n + 1) for n in range(i - a)]
                if one_each
                else [(a, i, c, j)]
            )
        if i < rows:
            made.append((i, i + 1, j, j + 1))
        a, c = i + 1, j + 1
    return made


def taken(
    hunk: Hunk, here: Sequence[Run], there: Sequence[Run]
) -> tuple[int, int, list[Run]]:
    """The edit by which one version takes a hunk of the other, with its origins: the
    place, how many letters give way, and what stands for them."""
    (start, end), (first, last) = hunk.here, hunk.there
    ours, theirs = ("".join(text for text, _ in runs) for runs in (here, there))
    if end < len(ours):
        space = "" if theirs[first:last][-1:].isspace() or first == last else " "
        return start, end - start, [*cut(there, first, last), *_plain(space)]
    # The last sentence of a text has no space behind it, and some before it.
    last = first + len(theirs[first:last].rstrip())
    begin = len(ours[:start].rstrip()) if first == last else start
    space = ""
    if start and first < last and not ours[start - 1].isspace():
        before = theirs[:first]
        space = before[len(before.rstrip()) :] or " "
    return begin, end - begin, [*_plain(space), *cut(there, first, last)]


def _plain(space: str) -> list[Run]:
    return [(space, "kept")] if space else []


def _span(spans: Sequence[Span], first: int, last: int) -> Span:
    if first < last:
        return spans[first][0], spans[last - 1][1]
    at = spans[first][0] if first < len(spans) else (spans[-1][1] if spans else 0)
    return at, at
