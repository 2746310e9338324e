"""The page's text: a view while it is written, an editor afterwards."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.document._history import EditHistory
from textual.widget import Widget

from decoding_core.foreign_text import legible
from edge_app.tui.runs import Run, joined
from edge_app.tui.variant import Variant
from edge_app.tui.widgets.draft_editor import DraftEditor
from edge_app.tui.widgets.draft_view import DraftView

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
