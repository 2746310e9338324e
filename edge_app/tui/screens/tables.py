"""Drawers with a table: all keys and looks, and the numbers of a draft."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table
from rich.text import Text

from edge_app.tui.keys import EVERY, key_of, keys_of, show_key
from edge_app.tui.screens.drawer import TextDrawer
from edge_app.tui.text import in_bytes
from edge_app.tui.writing import Writing

_LOOKS = (
    ("plain", "", "drafted on this device, checked, kept"),
    ("underlined", "underline", "redrawn after the checker refused a word"),
    ("bold", "bold", "held back; the checker read something else in its place"),
    ("bold, underlined", "bold underline", "a fact that is not from you"),
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
        keys = _table()
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


Row = tuple[str, str, str]


class NumbersDrawer(TextDrawer):
    """Shows each number with how it is computed."""

    NAME = "numbers"
    BESIDE = True
    TITLE = "This draft in numbers"

    def advance(self) -> None:
        """Show what has come since."""
        shown = _table()
        for name, value, reckoned in rows(self.writing):
            # Text, because a string would be markup.
            said = Text.assemble(value, (f"\n{reckoned}", "dim"))
            shown.add_row(Text(name, "bold"), said)
        self.say(shown, "#text")


def rows(writing: Writing) -> list[Row]:
    """Name, value and explanation of every number of the version on screen."""
    variant = writing.variant
    if variant is None:
        return [("no draft yet", "", "")]
    blocks, origins = variant.verified, [token.origin for token in variant.settled]
    drafted = sum(block.drafted for block in blocks)
    accepted = sum(block.accepted for block in blocks)
    words = "{kept} / {replaced} / {typed}".format(**variant.word_counts())
    tokens, trips = variant.speed(writing.clock()), variant.round_trips()
    trip, slow = (f"{one:.0f} ms" for one in trips) if trips else ("–", "–")
    up = in_bytes(sum(sent.size for sent in writing.traffic.sent))
    down = in_bytes(sum(received.size for received in writing.traffic.received))
    settings = variant.request.settings
    threshold = settings.threshold
    privacy: list[Row] = []
    if variant.spent is not None:
        limit = variant.spent.limit
        of = "" if limit is None else f" of {limit:g}"
        explained = "how much likelier its drafts are with your letters than without"
        privacy = [("told", f"{variant.spent.total:.1f}{of} nats", explained)]
    return [
        ("kept", f"{accepted / drafted:.1%}" if drafted else "–",
         "drafted tokens that the checker let stand / drafted tokens"),
        ("drafted", str(drafted), "tokens of the blocks that were verified"),
        ("in vain", str(sum(block.in_vain for block in blocks)),
         "tokens drafted behind a refused one"),
        ("redrawn", str(origins.count("recovered")),
         "tokens drawn anew after a refusal"),
        ("added", str(origins.count("bonus")),
         "tokens drawn with the checker after a full block"),
        ("alone", str(origins.count("local")),
         "tokens the device wrote without the checker"),
        ("words", words, "drafted here / redrawn with the checker / typed by you"),
        ("speed", "–" if tokens is None else f"{tokens:.1f} tokens/s",
         "settled tokens / time since the draft began"),
        ("round trip", trip, "median time from a block to its verdict"),
        ("slow trip", slow, "one of twenty takes longer"),
        ("rounds", str(len(blocks)), "blocks that were verified"),
        ("up", up, "bytes handed to the socket for this draft, headers too"),
        ("down", down, "bytes that came back"),
        *privacy,
        ("method", settings.method, "how the two models are joined"),
        ("threshold", threshold if threshold == "auto" else f"{threshold:g}",
         "a word stays while the checker likes it this much as well as the small"),
        ("strength", f"{settings.strength:g}", "how strongly the letters count"),
        ("temperature", f"{settings.temperature:g}", "0 always takes the likeliest"),
        ("seed", str(settings.seed), "another version takes the next one"),
    ]  # fmt: skip


def _table() -> Table:
    """A table of two columns without lines."""
    made = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    made.add_column()
    made.add_column()
    return made
