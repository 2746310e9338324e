"""What terminals send and Textual 8 misreads, put right before an app is run.

Textual reads Alt as older terminals send it, ESC and a key, as text; ESC CR as Enter;
what stands behind an ESC in a paste as keys, so a text from elsewhere could quit the
app; and a byte that is no UTF-8 ends its input thread. Of two keys that come together
the second may act first: see `KeyQueue`.
"""

from __future__ import annotations

import codecs
import re
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.color import Color
from textual.dom import DOMNode
from textual.filter import LineFilter
from textual.keys import _character_to_key
from textual.message import Message
from textual.widgets import Input, TextArea

from decoding_core.foreign_text import replaced

_BEGINS, _ENDS = "\x1b[200~", "\x1b[201~"  # what a terminal sends around a paste


WORD_KEYS = {"alt+b": "ctrl+left", "alt+f": "ctrl+right"}
"""Keys that move by a word in a shell, and those that do in a text field."""
_BEGIN_SEQUENCES = "[O"
"""Behind an ESC these begin other keys: Alt with one of them is known by a pause."""
_ALT_WITH_TEXT = re.compile(r"\x1b\[(\d+)(?::\d*)*;3(?::[12])?;(\d+)u")
"""A key with Alt alone, and what it types, as kitty's protocol has them."""


class _Key(NamedTuple):
    """A key that Textual's table of sequences lacks or has otherwise."""

    value: str


def put_right() -> None:
    """Read ESC with a character as Alt with its key, invalid bytes as the replacement
    character, and no part of a paste as a key."""
    table: dict[str, object] = ANSI_SEQUENCES_KEYS  # type: ignore[assignment]
    for sequence in [one for one in table if len(one) == 2 and one[1].isprintable()]:
        del table[sequence]  # a sign, or an editing key of one terminal
    for character in map(chr, range(32, 127)):
        if character not in _BEGIN_SEQUENCES:
            table["\x1b" + character] = (_Key(_with_alt(character)),)
    table["\x1b\r"] = (_Key("alt+enter"),)
    table["\x1b\x7f"] = (_Key("alt+backspace"),)
    XTermParser.feed = _feed  # type: ignore[assignment,method-assign]
    XTermParser._sequence_to_key_events = _key_events  # type: ignore[assignment,method-assign]
    if sys.platform != "win32":
        from textual.drivers import linux_driver

        linux_driver.getincrementaldecoder = _forgiving_decoder  # type: ignore[assignment,attr-defined]


def _with_alt(character: str) -> str:
    """The name of Alt with the key of `character`, as Textual names others."""
    name = _character_to_key(character)
    return f"alt+shift+{name.lower()}" if character.isupper() else f"alt+{name}"


_textual_key_events = XTermParser._sequence_to_key_events


def _key_events(
    parser: XTermParser, sequence: str, alt: bool = False
) -> Iterable[events.Key]:
    """Textual's, but Alt with a key is a command: no field may type its character."""
    told = _ALT_WITH_TEXT.fullmatch(sequence)
    alt = alt or (told is not None and told[1] == told[2])
    for event in _textual_key_events(parser, sequence, alt):
        if alt and event.character is not None and event.character.isprintable():
            yield events.Key(_with_alt(event.character), None)
        else:
            yield event


class InertPastes:
    """Passes on what a terminal sends, with U+FFFD for each ESC inside a paste."""

    def __init__(self) -> None:
        self._pasting = False
        self._before = ""
        """The last letters outside a paste: it may begin with them."""
        self._held = ""
        """The last letters of a piece inside a paste: it may end with them."""

    def take(self, piece: str) -> str:
        """What of `piece`, and of what was held, can be read now."""
        out, left, self._held = "", self._held + piece, ""
        while left:
            if self._pasting:
                inside, end, left = left.partition(_ENDS)
                if not end:
                    self._held = _begun(inside, _ENDS)
                    inside = inside.removesuffix(self._held)
                out += inside.replace("\x1b", "\ufffd") + end
                self._pasting = not end
            else:
                known = len(self._before)
                outside, begin, left = (self._before + left).partition(_BEGINS)
                out += (outside + begin)[known:]
                self._pasting = bool(begin)
                self._before = "" if begin else _begun(outside, _BEGINS)
        return out


def _begun(text: str, sequence: str) -> str:
    """The longest end of `text` with which `sequence` begins."""
    ends = (sequence[:length] for length in range(len(sequence) - 1, 0, -1))
    return next((end for end in ends if text.endswith(end)), "")


_textual_feed = XTermParser.feed


def _feed(parser: XTermParser, data: str) -> Iterable[Message]:
    """Textual's, with inert pastes. Nothing at all means that the input has ended."""
    pastes: InertPastes = parser.__dict__.setdefault("inert_pastes", InertPastes())
    read = pastes.take(data)
    return () if data and not read else _textual_feed(parser, read)


class KeyQueue:
    """Hands keys and pastes on one by one, each when the one before has done its work.

    Textual gives a letter at once to the focused widget, but obeys a bound key when it
    comes back to the app through the queues of all that widget's ancestors: what was
    typed behind a key that opens a dialog went into the page below.
    """

    def __init__(
        self, app: App[None], hand_on: Callable[[events.Event], Awaitable[None]]
    ) -> None:
        """`hand_on` is what Textual does with an event."""
        self._app = app
        self._hand_on = hand_on
        self._waiting: deque[events.Event] = deque()
        self._following = False
        """Whether the next event has to wait."""
        self._letters = False
        """Whether letters are on their way, which nothing follows."""

    async def take(self, event: events.Event) -> None:
        """Hand a key or a paste on, or keep it until it is its turn."""
        if self._following:
            self._waiting.append(event)
            return
        # One letter after the other comes to the same field in order, and at no cost.
        letter = isinstance(event, events.Key) and event.is_printable
        if letter and isinstance(self._app.focused, Input | TextArea):
            self._letters = True
            await self._hand_on(event)
        elif self._letters:
            self._waiting.appendleft(event)
            self._follow(self._way(), again=False)
        else:
            way = self._way()
            await self._hand_on(event)
            self._follow(way, again=False)

    def _way(self) -> list[DOMNode]:
        """What has the focus, and all through which its keys come back to the app."""
        return (self._app.focused or self._app.screen).ancestors_with_self

    def _follow(self, way: list[DOMNode], *, again: bool) -> None:
        """Follow an event through the queues it went; `again`: this was done before."""
        self._following, self._letters = True, False
        target, left = way[0], deque(way)

        async def go_on() -> None:
            if left:
                move()
            else:
                await self._arrived(target, again=again)

        def move() -> None:
            # A widget that is being removed takes nothing more; its parent does.
            while left and not left.popleft().call_later(go_on):
                pass

        move()

    async def _arrived(self, target: DOMNode, *, again: bool) -> None:
        """Follow once more, as the event may have posted something or moved the focus;
        then take the next."""
        way = self._way()
        if way[0] is not target or not again:
            self._follow(way, again=way[0] is target)
            return
        self._following = False
        while self._waiting and not self._following:
            await self.take(self._waiting.popleft())


def _forgiving_decoder(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
    def make() -> codecs.IncrementalDecoder:
        return codecs.getincrementaldecoder(encoding)(errors="replace")

    return make


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


class PlainSigns(LineFilter):
    """Draws a letter of ASCII for each sign of ours, as many columns wide."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The row with signs that every terminal has."""
        del background
        return [
            Segment(text.translate(_TABLE), style, control)
            for text, style, control in segments
        ]
