"""A mailbox file to its messages, as a stream: memory stays small whatever the file.

Python's own mailbox module splits at every line that starts with 'From ', which tears
prose apart. Here such a line must also carry a date and be followed by a header.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

MAX_MESSAGE = 16 * 1024 * 1024
"""Bytes of one message that are kept; the rest, attachments, is passed over."""

_BLOCK = 1024 * 1024
_LOOKAHEAD = 2_048
_CANDIDATE = re.compile(rb"\nFrom ")
_TIME = rb"\d{1,2}:\d{2}"
_YEAR = rb"\b(?:19|20)\d{2}\b"
_DATED = re.compile(rb"From .*(?:%b.*%b|%b.*%b)" % (_TIME, _YEAR, _YEAR, _TIME))
_DAY = rb"(?:[A-Z][a-z]{2} +\d{1,2}|\d{1,2} +[A-Z][a-z]{2})"
_FULL = re.compile(rb"From \S+ +(?:[A-Z][a-z]{2},? +)?%b.*%b" % (_DAY, _TIME))
_HEADER = re.compile(rb"[!-9;-~]+[ \t]*:|>?From ")
_BLANK = re.compile(rb"\r?\n|\Z")
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)


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
    stream.seek(0)
    dated = _DATED.match(_first_line(stream)) is not None
    stream.seek(start)
    message = _Growing(start)
    for piece, starts_message in _pieces(stream, dated):
        if starts_message and message.length:
            yield message.finished()
            message = _Growing(message.begin + message.length)
        message.add(piece)
    if message.length and not message.is_blank():
        yield message.finished()


@dataclass(slots=True)
class _Growing:
    """A message that is being read; keeps only so much of it."""

    begin: int
    length: int = 0
    kept: list[bytes] = field(default_factory=list)

    def add(self, piece: bytes) -> None:
        room = MAX_MESSAGE - self.length
        if room > 0:
            self.kept.append(piece[:room])
        self.length += len(piece)

    def is_blank(self) -> bool:
        return not b"".join(self.kept).strip()

    def finished(self) -> RawMessage:
        envelope, _, content = _trimmed(b"".join(self.kept)).partition(b"\n")
        content = content.removesuffix(b"\n").removesuffix(b"\r")
        if b">From " in content:
            content = _ESCAPED.sub(rb"\1", content)
        line = envelope[:500].decode("utf-8", "replace").strip()
        return RawMessage(line, content, self.begin, self.begin + self.length)


def _pieces(stream: IO[bytes], dated: bool) -> Iterator[tuple[bytes, bool]]:
    """The stream in pieces, each with whether it begins a message."""
    buffer, begins = b"", True
    scanned = 0
    while True:
        block = stream.read(_BLOCK)
        buffer += block
        safe = len(buffer) - _LOOKAHEAD if block else len(buffer)
        done = 0
        for match in _CANDIDATE.finditer(buffer, scanned):
            at = match.start() + 1
            if at > safe:
                break
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
    """Without a byte order mark and blank lines at the start."""
    return data.lstrip(b"\xef\xbb\xbf\r\n\t ")
