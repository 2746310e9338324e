"""What differs between two versions, or between the draft and what became of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from decoding_core.foreign_text import legible
from edge_app.tui.drafts import Writing
from edge_app.tui.screens.drawer import Drawer
from edge_app.tui.words.words_differ import Change, differences

_LOOKS: dict[Change, str] = {"same": "", "gone": "strike dim", "new": "bold underline"}


class CompareDrawer(Drawer):
    """Shows what differs between the version on screen and another one."""

    NAME = "compare"
    TITLE = "Compare"
    FOOT = "← → with which version · esc closes"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "other(-1)", "Earlier", show=False),
        Binding("right", "other(1)", "Later", show=False),
    ]

    def __init__(self, writing: Writing) -> None:
        super().__init__()
        self.writing = writing
        self._texts = texts(writing)
        self._other = max(0, len(self._texts) - 1)

    def contents(self) -> Iterable[Widget]:
        """The heading, and one text that holds both versions."""
        yield Static(classes="note", markup=False)
        yield VerticalScroll(Static(id="text", markup=False))

    def on_mount(self) -> None:
        """Compare with the latest other version."""
        self.query_one(VerticalScroll).focus()
        self._compare()

    def action_other(self, step: int) -> None:
        """Compare with the version `step` places on."""
        if self._texts:
            self._other = (self._other + step) % len(self._texts)
            self._compare()

    def _compare(self) -> None:
        note = self.query_one(".note", Static)
        variant = self.writing.variant
        if variant is None or not self._texts:
            note.update("There is nothing to compare yet: ^R writes another version.")
            return
        name, other = self._texts[self._other]
        here = f"version {self.writing.current + 1}"
        note.update(
            Text.assemble(
                (f"only in {name}", _LOOKS["gone"]),
                " · ",
                (f"only in {here}", _LOOKS["new"]),
                " · plain in both",
            )
        )
        text = Text()
        for piece, change in differences(other, variant.text):
            text.append(legible(piece), _LOOKS[change])
        self.query_one("#text", Static).update(text)


def texts(writing: Writing) -> list[tuple[str, str]]:
    """What the version on screen can be compared with, by name."""
    found = [
        (f"version {number}", variant.text)
        for number, variant in enumerate(writing.variants, 1)
        if variant is not writing.variant
    ]
    if writing.variant is not None and writing.variant.edited is not None:
        drafted = "".join(text for text, _ in writing.variant.drafted())
        found.append(("what was drafted", drafted))
    return found
