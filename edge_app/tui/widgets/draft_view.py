"""A view of words that stream in, the last of them still in flight.

Each row is a strip that is drawn once; a change wraps again from its own row on, so
that an update costs the same in a long text as in a short one (docs/log.md).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from textwrap import wrap

from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from edge_app.tui.runs import STATES, Run, State
from edge_app.tui.words.wrap import row_to_wrap, rows_after


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
