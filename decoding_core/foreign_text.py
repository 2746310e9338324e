"""Text that is not ours, made fit to be shown.

A mail, a file's name, a server's answer, a token or a setting may hold characters that
steer a terminal (ESC, U+009B), let a line be read in another order than it is written,
or hide a part of it. `escaped` shows them as `\\x1b` or `\\u202e`, for names, paths and
errors; `legible` is for prose, `one_line` for titles; `escaped_json` for JSON lines.
Both programs call `gate_output` before anything is printed, so that a new command, a
traceback, a warning or a line of a library is safe without knowing of it.

Left alone is what some script needs: joiners and zero-width spaces beside a letter that
is not ASCII (emoji, Persian, Hindi, Khmer), variation selectors, soft hyphens, the
directional marks of Hebrew and Arabic, which change no order of letters.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO, cast

_STEERS = "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and new line, DEL, C1
_REORDERS = "\u202a-\u202e\u2066-\u2069"  # embeddings, overrides and isolates
_HIDES = (
    "\u2061-\u2065\u206a-\u206f\ufeff\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
"""Format characters without width that no text needs: tags can spell whole sentences
that nobody sees."""
_BREAKS = "\u2028\u2029"
_NO_TEXT = "\ud800-\udfff"
"""Halves of a surrogate pair; Python puts bytes that are no UTF-8 there."""
_JOINS = "\u180e\u200b-\u200d\u2060"
"""Without width; they join or part two letters of scripts other than Latin."""

_NEVER = _STEERS + _REORDERS + _HIDES + _BREAKS + _NO_TEXT
_SUSPECT = re.compile(f"[{_NEVER}{_JOINS}]")
_FOREIGN = re.compile(
    # The flags of England, Scotland and Wales are spelled with tags.
    "\U0001f3f4[\U000e0020-\U000e007e]{1,6}\U000e007f"
    f"|\r\n|[{_NEVER}]"
    f"|(?<=[\x00-\x7f{_NEVER}{_JOINS}])[{_JOINS}](?![^\x00-\x7f{_NEVER}{_JOINS}])"
)
_WHITE = re.compile(f"[\t\n\r\x0b\x0c\x1c-\x1e\x85{_BREAKS}]+")
_STANDS_OUT = re.compile(f"[{_STEERS}{_NO_TEXT}]")
_BYTES = range(0xDC80, 0xDD00)


def escaped(text: str) -> str:
    """`text` with every dangerous character as an escape that names it.

    Tabs and new lines stay. A byte of a file's name that is no UTF-8 reads `\\xff`.
    """
    return replaced(text, _escape)


def legible(text: str) -> str:
    """`text` as prose: U+FFFD for what steers, nothing for what has no width, and one
    kind of new line."""
    return replaced(text, _stand_in)


def one_line(text: str) -> str:
    """`legible` on one line: new lines, tabs and their like are spaces."""
    return legible(_WHITE.sub(" ", text))


def escaped_json(line: str) -> str:
    """The same JSON without a dangerous character: in strings they become `\\u009b`."""

    def escape(match: re.Match[str]) -> str:
        units = match[0].encode("utf-16-be", "surrogatepass").hex()
        return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))

    return _SUSPECT.sub(escape, line)


def replaced(text: str, stand_in: Callable[[str], str]) -> str:
    """`text` with `stand_in` of each dangerous character in its place."""
    if _SUSPECT.search(text) is None:
        return text

    def replace(match: re.Match[str]) -> str:
        found = match[0]
        if found == "\r\n":
            return "\n"
        return found if found[0] == "\U0001f3f4" else stand_in(found)

    return _FOREIGN.sub(replace, text)


def _escape(found: str) -> str:
    code = ord(found)
    if code in _BYTES:
        code -= 0xDC00
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _stand_in(found: str) -> str:
    if found == "\r" or found in _BREAKS:
        return "\n"
    return "\ufffd" if _STANDS_OUT.match(found) else ""


class GatedStream:
    """A text stream that escapes what is not ours; all but writing is the stream's own.

    It has no `buffer`, as bytes would pass by the gate: click, which wraps the buffer
    of a stream in ASCII anew, then uses the stream as it is.
    """

    def __init__(self, stream: TextIO) -> None:
        self.ungated = stream

    def write(self, text: str) -> int:
        """Write `text` escaped; the number of its characters."""
        self.ungated.write(escaped(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write each of `lines`, escaped."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name in ("buffer", "detach", "ungated"):
            raise AttributeError(f"a gated stream has no {name}")
        return getattr(self.ungated, name)


def ungated(stream: TextIO) -> TextIO:
    """The stream behind a gate, for our own colours and for data in files."""
    return stream.ungated if isinstance(stream, GatedStream) else stream


def gate_output() -> None:
    """Gate standard output and standard error for the rest of this process."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, GatedStream):
            setattr(sys, name, cast(TextIO, GatedStream(stream)))
