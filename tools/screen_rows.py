"""What a screen of the app shows, as rows of text with their looks.

Nothing of it depends on how fast the machine is, on fonts or on a terminal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rich.color import Color, ColorSystem
from rich.style import Style
from textual.app import App


class Look(NamedTuple):
    """Colours as `#rrggbb`, empty for the terminal's own, and what is set besides."""

    ink: str
    ground: str
    marks: str = ""

    def __str__(self) -> str:
        ground = f"on {self.ground}" if self.ground else ""
        return " ".join(filter(None, (self.ink, ground, self.marks))) or "plain"


@dataclass(frozen=True, slots=True)
class Row:
    """Pieces of one row from left to right, each of one look."""

    pieces: tuple[tuple[str, Look], ...]

    @property
    def text(self) -> str:
        """The characters without their looks."""
        return "".join(text for text, _ in self.pieces)


def rows(app: App, *, colours: int = 1 << 24) -> list[Row]:
    """The rows of the top screen, as they go to the driver."""
    made = []
    for strip in app.screen._compositor.render_strips():
        pieces: list[tuple[str, Look]] = []
        for text, style, _ in strip:
            look = look_of(style, colours)
            if pieces and pieces[-1][1] == look:
                text = pieces.pop()[0] + text
            pieces.append((text, look))
        made.append(Row(tuple(pieces)))
    return made


def look_of(style: Style | None, colours: int = 1 << 24) -> Look:
    """What a terminal with this many colours makes of a style."""
    style = style or Style.null()
    marks = [
        name
        for name in ("bold", "dim", "italic", "underline", "strike")
        if getattr(style, name)
    ]
    ink, ground = style.color, style.bgcolor
    if style.reverse:
        marks.append("reverse")
    return Look(_name(ink, colours), _name(ground, colours), " ".join(marks))


def _name(colour: Color | None, colours: int) -> str:
    if colour is None or colour.is_default:
        return ""
    if colours == 256:
        return str(colour.downgrade(ColorSystem.EIGHT_BIT).number)
    return colour.name if colour.triplet is None else colour.triplet.hex
