"""The last gate before the terminal: what any widget draws passes it.

Textual draws a screen of strips of text, and its own sequences lie outside of them. So
what steers a terminal is taken out of the strips, whichever widget made them. Each
character gives way to as many cells as the layout gave it, mostly none; where a text
is to show that something was there, `foreign_text.legible` has already done it.
"""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from decoding_core.foreign_text import replaced

_NOT_IN_A_ROW = str.maketrans("", "", "\t\n")


class ForeignText(LineFilter):
    """Lets no character of data move the cursor or reach the terminal as a command."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """`segments` of a row, each as wide as before."""
        del background
        gated = []
        for segment in segments:
            shown = replaced(segment.text, lambda found: "\ufffd" * cell_len(found))
            shown = shown.translate(_NOT_IN_A_ROW)
            same = shown == segment.text
            gated.append(segment if same else Segment(shown, segment.style))
        return gated
