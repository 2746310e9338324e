"""A text area that leaves the function keys to the page."""

from __future__ import annotations

from textual import events
from textual.widgets import TextArea


class PageText(TextArea):
    """Soft-wrapped, without border, without a bar on the cursor's line."""

    def __init__(self, text: str, name: str, placeholder: str = "") -> None:
        super().__init__(
            text, id=name, soft_wrap=True, compact=True, placeholder=placeholder
        )
        self.highlight_cursor_line = False
        self.cursor_blink = False
        self._undoing = False
        """Whether the last key was to undo."""

    def on_key(self, event: events.Key) -> None:
        """Note whether undoing goes on."""
        self._undoing = self._undoing and event.key == "ctrl+z"

    def on_resize(self) -> None:
        """Be laid out anew once more: this width may wrap to another height, and what
        is asked for in the middle of a layout is dropped."""
        self.call_after_refresh(self.refresh, layout=True)

    def action_undo(self) -> None:
        """Undo; nothing else is done by the same key next."""
        self._undoing = True
        super().action_undo()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """F6 and F7 select a line or all in a TextArea; here they are the page's. So is
        ^Z where nothing is to be undone, unless it was pressed to undo."""
        if action in ("select_line", "select_all"):
            return False
        if action == "undo" and not (self._undoing or self.history._undo_stack):
            return False
        return super().check_action(action, parameters)
