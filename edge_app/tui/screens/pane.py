"""The page's text: a view while it is written, an editor afterwards."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap

from rich.cells import get_character_cell_size
from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.document._history import EditHistory
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from decoding_core.foreign_text import legible
from edge_app.tui.screens.editor import DraftEditor
from edge_app.tui.text import STATES, Run, State, joined
from edge_app.tui.variant import Variant

_HISTORY = 50, 2.0, 100
"""As a text area has it: how many steps, and after how many seconds and letters one
ends."""


class DraftPane(Vertical):
    """Shows one variant, and tells of every edit of it."""

    def __init__(self, edit: Callable[[Variant, int, int, list[Run]], None]) -> None:
        """`edit` is called with the variant, the place, how many letters gave way, and
        what stands for them."""
        super().__init__(id="draft")
        self._edit = edit
        self._variant: Variant | None = None
        self._steady = 0
        self._left: dict[int, tuple[Variant, EditHistory, str]] = {}
        """What was done to each version that was left, by its id, and its text then."""

    def compose(self) -> ComposeResult:
        """The view and the editor, one of them visible."""
        yield DraftView("view")
        editor = DraftEditor("editor", self._spliced)
        editor.visible = False
        yield editor

    @property
    def view(self) -> DraftView:
        """The widget that shows words while they are written."""
        return self.query_one(DraftView)

    @property
    def editor(self) -> DraftEditor:
        """The widget in which the person edits."""
        return self.query_one(DraftEditor)

    @property
    def editing(self) -> bool:
        """Whether the editor is shown."""
        return self.editor.visible

    def show(self, variant: Variant | None, now: float) -> None:
        """Bring the pane up to date with `variant` as it is `now`."""
        if variant is not self._variant:
            if self.editing and self._variant is not None:
                left = self._variant, self.editor.history, self.editor.text
                self._left[id(self._variant)] = left
            self._variant, self._steady = variant, 0
            self._swap(self.view, self.editor)
        if variant is None:
            self.view.rewrite(0, [])
        if variant is None or self.editing:
            return
        if variant.writing:
            tail = variant.tail(self._steady, now)
            runs = [(legible(text).replace("\t", "    "), look) for text, look in tail]
            self.view.rewrite(self._steady, runs)
            self._steady = variant.steady()
        elif variant.text or variant.stopped:
            self.edit(variant)

    def edit(self, variant: Variant) -> None:
        """Let the person change the text, and undo what was done to it before."""
        self.editor.history = EditHistory(*_HISTORY)
        self.editor.show_runs(variant.runs())
        left = self._left.pop(id(variant), None)
        if left is not None and left[2] == self.editor.text:
            self.editor.history = left[1]
        shown = self.editor.runs()
        if shown != joined(variant.runs()):  # what is saved is what was seen
            self._edit(variant, 0, len(variant.text), shown)
        if variant.stretch is not None and variant.edited is None:
            self._mark(variant)
        row = None if self.view.following else self.view.scroll_y
        self._swap(self.editor, self.view)
        # The editor breaks its lines when it hears of its size, after the next layout.
        self.call_after_refresh(self.editor.call_later, self._scroll_editor, row)

    def selected_letters(self) -> tuple[int, int]:
        """Where the selection begins and ends, in letters of the text; without one, the
        cursor; the end of the text while it is written."""
        if self.editing:
            return self.editor.selected_letters()
        end = 0 if self._variant is None else len(self._variant.text)
        return end, end

    def _mark(self, variant: Variant) -> None:
        """Select what was written in the place of something, so that it can be written
        once more; behind what goes on from the cursor is the cursor."""
        end = min(variant.written_to, len(self.editor.text))
        begin = end
        if variant.request.instead_of:
            begin = min(end, sum(len(text) for text, _ in variant.before))
            begin += end - begin - len(self.editor.text[begin:end].lstrip())
        self.editor.select_letters(begin, end)

    def _scroll_editor(self, row: float | None) -> None:
        """Scroll to the row at which the person read; None: to the end."""
        if not self.editor.size.height and self.screen.is_current:
            # A text that was there at once is shown before the first layout.
            self.call_after_refresh(self.editor.call_later, self._scroll_editor, row)
        elif row is None:
            self.editor.scroll_cursor_visible(animate=False)
        else:
            self.editor.scroll_to(y=row, animate=False)

    def focus_text(self) -> None:
        """Let keys go to the text."""
        (self.editor if self.editing else self.view).focus()

    @property
    def letter(self) -> int | None:
        """How many letters stand before the cursor; None where there is none."""
        return self.editor.letter if self.editing else None

    def mark(self, start: int, end: int) -> None:
        """Show which letters are meant, if the editor is shown."""
        if self.editing:
            self.editor.select_letters(start, end)

    def unmark(self, letter: int | None) -> None:
        """Leave the cursor before what was marked, or break the line at `letter`."""
        if self.editing and letter is None:
            self.editor.move_cursor(self.editor.selection.start)
        elif self.editing and letter is not None:
            self.editor.select_letters(letter, letter)
            self.editor.insert("\n")

    def type(self, text: str, *, pasted: bool = False) -> None:
        """Insert `text`, which was typed or pasted into the view, if the editor is
        shown."""
        if self.editing:
            self.editor.focus()
            self.editor.insert_as("pasted" if pasted else "typed", text)

    def _spliced(self, at: int, removed: int, runs: list[Run]) -> None:
        if self._variant is not None and self.editing:
            self._edit(self._variant, at, removed, runs)

    def _swap(self, shown: Widget, hidden: Widget) -> None:
        had_focus = self.has_focus_within
        hidden.visible, shown.visible = False, True
        if had_focus:
            shown.focus()


class DraftView(ScrollView, can_focus=True):
    """Soft-wrapped words, each in the look of its state."""

    COMPONENT_CLASSES = {f"draft--{state}" for state in STATES} | {"draft--hint"}
    PAGE_TURN = 1 / 3
    """Scroll by this part of the page: calmer and cheaper than row by row."""

    class Asked(Message):
        """The person pressed Enter: about the last word."""

    class Typed(Message):
        """The person began to type into the text."""

        def __init__(self, text: str, *, pasted: bool = False) -> None:
            super().__init__()
            self.text = text
            self.pasted = pasted

    def __init__(self, name: str) -> None:
        super().__init__(id=name)
        self.texts: list[str] = []
        self.states: list[State] = []
        self.hint = ""
        self._starts: list[tuple[int, int]] = [(0, 0)]  # (word, offset) of each row
        self._strips: list[Strip | None] = [None]
        self.following = True

    @property
    def wrap_width(self) -> int:
        """The editor's width for text: it keeps cells for its cursor and a space."""
        return max(1, self.scrollable_content_region.width - 2)

    def rewrite(self, first: int, runs: Sequence[Run]) -> None:
        """Let `runs` be all words from `first` on, touching only what differs."""
        same = 0
        for text, (shown, _) in zip(self.texts[first:], runs, strict=False):
            if text != shown:
                break
            same += 1
        for word, (_, state) in enumerate(runs[:same], first):
            if self.states[word] != state:
                self.states[word] = state
                top, bottom = self._row_of(word), self._row_of(word + 1)
                self._strips[top : bottom + 1] = [None] * (bottom + 1 - top)
                self.refresh_lines(top, bottom + 1 - top)
        count = first + same
        if len(self.texts) > count:
            row = row_to_wrap(self.texts, self._starts, self._row_of(count))
            del self.texts[count:], self.states[count:]
            self._wrap(row)
        if len(runs) > same:
            self.texts += [text for text, _ in runs[same:]]
            self.states += [state for _, state in runs[same:]]
            self._wrap(len(self._starts) - 1)

    def set_hint(self, hint: str) -> None:
        """Show `hint` while there is no word."""
        if hint != self.hint:
            self.hint = hint
            if not self.texts:
                self._strips = [None] * len(self._starts)
                self.refresh()

    def _row_of(self, word: int) -> int:
        return max(0, bisect_right(self._starts, (word, 0)) - 1)

    def _wrap(self, row: int) -> None:
        """Wrap the words again from `row` on, and keep the last row in view."""
        before = len(self._starts)
        del self._starts[row + 1 :], self._strips[row:]
        self._starts += rows_after(self.texts, self._starts[row], self.wrap_width)
        self._strips += [None] * (len(self._starts) - row)
        self.refresh_lines(row, max(before, len(self._starts)) - row)
        # Keep the last row in view; pages are turned by a part at a time.
        rows, height = len(self._starts), self.scrollable_content_region.height
        bottom = self.virtual_size.height
        if rows <= height:
            bottom = height
        elif rows > bottom or rows < bottom - height:
            bottom = rows + int(height * self.PAGE_TURN)
        self.virtual_size = Size(self.scrollable_content_region.width, bottom)
        if self.following:
            self.scroll_end(animate=False, immediate=True)

    def render_line(self, y: int) -> Strip:
        """The row at `y` of the viewport."""
        width = self.scrollable_content_region.width
        row = y + int(self.scroll_offset.y)
        if not self.texts:
            style = self.get_component_rich_style("draft--hint")
            parts = self.hint.split("\n")
            lines = [line for part in parts for line in wrap(part, max(1, width))]
            line = lines[row] if row < len(lines) else ""
            hint = Strip([Segment(line, style)])
            return hint.adjust_cell_length(width, self.rich_style)
        if row >= len(self._starts):
            return Strip.blank(width, self.rich_style)
        if (strip := self._strips[row]) is None:
            strip = self._strips[row] = self._draw(row)
        return strip.adjust_cell_length(width, self.rich_style)

    def _draw(self, row: int) -> Strip:
        segments: list[Segment] = []
        word, offset = self._starts[row]
        ends = row + 1 < len(self._starts)
        last, cut = self._starts[row + 1] if ends else (len(self.texts), 0)
        while word < last or (word == last and cut):
            text = self.texts[word][offset : cut if word == last else None]
            style = self.get_component_rich_style(f"draft--{self.states[word]}")
            bare = text.lstrip(" ")  # the space before a word is never underlined
            segments.append(Segment(text[: len(text) - len(bare)], self.rich_style))
            segments.append(Segment(bare.rstrip("\n"), style))
            word, offset = word + 1, 0
        return Strip(segments).simplify()

    def on_resize(self) -> None:
        """Wrap all words to the new width."""
        self._wrap(0)

    def on_key(self, event: events.Key) -> None:
        """Post `Typed` for a printable key, and `Asked` for Enter."""
        if event.key == "enter":
            event.stop()
            self.post_message(self.Asked())
        elif event.is_printable and event.character:
            event.stop()
            self.post_message(self.Typed(event.character))

    def on_paste(self, event: events.Paste) -> None:
        """Post `Typed` for what is pasted."""
        event.stop()
        if event.text:
            self.post_message(self.Typed(event.text, pasted=True))

    def watch_scroll_y(self, old: float, new: float) -> None:
        """The person scrolled up: stop following."""
        super().watch_scroll_y(old, new)
        self.following = new >= self.max_scroll_y

    def notify_style_update(self) -> None:
        """Colours changed: draw all rows again."""
        self._strips = [None] * len(self._starts)
        super().notify_style_update()


Place = tuple[int, int]
"""A word's number and an offset into it."""


def rows_after(texts: Sequence[str], start: Place, width: int) -> list[Place]:
    """Where the rows after the one that opens at `start` begin.

    A row breaks behind its last space, or anywhere in a word longer than the row;
    spaces may hang over its end.
    """
    starts: list[Place] = []
    column = 0
    space: tuple[int, int, int] | None = None  # where the row may break, its column
    for word, offset, char in _letters(texts, start):
        size = 0 if char == "\n" else get_character_cell_size(char)
        column += size
        if char == "\n":
            starts.append((word, offset + 1))
            column, space = 0, None
        elif char == " ":
            space = (word, offset + 1, column)
        elif column > width:
            if space is not None:
                starts.append(space[:2])
                column, space = column - space[2], None
            if column > width:  # a word longer than the row
                starts.append((word, offset))
                column = size
    return starts


def row_to_wrap(texts: Sequence[str], starts: Sequence[Place], row: int) -> int:
    """The row from which to wrap when the text changes in `row`.

    A word cut short may fit on the row before the one it began in.
    """
    while row > 0 and not _after_space(texts, starts[row]):
        row -= 1
    return max(0, row - 1)


def _after_space(texts: Sequence[str], place: Place) -> bool:
    word, offset = place
    before = texts[word][:offset] if offset else ""
    while not before and word > 0:
        word -= 1
        before = texts[word]
    return not before or before[-1] in " \n"


def _letters(texts: Sequence[str], start: Place) -> Iterator[tuple[int, int, str]]:
    first, offset = start
    for word in range(first, len(texts)):
        for at in range(offset, len(texts[word])):
            yield word, at, texts[word][at]
        offset = 0
