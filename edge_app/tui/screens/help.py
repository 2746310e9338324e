"""Keys, and what the looks mean."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text

from edge_app.tui.keys import EVERY, key_of, keys_of, show_key
from edge_app.tui.screens.drawer import TextDrawer, table

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


class HelpDrawer(TextDrawer):
    """All keys in one table."""

    NAME = "help"
    TITLE = "Keys"

    def advance(self) -> None:
        """Show the keys, the looks, and what goes where."""
        keys = table()
        keys.columns[0].width = 26
        for name, action in EVERY.items():
            shown = " ".join(map(show_key, keys_of(name)))
            said = f"{action.description}: {action.tooltip}"
            keys.add_row(Text(shown, "bold"), said)
        keys.add_row("", "")
        for name, look, meaning in _LOOKS:
            keys.add_row(Text(name, look), meaning)
        keys.add_row("", "")
        named = {name: key_of(name) for name in ("sent", "offline", "palette", "quit")}
        self.say(Group(keys, Text(_ABOUT.format(**named))), "#text")
