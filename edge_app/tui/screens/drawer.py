"""What all drawers share: a box over the page that Esc closes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widget import Widget

from edge_app.tui.keys import DRAWER_BINDINGS


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
        box = Vertical(*self.contents(), id="box")
        box.border_title = self.TITLE
        box.border_subtitle = self.FOOT
        self.set_class(self.BESIDE, "-beside")
        yield box

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
