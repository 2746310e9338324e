"""The text to be edited, in which each letter keeps its state."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import accumulate, groupby
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.document._document import Document
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Selection

from decoding_core.foreign_text import legible
from edge_app.tui.screens.widgets import PageText
from edge_app.tui.text import Run, State, words_of

_STATES: tuple[State, ...] = (
    "typed",
    "kept",
    "replaced",
    "held",
    "pasted",
)  # 0 is what edits put in


def _nobody(_at: int, _removed: int, _runs: list[Run]) -> None:
    """Tell nobody of an edit."""


class DraftEditor(PageText):
    """An editor with one state byte per letter."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"draft--replaced", "draft--held"}

    class Asked(Message):
        """The person pressed Enter on a word."""

    def __init__(
        self, name: str, spliced: Callable[[int, int, list[Run]], None] = _nobody
    ) -> None:
        """`spliced` is told of each edit at once."""
        self._spliced = spliced
        self.states = bytearray()
        """The state of every letter; line breaks are letters."""
        self._starts: list[int] | None = None
        self._typed_to: tuple[int, int] | None = None
        """Where the cursor stood after the last edit."""
        self._inserting: State = "typed"
        self._taken: tuple[str, bytes] = "", b""
        """What was cut or copied here last, with its states."""
        super().__init__("", name)

    def show_runs(self, runs: Iterable[Run]) -> None:
        """Replace the whole text by what a person can read of it: a carriage return or
        U+2028 would be a line to the text area and none to `get_line`. What was done
        to the text before cannot be undone."""
        runs = [(legible(text), state) for text, state in runs]
        states = bytearray().join(
            bytes([_STATES.index(state)]) * len(text) for text, state in runs
        )
        # As a document keeps it: each line break one newline.
        plain, kept, at = "", bytearray(), 0
        for line in "".join(text for text, _ in runs).splitlines(keepends=True):
            bare = line.splitlines()[0]
            broken = len(line) > len(bare)
            plain += bare + "\n" * broken
            kept += states[at : at + len(bare) + broken]
            at += len(line)
        self.text, self.states = plain, kept
        self._starts = None
        self.move_cursor(self.document.end)

    def runs(self) -> list[Run]:
        """The text as it now is, in runs of one state."""
        return _runs(self.text, self.states)

    def edit(self, edit: Edit) -> EditResult:
        """Apply an edit that keeps the states; undo and redo call that edit again."""
        traced = _TracedEdit(
            edit.text,
            edit.from_location,
            edit.to_location,
            edit.maintain_selection_offset,
        )
        traced.inserted = self._states_of(edit.text)
        done = super().edit(traced)
        self._typed_to = self.cursor_location
        return done

    def put(self, at: int, removed: int, runs: Iterable[Run]) -> None:
        """Put `runs` in the place of `removed` letters from `at` on, with their states,
        as an edit that can be undone."""
        runs = [(legible(text), state) for text, state in runs]
        text = "".join(text for text, _ in runs)
        states = b"".join(bytes([_STATES.index(s)]) * len(t) for t, s in runs)
        assert isinstance(self.document, Document)
        where = self.document.get_location_from_index
        edit = _TracedEdit(text, where(at), where(at + removed), False)
        edit.inserted = states
        self.history.checkpoint()
        super().edit(edit)
        self.history.checkpoint()

    def insert_as(self, state: State, text: str) -> None:
        """Insert `text` at the cursor with this state."""
        self._inserting = state
        try:
            self.insert(text)
        finally:
            self._inserting = "typed"

    def selected_letters(self) -> tuple[int, int]:
        """Where the selection begins and ends, in letters; without one, the cursor."""
        assert isinstance(self.document, Document)
        begin, end = sorted(self.selection)
        index = self.document.get_index_from_location
        return index(begin), index(end)

    def select_letters(self, begin: int, end: int) -> None:
        """Select the letters from `begin` to `end`; the cursor is at the end."""
        assert isinstance(self.document, Document)
        where = self.document.get_location_from_index
        self.selection = Selection(where(begin), where(end))

    async def _on_paste(self, event: events.Paste) -> None:
        """What is pasted is no typed text; a piece of this one is what it was."""
        # This method comes before the text area's, which would insert it once more.
        event.prevent_default()
        self._inserting = "pasted"
        try:
            await super()._on_paste(event)
        finally:
            self._inserting = "typed"

    def action_paste(self) -> None:
        """Paste what was cut or copied in the app."""
        self._inserting = "pasted"
        try:
            super().action_paste()
        finally:
            self._inserting = "typed"

    def action_cut(self) -> None:
        """Cut, and know what it was."""
        self._take()
        super().action_cut()

    def action_copy(self) -> None:
        """Copy, and know what it was."""
        self._take()
        super().action_copy()

    def _take(self) -> None:
        begin, end = self.selected_letters()
        if end > begin:
            self._taken = self.selected_text, bytes(self.states[begin:end])

    def _states_of(self, text: str) -> bytes:
        """The states of letters that are inserted."""
        taken, states = self._taken
        if self._inserting == "pasted" and text and text == taken:
            return states
        return bytes([_STATES.index(self._inserting)])

    @property
    def letter(self) -> int:
        """How many letters stand before the cursor."""
        row, column = self.cursor_location
        return sum(len(line) + 1 for line in self.document.lines[:row]) + column

    def replace_letters(self, start: int, end: int, text: str) -> None:
        """Put `text` in the place of the letters from `start` to `end`, as typed."""
        assert isinstance(self.document, Document)
        locate = self.document.get_location_from_index
        self.replace(text, locate(start), locate(end))

    def on_key(self, event: events.Key) -> None:
        """Enter on a word that the cursor was brought to asks about it."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        beside = line[max(0, column - 1) : column + 1]
        on_word = column < len(line) and any(map(str.isalnum, beside))
        typing = self._typed_to == self.cursor_location
        if event.key == "enter" and self.selection.is_empty and on_word and not typing:
            event.stop()
            event.prevent_default()
            self.post_message(self.Asked())

    def splice(self, start: int, length: int, states: bytes) -> bytes:
        """Replace the states of `length` letters by `states`; the replaced states."""
        removed = bytes(self.states[start : start + length])
        self.states[start : start + length] = states
        self._starts = None
        inserted = self.text[start : start + len(states)]
        self._spliced(start, length, _runs(inserted, states))
        return removed

    def get_line(self, line_index: int) -> Text:
        """A line; each word that was replaced or held back looks so as a whole."""
        line = self.document.get_line(line_index)
        text = Text(line, end="", no_wrap=True)
        if self._starts is None:
            lengths = (len(line) + 1 for line in self.document.lines)
            self._starts = list(accumulate(lengths, initial=0))
        start = self._starts[line_index]
        states = [_STATES[byte] for byte in self.states[start : start + len(line)]]
        looks = list(states)
        for first, end, look in words_of(line, states):
            looks[first:end] = [look] * (end - first)
        at = 0
        for look, group in groupby(looks):
            end = at + len(list(group))
            if look in ("replaced", "held"):
                style = self.get_component_rich_style(f"draft--{look}")
                spaces = len(line[at:end]) - len(line[at:end].lstrip(" "))
                text.stylize(style, at + spaces, end)
            at = end
        return text


def _runs(text: str, states: bytes | bytearray) -> list[Run]:
    runs: list[Run] = []
    at = 0
    for state, group in groupby(states):
        length = len(list(group))
        runs.append((text[at : at + length], _STATES[state]))
        at += length
    return runs


class _TracedEdit(Edit):
    """An edit that also inserts and removes the states of its letters."""

    inserted: bytes = b"\0"
    """A state for each letter that it inserts, or one for all."""

    def do(self, text_area: TextArea, record_selection: bool = True) -> EditResult:
        """Apply the edit, also as a redo."""
        assert isinstance(text_area, DraftEditor)
        assert isinstance(text_area.document, Document)
        self._start = text_area.document.get_index_from_location(self.top)
        before = len(text_area.text)
        result = super().do(text_area, record_selection)
        gone = len(result.replaced_text)
        # Not the length of `self.text`: a document breaks lines in its own way.
        self._inserted = len(text_area.text) - before + gone
        states = self.inserted
        if len(states) != self._inserted:
            states = states[:1] * self._inserted
        self._removed = text_area.splice(self._start, gone, states)
        return result

    def undo(self, text_area: TextArea) -> EditResult:
        """Undo the edit; removed letters get back the states they had."""
        assert isinstance(text_area, DraftEditor)
        result = super().undo(text_area)
        text_area.splice(self._start, self._inserted, self._removed)
        return result
