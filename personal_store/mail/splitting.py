"""A mailbox file to its messages, as a stream: memory stays small whatever the file.

Python's own mailbox module splits at every line that starts with 'From ', which tears
prose apart. Here such a line must also carry a date and be followed by a header.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

MAX_MESSAGE = 16 * 1024 * 1024
"""Bytes of one message that are kept; the rest, attachments, is passed over."""

_BLOCK = 1024 * 1024
_LOOKAHEAD = 2_048
_CANDIDATE = b"\nFrom "
_TIME = rb"\d{1,2}:\d{2}"
_YEAR = rb"\b(?:19|20)\d{2}\b"
_DATED = re.compile(rb"From .*(?:%b.*%b|%b.*%b)" % (_TIME, _YEAR, _YEAR, _TIME))
_DAY = rb"(?:[A-Z][a-z]{2} +\d{1,2}|\d{1,2} +[A-Z][a-z]{2})"
_FULL = re.compile(rb"From \S+ +(?:[A-Z][a-z]{2},? +)?%b.*%b" % (_DAY, _TIME))
_HEADER = re.compile(rb"[!-9;-~]+[ \t]*:|>?From ")
_BLANK = re.compile(rb"\r?\n|\Z")
_ESCAPED = re.compile(rb"\n>(>*From )")


@dataclass(frozen=True, slots=True)
class RawMessage:
    """One message of a mailbox, as it was before it was put there."""

    envelope: str
    """The 'From ' line."""
    content: bytes
    begin: int
    end: int
    """Offsets in the file."""


def looks_like_mailbox(head: bytes) -> bool:
    """Whether a file starting like this is an mbox."""
    line, _, following = _trimmed(head).partition(b"\n")
    return line.startswith(b"From ") and bool(
        _DATED.match(line) or _HEADER.match(following)
    )


def split(stream: IO[bytes], start: int = 0) -> Iterator[RawMessage]:
    """The messages from an offset at which one begins."""
    for message in _messages(stream, start, keeps=True):
        yield _taken_out(b"".join(message.kept), message.begin, message.end)


def begins_message(stream: IO[bytes], position: int) -> bool:
    """Whether a message that `split` finds begins at this offset."""
    stream.seek(0)
    dated = _DATED.match(_first_line(stream)) is not None
    first = max(0, position - 4)
    stream.seek(first)
    window = stream.read(4 + _LOOKAHEAD)
    return window[position - first :].startswith(b"From ") and _begins_message(
        window, position - first, dated
    )


def stretches(path: Path, start: int = 0) -> Iterator["Stretch"]:
    """Where the messages of a mailbox file lie, for other processes to read."""
    with path.open("rb") as stream:
        for message in _messages(stream, start, keeps=False):
            yield Stretch(str(path.absolute()), message.begin, message.end)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Where a message lies in a mailbox file."""

    path: str
    begin: int
    end: int

    def message(self) -> RawMessage:
        """The message, read now; raises OSError."""
        # A file object takes twice as long to open.
        file = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            os.lseek(file, self.begin, os.SEEK_SET)
            data = os.read(file, min(self.end - self.begin, MAX_MESSAGE))
        finally:
            os.close(file)
        return _taken_out(data, self.begin, self.end)


@dataclass(slots=True)
class _Growing:
    """A message that is being found; keeps only so much of it, or nothing."""

    begin: int
    end: int
    blank: bool = True
    kept: list[bytes] = field(default_factory=list)

    def add(self, piece: bytes, *, keeps: bool) -> None:
        room = self.begin + MAX_MESSAGE - self.end
        if keeps and room > 0:
            self.kept.append(piece[:room])
        self.end += len(piece)
        self.blank = self.blank and (not piece or piece.isspace())


def _messages(stream: IO[bytes], start: int, *, keeps: bool) -> Iterator[_Growing]:
    stream.seek(0)
    dated = _DATED.match(_first_line(stream)) is not None
    stream.seek(start)
    message = _Growing(start, start)
    for piece, starts_message in _pieces(stream, dated):
        if starts_message and message.end > message.begin:
            yield message
            message = _Growing(message.end, message.end)
        message.add(piece, keeps=keeps)
    if not message.blank:
        yield message


def _taken_out(data: bytes, begin: int, end: int) -> RawMessage:
    """What lies there, as it was before it was put into a mailbox."""
    data = _trimmed(data)
    if b">From " in data:
        data = _ESCAPED.sub(rb"\n\1", data)
    body = data.find(b"\n") + 1 or len(data)
    last = len(data) - data.endswith(b"\n")
    last -= data.endswith(b"\r", 0, last)
    line = data[: min(body, 500)].decode("utf-8", "replace").strip()
    return RawMessage(line, data[body:last], begin, end)


def _pieces(stream: IO[bytes], dated: bool) -> Iterator[tuple[bytes, bool]]:
    """The stream in pieces, each with whether it begins a message."""
    buffer, begins = b"", True
    scanned = 0
    while True:
        block = stream.read(_BLOCK)
        buffer += block
        safe = len(buffer) - _LOOKAHEAD if block else len(buffer)
        done = 0
        for at in _candidates(buffer, scanned, safe):
            if _begins_message(buffer, at, dated):
                yield buffer[done:at], begins
                done, begins = at, True
        if not block:
            break
        # Keep a few bytes before the unscanned rest: a blank line may stand there.
        cut = max(done, safe - 8)
        if cut > done:
            yield buffer[done:cut], begins
            begins = False
        buffer, scanned = buffer[cut:], max(0, safe - cut - 1)
    yield buffer[done:], begins


def _candidates(buffer: bytes, start: int, end: int) -> Iterator[int]:
    """Where a line starts with 'From ', up to and with the end."""
    at = buffer.find(_CANDIDATE, start) + 1
    while 0 < at <= end:
        yield at
        at = buffer.find(_CANDIDATE, at) + 1


def _begins_message(buffer: bytes, at: int, dated: bool) -> bool:
    """Whether the 'From ' at this place separates two messages."""
    window = buffer[at : at + _LOOKAHEAD]
    line, newline, following = window.partition(b"\n")
    whole = _FULL.match(line) is not None
    if dated and not _DATED.match(line):
        return False
    if not newline and len(window) == _LOOKAHEAD:
        return False
    if not _HEADER.match(following) and not (_BLANK.match(following) and whole):
        return False
    after_blank = buffer[max(0, at - 4) : at].replace(b"\r", b"").endswith(b"\n\n")
    return after_blank or whole


def _first_line(stream: IO[bytes]) -> bytes:
    return _trimmed(stream.read(_LOOKAHEAD)).partition(b"\n")[0]


def _trimmed(data: bytes) -> bytes:
    """The data without a byte order mark and blank lines at its start."""
    return data.lstrip(b"\xef\xbb\xbf\r\n\t ")
