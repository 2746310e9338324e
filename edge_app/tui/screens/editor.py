"""The page's text: words as they come, then to be edited; letters keep their state."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.document._document import Document
from textual.document._history import EditHistory
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Selection

from decoding_core.foreign_text import legible
from edge_app.tui.screens.widgets import PageText
from edge_app.tui.text import Run, State, alike, cut, joined, spliced, words_of
from edge_app.tui.variant import Variant

_STRANGE = "draft--strange"
_LOOKS = {"replaced", "held", "waiting", "refused"}
"""States that do not look like the rest of the text."""
_HISTORY = 50, 2.0, 100
"""Steps kept by a text area's history; seconds and letters after which one ends."""


class DraftEditor(PageText):
    """Shows one version: read-only while it is written, then to be edited."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        _STRANGE,
        *(f"draft--{look}" for look in _LOOKS),
    }

    class Asked(Message):
        """The person pressed Enter on a word, or while the text is written."""

    class Typed(Message):
        """The person typed or pasted `text` while the text is written."""

        def __init__(self, text: str, *, pasted: bool = False) -> None:
            super().__init__()
            self.text = text
            self.pasted = pasted

    def __init__(self, edit: Callable[[Variant, int, int, list[Run]], None]) -> None:
        """`edit` is called with the version, the place, how many letters go, and new
        runs."""
        super().__init__("", "editor")
        self.read_only, self.show_cursor = True, False
        self.following = True
        """Whether the end is in view, and stays so while words come."""
        self._edit = edit
        self._variant: Variant | None = None
        self._runs: list[Run] = []
        """The text as it stands, in runs of one state."""
        self._left: dict[int, tuple[Variant, EditHistory, str]] = {}
        """What was done to each version that was left, by its id, and its text then."""
        self._typed_to: tuple[int, int] | None = None
        """Where the cursor stood after the last edit."""
        self._taken: list[Run] = []
        """What was cut or copied here last."""
        self._strange: list[tuple[int, int]] = []
        """Where facts stand that are not from the person."""

    @property
    def editing(self) -> bool:
        """Whether the text can be edited."""
        return not self.read_only

    @property
    def _document(self) -> Document:
        assert isinstance(self.document, Document)
        return self.document

    def runs(self) -> list[Run]:
        """The text as it stands, in runs of one state."""
        return list(self._runs)

    def show(self, variant: Variant | None, now: float) -> None:
        """Show `variant` as it is `now`; Tab passes over an empty page."""
        self.can_focus = variant is not None
        if variant is not self._variant:
            if self.editing and self._variant is not None:
                left = self._variant, self.history, self.text
                self._left[id(self._variant)] = left
            self._variant = variant
            self.history = EditHistory(*_HISTORY)
            self.read_only, self.show_cursor = True, False
        if variant is None:
            self._rewrite([])
        elif self.editing:
            return
        elif variant.writing:
            self._rewrite(variant.shown(now))
        elif variant.text or variant.stopped:
            self._rewrite(variant.runs())
            self._begin_editing(variant)

    def mark(self, spans: list[tuple[int, int]]) -> None:
        """Mark facts that are not from the person, and no others."""
        if spans != self._strange:
            self._strange = spans
            self._line_cache.clear()
            self.refresh()

    def _rewrite(self, runs: list[Run]) -> None:
        """Let `runs` be the whole text, drawing only the lines that differ."""
        runs = joined((legible(text), state) for text, state in runs)
        same = _same(self._runs, runs)
        self._runs, document = runs, self._document
        begin = document.get_location_from_index(same)
        text = "".join(text for text, _ in runs)
        if text != self.text:
            at = alike(text, self.text)
            top, bottom = document.get_location_from_index(at), document.end
            done = document.replace_range(top, bottom, text[at:])
            self.wrapped_document.wrap_range(top, bottom, done.end_location)
            # Not as Textual does it, which would scroll to it and draw everything.
            self.set_reactive(TextArea.selection, Selection.cursor(document.end))
            self._refresh_size()
        self._line_cache.clear()
        row = self.wrapped_document.location_to_offset((begin[0], 0)).y
        self.refresh_lines(row, max(1, self.virtual_size.height, self.size.height))
        if self.following:
            self.scroll_end(animate=False, immediate=True)

    def _begin_editing(self, variant: Variant) -> None:
        """Let the person change the text, and undo what was done to it before."""
        left = self._left.pop(id(variant), None)
        if left is not None and left[2] == self.text:
            self.history = left[1]
        if self._runs != joined(variant.runs()):  # what is saved is what was seen
            self._edit(variant, 0, len(variant.text), self.runs())
        self.read_only, self.show_cursor = False, True
        if variant.stretch is not None and variant.edited is None:
            self._mark(variant)

    def _mark(self, variant: Variant) -> None:
        """Select what was written anew, so that it can be redrawn."""
        begin = end = min(variant.written_to, len(self.text))
        if variant.request.instead_of:
            begin = min(end, sum(len(text) for text, _ in variant.before))
            begin += end - begin - len(self.text[begin:end].lstrip())
        self.select_letters(begin, end)

    def watch_scroll_y(self, old: float, new: float) -> None:
        """Follow the words that come unless the person scrolled up."""
        super().watch_scroll_y(old, new)
        self.following = new >= self.max_scroll_y

    def on_resize(self) -> None:
        """Keep the end in view."""
        super().on_resize()
        if self.following:
            self.call_after_refresh(self.scroll_end, animate=False)

    def edit(self, edit: Edit) -> EditResult:
        """Apply an edit that keeps the states; undo and redo call that edit again."""
        if not isinstance(edit, _TracedEdit):
            text = legible(edit.text)
            where = edit.from_location, edit.to_location
            keep = edit.maintain_selection_offset
            edit = _TracedEdit(text, *where, keep, [(text, "typed")])
        done = super().edit(edit)
        self._typed_to = self.cursor_location
        return done

    def put(self, at: int, removed: int, runs: list[Run]) -> None:
        """Replace `removed` letters from `at` on by `runs`, as an edit that can be
        undone."""
        runs = [(legible(text), state) for text, state in runs]
        where = self._document.get_location_from_index
        text = "".join(text for text, _ in runs)
        self.history.checkpoint()
        self.edit(_TracedEdit(text, where(at), where(at + removed), False, runs))
        self.history.checkpoint()

    def insert_as(self, state: State, text: str) -> None:
        """Replace the selection by `text`; what was cut or copied here keeps its
        states."""
        begin, end = self.selected_letters()
        runs: list[Run] = [(text, state)]
        if state == "pasted" and text == "".join(text for text, _ in self._taken):
            runs = self._taken
        if text:
            self.put(begin, end - begin, runs)

    def selected_letters(self) -> tuple[int, int]:
        """Where the selection begins and ends, in letters; without one, the cursor."""
        begin, end = sorted(self.selection)
        index = self._document.get_index_from_location
        return index(begin), index(end)

    def select_letters(self, begin: int, end: int) -> None:
        """Select the letters from `begin` to `end`; the cursor is at the end."""
        where = self._document.get_location_from_index
        self.selection = Selection(where(begin), where(end))

    async def _on_paste(self, event: events.Paste) -> None:
        """What is pasted is no typed text."""
        # This method comes before the text area's, which would insert it once more.
        event.prevent_default()
        event.stop()
        if self.editing:
            self.insert_as("pasted", event.text)
        elif event.text:
            self.post_message(self.Typed(event.text, pasted=True))

    def action_paste(self) -> None:
        """Paste what was cut or copied in the app."""
        if self.editing:
            self.insert_as("pasted", self.app.clipboard)

    def action_cut(self) -> None:
        """Cut, and know what it was."""
        self._take()
        super().action_cut()

    def action_copy(self) -> None:
        """Copy, and know what it was."""
        self._take()
        super().action_copy()

    def _take(self) -> None:
        if not self.selection.is_empty:
            self._taken = cut(self._runs, *self.selected_letters())

    def on_key(self, event: events.Key) -> None:
        """Enter asks about a word that the cursor was brought to, or while the text is
        written; a letter that is typed meanwhile ends the writing."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        beside = line[max(0, column - 1) : column + 1]
        on_word = column < len(line) and any(map(str.isalnum, beside))
        asks = on_word and self.selection.is_empty
        asks = asks and self._typed_to != self.cursor_location
        if event.key == "enter" and (asks or not self.editing):
            self.post_message(self.Asked())
        elif event.is_printable and event.character and not self.editing:
            self.post_message(self.Typed(event.character))
        else:
            return
        event.stop()
        event.prevent_default()

    def splice(self, at: int, removed: int, runs: list[Run]) -> list[Run]:
        """Replace `removed` letters of the known states by `runs`; the replaced
        runs."""
        gone = cut(self._runs, at, at + removed)
        self._runs = spliced(self._runs, at, removed, runs)
        if self._variant is not None:
            self._edit(self._variant, at, removed, joined(runs))
        return gone

    def get_line(self, line_index: int) -> Text:
        """A line; words look as a whole, and no space is underlined."""
        line = self.document.get_line(line_index)
        text = Text(line, end="", no_wrap=True)
        start = self._document.get_index_from_location((line_index, 0))
        runs = cut(self._runs, start, start + len(line))
        states = [state for piece, state in runs for _ in piece]
        looks = list(states)
        for first, end, look in words_of(runs):
            looks[first:end] = [look] * (end - first)
        for word in re.finditer(r"\S+", line):
            for look, letters in groupby(
                range(*word.span()),
                lambda at: "refused" if states[at] == "refused" else looks[at],
            ):
                if look in _LOOKS:
                    style = self.get_component_rich_style(f"draft--{look}")
                    first, *rest = letters
                    text.stylize(style, first, first + len(rest) + 1)
        for first, end in self._strange:
            if first < start + len(line) and end > start:
                style = self.get_component_rich_style(_STRANGE)
                text.stylize(style, max(0, first - start), min(len(line), end - start))
        return text


def _same(one: list[Run], other: list[Run]) -> int:
    """How many first letters are the same and have the same state."""
    same = 0
    for (ours, look), (theirs, there) in zip(one, other, strict=False):
        if look != there:
            break
        same += alike(ours, theirs)
        if ours != theirs:
            break
    return same


@dataclass
class _TracedEdit(Edit):
    """An edit that also inserts and removes the states of its letters."""

    runs: list[Run] = field(default_factory=list)

    def do(self, text_area: TextArea, record_selection: bool = True) -> EditResult:
        """Apply the edit, also as a redo."""
        assert isinstance(text_area, DraftEditor)
        assert isinstance(text_area.document, Document)
        self._at = text_area.document.get_index_from_location(self.top)
        result = super().do(text_area, record_selection)
        removed = len(result.replaced_text)
        self._gone = text_area.splice(self._at, removed, self.runs)
        return result

    def undo(self, text_area: TextArea) -> EditResult:
        """Undo the edit; removed letters get back the states they had."""
        assert isinstance(text_area, DraftEditor)
        result = super().undo(text_area)
        length = sum(len(text) for text, _ in self.runs)
        text_area.splice(self._at, length, self._gone)
        return result
