"""A JSON list of any length, element by element."""

import codecs
import json
from collections.abc import Iterator
from typing import IO, Any

from personal_store.errors import SourceError

_BLOCK = 1024 * 1024
MAX_ELEMENT = 64 * 1024 * 1024
"""Characters of one element; a longer one is refused."""


def array_values(stream: IO[bytes], name: str) -> Iterator[tuple[int, Any]]:
    """(bytes read so far, value) of each element; raises SourceError where it breaks.

    A broken element spoils what follows it: nothing says where the next one begins.
    """
    text = _Text(stream)
    if text.next_mark() != "[":
        raise SourceError(f"{name} is not JSON: it is no list.")
    text.take(1)
    decoder = json.JSONDecoder()
    while (mark := text.next_mark()) != "]":
        if mark == ",":
            text.take(1)
            continue
        try:
            value, length = text.value(decoder)
        except (ValueError, RecursionError) as error:
            raise SourceError(f"{name} is not JSON: {error}.") from error
        text.take(length)
        yield text.position, value


class _Text:
    """The part of a stream that is being parsed, decoded."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._buffer = ""
        self._at = 0
        self._ended = False
        self.position = 0
        """Bytes behind what was taken."""

    def next_mark(self) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            rest = self._buffer[self._at : self._at + 1]
            if rest and not rest.isspace():
                return rest
            if rest:
                self.take(1)
            elif not self._more(_BLOCK):
                return ""

    def take(self, length: int) -> None:
        """Go past so many characters."""
        taken = self._buffer[self._at : self._at + length]
        self.position += len(taken.encode("utf-8", "surrogatepass"))
        self._at += length

    def value(self, decoder: json.JSONDecoder) -> tuple[Any, int]:
        """(value, characters) of the element that begins here; reads on as needed."""
        while True:
            try:
                value, end = decoder.raw_decode(self._buffer, self._at)
            except ValueError:
                if not self._more(max(_BLOCK, len(self._buffer))):
                    raise
                continue
            # a number at the end of what was read may have more digits to come
            if end < len(self._buffer) or not self._more(_BLOCK):
                return value, end - self._at

    def _more(self, count: int) -> bool:
        if self._ended or len(self._buffer) - self._at > MAX_ELEMENT:
            return False
        data = self._stream.read(count)
        self._ended = not data
        self._buffer = self._buffer[self._at :] + self._decoder.decode(
            data, self._ended
        )
        self._at = 0
        return True
