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

from personal_store.mail.mime import is_swapped, with_plain_ends

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
_ALONE = re.compile(rb"(\n(?!>)[^\n]*\n)>(?=From [^\n]*(?:\n(?!>)|\Z))")
_QUOTING = re.compile(rb"\n>(?!>*From )[^ >\r\n]")
_END_OF_HEADERS = re.compile(rb"\n\r*\n")
_HEADERS = 65_536  # bytes of headers that are waited for
# A pattern that ignores the case takes longer than three searches.
_LENGTHS = (b"\nContent-Length:", b"\nContent-length:", b"\ncontent-length:")
_LENGTH = re.compile(rb"[ \t]*(\d{1,9})[ \t]*\r*\n")


@dataclass(frozen=True, slots=True)
class RawMessage:
    """One message of a mailbox, as it was before it was put there."""

    envelope: str  # the 'From ' line
    content: bytes
    begin: int
    end: int  # offsets in the file


def looks_like_mailbox(head: bytes) -> bool:
    """Whether a file starting like this is an mbox."""
    line, _, following = with_plain_ends(_trimmed(head)).partition(b"\n")
    return line.startswith(b"From ") and bool(
        _DATED.match(line) or _HEADER.match(following)
    )


def split(stream: IO[bytes], start: int = 0) -> Iterator[RawMessage]:
    """The messages from an offset at which one begins."""
    for message in _messages(stream, start, keeps=True):
        yield _taken_out(b"".join(message.kept), message.begin, message.end)


def begins_message(stream: IO[bytes], position: int) -> bool:
    """Whether a message that `split` finds begins at this offset."""
    opening = _Opening.of(stream)
    at = min(position, 4)
    stream.seek(position - at)
    window = opening.read(stream)
    begins = window.startswith(b"From ", at)
    return begins and _begins_message(window, at, opening.dated)


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
    """A message that is being found; keeps its first bytes, or nothing."""

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


@dataclass(frozen=True, slots=True)
class _Opening:
    """What the first lines of a mailbox say about all."""

    dated: bool  # whether a date stands in the lines that separate messages
    returns: bool  # whether lines end with CR alone, as those of old Macs
    swapped: bool  # whether lines end with LF CR

    @classmethod
    def of(cls, stream: IO[bytes]) -> "_Opening":
        stream.seek(0)
        head = _trimmed(stream.read(_LOOKAHEAD))
        lone = head.count(b"\r") - head.count(b"\r\n")
        line = with_plain_ends(head).partition(b"\n")[0]
        return cls(
            _DATED.match(line) is not None, lone > head.count(b"\n"), is_swapped(head)
        )

    def read(self, stream: IO[bytes]) -> bytes:
        """The next block, with as many bytes as it has in the file."""
        block = stream.read(_BLOCK)
        if self.swapped:
            block += stream.read(1) if block.endswith(b"\n") else b""
            block = block.replace(b"\n\r", b"\r\n")
        if self.returns:
            block = block.replace(b"\r\n", b" \n").replace(b"\r", b"\n")
        return block


def _messages(stream: IO[bytes], start: int, *, keeps: bool) -> Iterator[_Growing]:
    opening = _Opening.of(stream)
    stream.seek(start)
    message = _Growing(start, start)
    for piece, starts_message in _pieces(stream, opening):
        if starts_message and message.end > message.begin:
            yield message
            message = _Growing(message.end, message.end)
        message.add(piece, keeps=keeps)
    if not message.blank:
        yield message


def unescaped(message: bytes) -> bytes:
    """A message without the marks of a mailbox through which it went on its way.

    A mark stays if it may be that of a quote: among others, or in a message that writes
    them without a blank.
    """
    if b"\n>From " not in message or _QUOTING.search(message):
        return message
    return _ALONE.sub(rb"\1", message)


def _taken_out(data: bytes, begin: int, end: int) -> RawMessage:
    """What lies there, as it was before it was put into a mailbox."""
    data = with_plain_ends(_trimmed(data))
    if b">From " in data:
        data = _ESCAPED.sub(rb"\n\1", data)
    body = data.find(b"\n") + 1 or len(data)
    last = len(data) - data.endswith(b"\n")
    last -= data.endswith(b"\r", 0, last)
    line = data[: min(body, 500)].decode("utf-8", "replace").strip()
    return RawMessage(line, data[body:last], begin, end)


def _pieces(stream: IO[bytes], opening: "_Opening") -> Iterator[tuple[bytes, bool]]:
    """The stream in pieces, each with whether it begins a message."""
    buffer, begins = b"", True
    scanned = 0
    claim: int | None = None  # where the message says that it ends; None: not read yet
    believed = 0  # up to where it is believed
    ended = False
    while not ended:
        block = opening.read(stream)
        buffer += block
        ended = not block
        safe = len(buffer) if ended else len(buffer) - _LOOKAHEAD
        done = 0
        for at in _candidates(buffer, scanned, safe):
            if at < believed or not _begins_message(buffer, at, opening.dated):
                continue
            if claim is None:
                claim = _claimed_end(buffer, done)
            if at < claim:
                while len(buffer) < claim + _LOOKAHEAD and block:
                    block = opening.read(stream)
                    buffer += block
                if _ends_message(buffer, claim, opening.dated, last=not block):
                    believed = claim
                    continue
            yield buffer[done:at], begins
            done, begins, claim = at, True, None
        if ended:
            break
        # Keep a few bytes before the unscanned rest: a blank line may stand there.
        cut = max(done, safe - 8)
        if cut > done:
            if claim is None and _body_at(buffer, done) < 0 and cut - done < _HEADERS:
                cut = done
            else:
                claim = _claimed_end(buffer, done) if claim is None else claim
                yield buffer[done:cut], begins
                begins = False
        buffer, scanned = buffer[cut:], max(0, safe - cut - 1)
        claim = claim if claim is None else max(0, claim - cut)
        believed = max(0, believed - cut)
    yield buffer[done:], begins


def _body_at(buffer: bytes, begin: int) -> int:
    """Where the body of a message begins; -1 if its headers go on."""
    found = _END_OF_HEADERS.search(buffer, begin)
    return found.end() if found else -1


def _claimed_end(buffer: bytes, begin: int) -> int:
    """Where a message ends by its Content-Length; 0 if it says nothing."""
    body = _body_at(buffer, begin)
    for name in _LENGTHS:
        at = buffer.find(name, begin, max(body, begin))
        length = _LENGTH.match(buffer, at + len(name)) if at >= 0 else None
        if length and int(length[1]) < MAX_MESSAGE:
            return body + int(length[1])
    return 0


def _ends_message(buffer: bytes, at: int, dated: bool, *, last: bool) -> bool:
    """Whether the next message, or the end of the file, follows a place.

    A length that is wrong, as after a change of line ends, leads to no such place.
    """
    while buffer[at : at + 1] in (b"\r", b"\n"):
        at += 1
    if at >= len(buffer):
        return last and at <= len(buffer) + 2  # whose last line end may be lost
    begins = buffer.startswith(_CANDIDATE, at - 1)
    return begins and _begins_message(buffer, at, dated)


def _candidates(buffer: bytes, start: int, end: int) -> Iterator[int]:
    """Where a line starts with 'From ', up to and with the end."""
    while 0 < (start := buffer.find(_CANDIDATE, start) + 1) <= end:
        yield start


def _begins_message(buffer: bytes, at: int, dated: bool) -> bool:
    """Whether the 'From ' at this place separates two messages."""
    window = buffer[at : at + _LOOKAHEAD]
    line, newline, following = window.partition(b"\n")
    whole = _FULL.match(line) is not None
    is_line = newline or len(window) < _LOOKAHEAD
    if not is_line or (dated and not _DATED.match(line)):
        return False
    if not _HEADER.match(following) and not (_BLANK.match(following) and whole):
        return False
    return whole or buffer[max(0, at - 4) : at].replace(b"\r", b"").endswith(b"\n\n")


def _trimmed(data: bytes) -> bytes:
    """The data without a byte order mark and blank lines at its start."""
    return data.lstrip(b"\xef\xbb\xbf\r\n\t ")
