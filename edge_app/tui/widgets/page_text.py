"""A text area that leaves the function keys to the page."""

from __future__ import annotations

from textual.widgets import TextArea


class PageText(TextArea):
    """Soft-wrapped, without border, without a bar on the cursor's line."""

    def __init__(self, text: str, name: str, placeholder: str = "") -> None:
        super().__init__(
            text, id=name, soft_wrap=True, compact=True, placeholder=placeholder
        )
        self.highlight_cursor_line = False
        self.cursor_blink = False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """F6 and F7 select a line or all in a TextArea; here they are the page's."""
        if action in ("select_line", "select_all"):
            return False
        return super().check_action(action, parameters)
