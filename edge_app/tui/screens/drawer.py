"""What all drawers share: a box over the page that Esc closes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Static

from edge_app.tui.keys import DRAWER_BINDINGS


class Box(Vertical):
    """The frame of a dialog. Its keys stand in the frame, or, where they have no room
    there, in lines of their own."""

    def __init__(self, *children: Widget, title: str, foot: str) -> None:
        self._foot = Static(foot, id="foot", markup=False)
        super().__init__(*children, self._foot, id="box")
        self.border_title = title
        self._keys = foot

    def on_resize(self) -> None:
        """Put the keys where they have room."""
        framed = self.styles.border_bottom[0] not in ("", "none", "hidden")
        fits = framed and cell_len(self._keys) <= self.outer_size.width - 6
        self.border_subtitle = self._keys if fits else ""
        self._foot.display = not fits and bool(self._keys)


class Drawer(ModalScreen[None]):
    """A box over the page; the keys of the other drawers lead to them."""

    NAME: ClassVar[str]
    TITLE = ""
    BESIDE: ClassVar[bool] = False
    """Whether it tells of the letter, which is to be seen beside it where that fits."""
    FOOT = "esc closes"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", show=False),
        *DRAWER_BINDINGS,
    ]

    def compose(self) -> ComposeResult:
        """The box around `contents`."""
        self.set_class(self.BESIDE, "-beside")
        yield Box(*self.contents(), title=self.TITLE, foot=self.FOOT)

    def contents(self) -> Iterable[Widget]:
        """The widgets inside."""
        return ()

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Close; what comes late, such as the choice of a line, closes no other screen
        where this one was closed in the meantime."""
        if not self.is_current:
            nothing: AwaitComplete = AwaitComplete.nothing()  # type: ignore[no-untyped-call]
            return nothing
        return super().dismiss(result)

    async def action_dismiss(self, result: None = None) -> None:
        """Close, unless the drawer was closed in the meantime."""
        if self.is_current:
            self.dismiss(result)
