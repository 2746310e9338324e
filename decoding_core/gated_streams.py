"""Standard output and standard error that let no foreign character steer a terminal.

Both programs put them in place before anything is printed, so that a new command, a
traceback, a warning or a line of a library is safe without knowing of it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TextIO, cast

from decoding_core.foreign_text import escaped


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
    """The stream behind a gate, for our own colours and for data that goes into a file;
    whoever writes to it answers for what is written."""
    return stream.ungated if isinstance(stream, GatedStream) else stream


def gate_output() -> None:
    """Gate standard output and standard error for the rest of this process."""
    sys.stdout, sys.stderr = _gated(sys.stdout), _gated(sys.stderr)


def _gated(stream: TextIO) -> TextIO:
    if isinstance(stream, GatedStream):
        return stream
    return cast(TextIO, GatedStream(stream))
