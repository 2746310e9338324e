"""Text that changes often and is painted only when it says something new."""

from __future__ import annotations

from rich.cells import set_cell_size
from rich.text import Text
from textual.widgets import Static

from edge_app.tui.keys import key_of

_LEAST = 20
"""Columns of a card that is not shown, or not yet laid out."""


class Saying(Static):
    """A Static that lays the screen out again only when its height may change."""

    _said: Text | None = None

    def say(self, text: Text) -> None:
        """Show `text`, if it is new."""
        if text == self._said:
            return
        lines = -1 if self._said is None else self._said.plain.count("\n")
        self._said = text
        self.update(text, layout=lines != text.plain.count("\n"))


class Card(Saying):
    """A card of the rail: its title and its key, then what it says. A click opens the
    drawer of the same name."""

    def __init__(self, name: str, title: str) -> None:
        super().__init__(id=name, classes="card", markup=False)
        self.title = title
        self._drawer = name

    async def on_click(self) -> None:
        """Open the drawer."""
        await self.run_action(f"app.drawer('{self._drawer}')")

    @property
    def width(self) -> int:
        """Columns of a line."""
        return max(_LEAST, self.content_size.width)

    def say(self, text: Text) -> None:
        """Show `text` below the title, if it is new."""
        key = key_of(self._drawer)
        title = set_cell_size(self.title, self.width - len(key) - 1)
        super().say(Text.assemble((title, "bold"), " ", (key, "dim"), "\n", text))
