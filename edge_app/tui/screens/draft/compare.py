"""Two versions side by side, sentence by sentence, and hunks to take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from decoding_core.foreign_text import legible
from edge_app.tui.drafts import Writing
from edge_app.tui.keys import key_of
from edge_app.tui.runs import Run, cut
from edge_app.tui.screens.drawer import Drawer
from edge_app.tui.words.hunks import Hunk, hunks, taken
from edge_app.tui.words.words_differ import Change, differences

_LOOKS: dict[Change, str] = {"same": "", "gone": "strike", "new": "bold underline"}
_SIDE_BY_SIDE = 70
"""Columns from which two texts stand beside each other; below, one under the other."""

Put = Callable[[int, int, list[Run]], None]
"""Puts runs in the place of so many letters of the version on screen."""


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
        super().__init__()
        self.writing = writing
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
        at = options.highlighted or 0
        options.clear_options()
        if variant is None or not self._texts:
            again = f"{key_of('again')} writes another version."
            note.update(f"There is nothing to compare yet: {again}")
            return
        name, there = self._texts[self._other]
        theirs, ours = "".join(text for text, _ in there), variant.text
        self._hunks = hunks(ours, theirs)
        count = sum(not hunk.same for hunk in self._hunks)
        differ = f"{count} difference{'' if count == 1 else 's'}"
        note.update(
            f"left: version {self.writing.current + 1} · right: {name} · "
            f"{differ if count else 'all sentences are the same'}"
        )
        width = options.scrollable_content_region.width
        options.add_options(
            Option(_row(one, ours, theirs, width), disabled=one.same)
            for one in self._hunks
        )
        places = [n for n, one in enumerate(self._hunks) if not one.same]
        behind = [n for n in places if n >= at] or places[-1:]
        options.highlighted = behind[0] if behind else None


def _row(hunk: Hunk, ours: str, theirs: str, width: int) -> RenderableType:
    """A hunk in two columns, or in two rows where there is no room; what stands in one
    version alone is struck or underlined."""
    left, right = ours[slice(*hunk.here)].strip(), theirs[slice(*hunk.there)].strip()
    sides = Text(), Text()
    for piece, change in differences(left, right):
        for side, other in zip(sides, ("new", "gone"), strict=True):
            if change != other:
                side.append(legible(piece), "dim" if hunk.same else _LOOKS[change])
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
