"""The text to be edited, in which each letter keeps its state."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, groupby
from typing import ClassVar

from rich.text import Text

from decoding_core.foreign_text import legible
from edge_app.tui.variant import Run, State
from edge_app.tui.widgets.page_text import PageText

_STATES: tuple[State, ...] = ("typed", "kept", "replaced")  # 0 is what edits put in


class DraftEditor(PageText):
    """One state byte a letter; typing, pasting and undoing need no hook."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"draft--replaced"}

    def __init__(self, name: str) -> None:
        self._bytes = bytearray()
        self._known = ""
        self._starts: list[int] | None = None
        super().__init__("", name)

    def show_runs(self, runs: Iterable[Run]) -> None:
        """Replace the whole text by what a person can read of it: a carriage return or
        U+2028 would be a line to the text area and none to `get_line`."""
        runs = [(legible(text), state) for text, state in runs]
        self._bytes = bytearray().join(
            bytes([_STATES.index(state)]) * len(text) for text, state in runs
        )
        self._known, self._starts = "".join(text for text, _ in runs), None
        self.text = self._known
        self.move_cursor(self.document.end)

    def runs(self) -> list[Run]:
        """The text as it now is, in runs of one state."""
        self._sync()
        runs: list[Run] = []
        at = 0
        for state, group in groupby(self._bytes):
            length = len(list(group))
            runs.append((self._known[at : at + length], _STATES[state]))
            at += length
        return runs

    def _sync(self) -> None:
        """Splice what changed, found from both ends of the text."""
        text = self.text
        if text == self._known:
            return
        head = _common(text, self._known)
        room = min(len(text), len(self._known)) - head
        tail = min(room, _common(text[::-1], self._known[::-1]))
        changed = bytes(len(text) - tail - head)
        self._bytes[head : len(self._known) - tail] = changed
        self._known, self._starts = text, None

    def get_line(self, line_index: int) -> Text:
        """A line, with replaced words underlined."""
        self._sync()
        line = self.document.get_line(line_index)
        text = Text(line, end="", no_wrap=True)
        start = self._line_starts()[line_index]
        style = self.get_component_rich_style("draft--replaced")
        at = 0
        for state, group in groupby(self._bytes[start : start + len(line)]):
            length = len(list(group))
            if _STATES[state] == "replaced":
                spaces = len(line[at : at + length]) - len(
                    line[at : at + length].lstrip(" ")
                )
                text.stylize(style, at + spaces, at + length)
            at += length
        return text

    def _line_starts(self) -> list[int]:
        if self._starts is None:
            lengths = (len(line) + 1 for line in self._known.split("\n"))
            self._starts = list(accumulate(lengths, initial=0))
        return self._starts


def _common(first: str, second: str) -> int:
    """How many letters both begin with."""
    pairs = enumerate(zip(first, second, strict=False))
    shorter = min(len(first), len(second))
    return next((at for at, (one, other) in pairs if one != other), shorter)
