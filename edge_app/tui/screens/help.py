"""Keys, and what the looks mean."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text
from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from edge_app.tui.keys import EVERY, key_of, keys_of, show_key
from edge_app.tui.screens.drawer import Drawer

_LOOKS = (
    ("plain", "", "drafted on this device, checked, kept"),
    ("underlined", "underline", "redrawn after the checker refused a word"),
    ("bold", "bold", "held back; the checker read something else in its place"),
    ("slanted", "italic", "waiting for the checker; may still change"),
    ("struck", "strike", "just refused; gone in a moment"),
)
_ABOUT = (
    "Your letters stay on this device. Your request and the drafted words go to the "
    "checker, a server that you run. Unless it is off, the guard holds back names, "
    "numbers and phrases of your letters. {sent} shows every byte. {offline} does "
    "without the checker.\n\n"
    "Tab moves between the brief and the text. {palette} lists every action. {quit} "
    "leaves; the draft is there again at the next start.\n"
)


class HelpDrawer(Drawer):
    """All keys in one table."""

    NAME = "help"
    TITLE = "Keys"

    def contents(self) -> Iterable[Widget]:
        """The keys, the looks, and what goes where."""
        keys = _table()
        for name, action in EVERY.items():
            shown = " ".join(map(show_key, keys_of(name)))
            said = f"{action.description}: {action.tooltip}"
            keys.add_row(Text(shown, "bold"), said)
        looks = _table()
        looks.add_row("", "")
        for name, look, meaning in _LOOKS:
            looks.add_row(Text(name, look), meaning)
        looks.add_row("", "")
        named = {name: key_of(name) for name in ("sent", "offline", "palette", "quit")}
        parts = (keys, looks, _ABOUT.format(**named))
        yield VerticalScroll(*(Static(part, markup=False) for part in parts))

    def on_mount(self) -> None:
        """Focus the scrolling box, so that arrows scroll it."""
        self.query_one(VerticalScroll).focus()


def _table() -> Table:
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(width=26)
    table.add_column()
    return table
