"""Borders and signs in letters that every terminal has."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

_SIGNS = {
    "…": ".", "·": "-", "●": "*", "○": "o", "✗": "x", "→": ">", "←": "<", "↑": "^",
    "↓": "v", "↵": "/", "–": "-", "—": "-", "“": '"', "”": '"', "„": '"', "‘": "'",
    "’": "'", "▶": ">", "▼": "v", "▲": "^", "✓": "v", "•": "*", "\u00a0": " ",
}  # fmt: skip
_LINES = {
    **dict.fromkeys("─━┄┅┈┉╌╍═╴╶╸╺╼╾", "-"),
    **dict.fromkeys("│┃┆┇┊┋╎╏║╵╷╹╻╽╿", "|"),
    **dict.fromkeys("╱", "/"),
    **dict.fromkeys("╲", "\\"),
}
_TABLE: dict[int, str] = {
    **dict.fromkeys(range(0x2500, 0x2580), "+"),  # corners and crossings
    **dict.fromkeys(range(0x2580, 0x25A0), "#"),  # blocks and half blocks
    **{ord(sign): plain for sign, plain in {**_SIGNS, **_LINES}.items()},
    **{ord(sign): " " for sign in "▁▔▏▕"},
}


def plain(text: str) -> str:
    """`text` with a letter of ASCII for each sign of ours, as many columns wide."""
    return text.translate(_TABLE)


class PlainSigns(LineFilter):
    """Draws every row so."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The row with signs that every terminal has."""
        del background
        return [
            Segment(plain(text), style, control)
            if not text.isascii()
            else Segment(text, style, control)
            for text, style, control in segments
        ]
