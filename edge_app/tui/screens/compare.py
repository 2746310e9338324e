"""Two versions side by side, sentence by sentence, and hunks to take."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import ClassVar, Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from decoding_core.foreign_text import legible
from edge_app.tui.keys import key_of
from edge_app.tui.screens.drawer import Drawer
from edge_app.tui.text import Run, counted, cut, pieces_of
from edge_app.tui.writing import Writing

LOOKS: dict[Change, str] = {"same": "", "gone": "strike", "new": "bold underline"}
_SIDE_BY_SIDE = 70
"""Columns from which two texts stand beside each other; below, one under the other."""

Put = Callable[[int, int, list[Run]], None]
"""Puts runs, at a letter of the version on screen, in the place of N letters."""


class CompareDrawer(Drawer):
    """The version on screen on the left, another one on the right."""

    NAME = "compare"
    TITLE = "Compare"
    FOOT = "space takes the right one · u puts back · ← → with which · esc"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "other(-1)", "Earlier", show=False, priority=True),
        Binding("right", "other(1)", "Later", show=False, priority=True),
        Binding("space", "take", "Take", show=False, priority=True),
        Binding("u,ctrl+z", "put_back", "Put back", show=False, priority=True),
    ]

    def __init__(self, writing: Writing, put: Put) -> None:
        super().__init__(writing)
        self._put = put
        self._texts = texts(writing)
        self._other = max(0, len(self._texts) - 1)
        self._hunks: list[Hunk] = []
        self._taken: list[tuple[int, int, list[Run]]] = []
        """The edits that undo what was taken, the last one last."""

    def contents(self) -> Iterable[Widget]:
        """The heading, and a row for each sentence."""
        yield Static(classes="note", markup=False)
        yield OptionList(id="hunks")

    def on_mount(self) -> None:
        """Compare with the latest other version."""
        self.query_one(OptionList).focus()
        self._compare()

    def on_resize(self) -> None:
        """The columns have another width, once they are laid out."""
        self.call_after_refresh(self._compare)

    def action_other(self, step: int) -> None:
        """Compare with the version `step` places on."""
        if self._texts:
            self._other = (self._other + step) % len(self._texts)
            self._compare()

    def action_take(self) -> None:
        """Put the right sentences in the place of the left ones."""
        at, variant = self.query_one(OptionList).highlighted, self.writing.variant
        if at is None or variant is None or self._hunks[at].same:
            return
        if variant.writing:
            self.notify("wait until it is written, or stop it with Esc on the page")
            return
        here = variant.runs()
        place, removed, runs = taken(self._hunks[at], here, self._texts[self._other][1])
        length = sum(len(text) for text, _ in runs)
        self._taken.append((place, length, cut(here, place, place + removed)))
        self._put(place, removed, runs)
        self._compare()

    def action_put_back(self) -> None:
        """Undo the last hunk that was taken."""
        if self._taken:
            self._put(*self._taken.pop())
            self._compare()

    def _compare(self) -> None:
        note, options = self.query_one(".note", Static), self.query_one(OptionList)
        variant = self.writing.variant
        if variant is None or not self._texts:
            options.clear_options()
            again = f"{key_of('again')} writes another version."
            note.update(f"There is nothing to compare yet: {again}")
            return
        name, there = self._texts[self._other]
        theirs, ours = "".join(text for text, _ in there), variant.text
        self._hunks = hunks(ours, theirs)
        places = [n for n, one in enumerate(self._hunks) if not one.same]
        differ = counted(len(places), "difference")
        note.update(
            f"left: version {self.writing.draft_state.current + 1} · right: {name} · "
            f"{differ if places else 'all sentences are the same'}"
        )
        at = options.highlighted or 0
        width = options.scrollable_content_region.width
        options.set_options(
            Option(_row(one, ours, theirs, width), disabled=one.same)
            for one in self._hunks
        )
        behind = [n for n in places if n >= at] or places[-1:]
        options.highlighted = behind[0] if behind else None


def _row(hunk: Hunk, ours: str, theirs: str, width: int) -> RenderableType:
    """A hunk in two columns, or in two rows where there is no room."""
    left, right = ours[slice(*hunk.here)].strip(), theirs[slice(*hunk.there)].strip()
    sides = Text(), Text()
    for piece, change in differences(left, right):
        for side, other in zip(sides, ("new", "gone"), strict=True):
            if change != other:
                side.append(legible(piece), "dim" if hunk.same else LOOKS[change])
    if hunk.same and width < _SIDE_BY_SIDE:
        return sides[0]
    if width < _SIDE_BY_SIDE:
        return Group(
            *(
                Text.assemble(mark, side or Text("(nothing)", "dim"))
                for mark, side in zip(("- ", "+ "), sides, strict=True)
            )
        )
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(ratio=1)
    table.add_column(width=1)
    table.add_column(ratio=1)
    table.add_row(sides[0], "" if hunk.same else "←", sides[1])
    return table


def texts(writing: Writing) -> list[tuple[str, Sequence[Run]]]:
    """What the version on screen can be compared with, by name."""
    found: list[tuple[str, Sequence[Run]]] = [
        (f"version {number}", variant.runs())
        for number, variant in enumerate(writing.variants, 1)
        if variant is not writing.variant
    ]
    if writing.variant is not None and writing.variant.edited is not None:
        found.append(("what was drafted", writing.variant.drafted()))
    return found


_SENTENCE = re.compile(r"\s*\S.*?(?:[.!?…]+[\"'”’)\]]*(?=\s)|(?=\n)|\Z)\s*", re.DOTALL)

_ALIKE = 0.3  # share of common words from which two sentences stand side by side

Span = tuple[int, int]


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
    """All sentences of both, in order."""
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
    """Pairs of sentence ranges: split at the two most alike sentences, recursively."""
    words = [
        [set(re.findall(r"\w+", one.casefold())) for one in side]
        for side in (left, right)
    ]

    def parted(a: int, b: int, c: int, d: int) -> list[tuple[int, int, int, int]]:
        alike, i, j = max(
            (
                (2 * len(one & other) / max(1, len(one) + len(other)), -i, -j)
                for i, one in enumerate(words[0][a:b], a)
                for j, other in enumerate(words[1][c:d], c)
            ),
            default=(0.0, 0, 0),
        )
        if alike > _ALIKE:
            i, j = -i, -j
            return [*parted(a, i, c, j), (i, i + 1, j, j + 1),
                    *parted(i + 1, b, j + 1, d)]  # fmt: skip
        if b - a == d - c:
            return [(a + n, a + n + 1, c + n, c + n + 1) for n in range(b - a)]
        return [(a, b, c, d)]

    return parted(0, len(left), 0, len(right))


def taken(
    hunk: Hunk, here: Sequence[Run], there: Sequence[Run]
) -> tuple[int, int, list[Run]]:
    """The edit by which one version takes a hunk of the other, with its origins."""
    (start, end), (first, last) = hunk.here, hunk.there
    ours, theirs = ("".join(text for text, _ in runs) for runs in (here, there))
    if end < len(ours):
        space = "" if theirs[first:last][-1:].isspace() or first == last else " "
        return start, end - start, [*cut(there, first, last), (space, "kept")]
    # The last sentence of a text has no space behind it, and some before it.
    last = first + len(theirs[first:last].rstrip())
    begin = len(ours[:start].rstrip()) if first == last else start
    space = ""
    if start and first < last and not ours[start - 1].isspace():
        before = theirs[:first]
        space = before[len(before.rstrip()) :] or " "
    return begin, end - begin, [(space, "kept"), *cut(there, first, last)]


def _span(spans: Sequence[Span], first: int, last: int) -> Span:
    if first < last:
        return spans[first][0], spans[last - 1][1]
    at = spans[first][0] if first < len(spans) else (spans[-1][1] if spans else 0)
    return at, at


Change = Literal["same", "gone", "new"]


def differences(before: str, after: str) -> list[tuple[str, Change]]:
    """Pieces that make up both texts: without `new` the first, without `gone` the
    second. A single word between two changes changes with them."""
    old, new = pieces_of(before), pieces_of(after)
    pieces: list[tuple[str, Change]] = []
    gone = come = ""
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    codes = matcher.get_opcodes()
    for at, (tag, i1, i2, j1, j2) in enumerate(codes):
        same = "".join(new[j1:j2])
        if tag == "equal" and (at in (0, len(codes) - 1) or len(same.split()) > 1):
            pieces += [(gone, "gone"), (come, "new"), (same, "same")]
            gone = come = ""
            continue
        gone, come = gone + "".join(old[i1:i2]), come + same
    pieces += [(gone, "gone"), (come, "new")]
    return [(text, change) for text, change in pieces if text]
