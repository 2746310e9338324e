"""The footer: on a narrow screen keys that matter less give way to the palette's."""

from __future__ import annotations

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

_RANKS = {
    "app.drawer('compare')": 3,
    "app.drawer('sources')": 2,
    "app.drawer('sent')": 2,
    "again": 1,
    "save": 1,
}
"""What goes first has the highest."""
_ROOMY = 100
"""Columns from which on keys stand two spaces apart."""


class KeyLine(Footer):
    """Keys with their ranks as classes, which the style sheet hides."""

    _shown: object = None
    """The keys as they stand there."""

    def compose(self) -> ComposeResult:
        """Textual's keys, ranked."""
        keys: Iterable[Widget] = super().compose()
        for key in keys:
            if isinstance(key, FooterKey):
                # It has no styles yet that this could change.
                key.add_class(f"-rank{_RANKS.get(key.action, 0)}", update=False)
            yield key

    def on_mount(self) -> None:
        """Show the keys at once: Textual waits for a change, or for the window's focus,
        of which a browser tells late."""
        self.bindings_changed(self.screen)

    def bindings_changed(self, screen: Screen[object]) -> None:
        """Show the keys that are bound now, whether the window has the focus or not."""
        self._bindings_ready = True
        if self.is_attached and screen is self.screen:
            self.call_after_refresh(self._show_keys)

    async def _show_keys(self) -> None:
        """Make the line anew if other keys are to stand there: nearly every key that is
        pressed asks for that."""
        keys = [
            (one.binding, self.app.get_key_display(one.binding), one.enabled)
            for one in self.screen.active_bindings.values()
            if one.binding.show
        ]
        if keys != self._shown:
            self._shown = keys
            await self.recompose()

    def on_resize(self) -> None:
        """Put keys closer together where there is little room."""
        self.compact = self.size.width < _ROOMY
