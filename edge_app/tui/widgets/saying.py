"""Text that changes often and is painted only when it says something new."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static


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
    """A box of the rail; its key is in the lower border."""

    def __init__(self, name: str, title: str, key: str) -> None:
        super().__init__(id=name, classes="card")
        self.border_title = title
        self.border_subtitle = key
