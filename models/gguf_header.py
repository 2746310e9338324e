"""The key-value part of a GGUF file, read without llama.cpp.

llama.cpp ends the process on some files, such as those that list a token twice; this
reads enough to refuse them with a sentence. The file is not trusted, so what is held of
it is counted in bytes of memory: a list of short strings takes ten times its length in
the file.
"""

from __future__ import annotations

import os
import sys
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from decoding_core.errors import ModelError

_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B",
    10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_BOOLEAN, _STRING, _ARRAY = 7, 8, 9
_MOST_KEYS = 4096
_LONGEST_STRING = 4 << 20
MOST_HELD = 128 << 20
"""Bytes of memory. The largest vocabularies, of 262,144 tokens and 514,906 merges, take
70 million."""


def read_header(path: Path) -> dict[str, Any]:
    """The metadata of the model at `path`, arrays of numbers as `array.array`.

    Raises:
        ModelError: it is damaged, or holds more than the header of any model.
    """
    with path.open("rb", buffering=1 << 20) as file:
        try:
            return _Reader(file, os.fstat(file.fileno()).st_size).header()
        except (EOFError, KeyError) as error:
            reason = f"{path} is damaged: its header cannot be read"
            raise ModelError(reason) from error
        except _TooMuchError as error:
            raise ModelError(f"{path} is no usual model: its header {error}") from error


def check_vocabulary(path: Path, header: dict[str, Any]) -> None:
    """Raise ModelError when the token list would make llama.cpp end the process."""
    tokens = header.get("tokenizer.ggml.tokens")
    if not tokens or not isinstance(tokens, list):
        raise ModelError(f"{path} holds no token list")
    seen: set[str] = set()
    for token in tokens:
        if token in seen:
            raise ModelError(f"{path} is damaged: its token list holds {token!r} twice")
        seen.add(token)


def template_source(header: dict[str, Any]) -> str:
    """The chat template in a header; of several the one for plain conversations, and
    never one for tools, documents or a reranker. Empty where there is none."""
    for name in ("", ".default", ".chat"):
        if source := header.get(f"tokenizer.chat_template{name}"):
            return str(source)
    return ""


class _TooMuchError(Exception):
    """The end of a sentence about the header."""


@dataclass(slots=True)
class _Reader:
    """Reads values one after the other, and counts the memory they take."""

    file: BinaryIO
    size: int
    """Bytes of the file."""
    held: int = 0

    def header(self) -> dict[str, Any]:
        if self._bytes(4) != b"GGUF":
            raise EOFError
        self._bytes(12)  # version, number of tensors
        count = self._number(8)
        if count > _MOST_KEYS:
            raise _TooMuchError(f"has more than {_MOST_KEYS} entries")
        header: dict[str, Any] = {}
        for _ in range(count):
            key = self._string()
            if key in header:
                raise EOFError  # llama.cpp takes no such file
            header[key] = self._value(self._number(4))
        return header

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            value = self._numbers(kind, 1)[0]
            return bool(value) if kind == _BOOLEAN else value
        item, length = self._number(4), self._number(8)
        if item == _ARRAY:
            raise _TooMuchError("holds lists of lists")
        if item != _STRING:
            return self._numbers(item, length)
        if 8 * length > self.size:  # each begins with its length
            raise EOFError
        return [self._string() for _ in range(length)]

    def _numbers(self, kind: int, length: int) -> array[Any]:
        numbers = array(_SCALARS[kind])
        size = length * numbers.itemsize
        self._refuse_beyond(size)
        data = self._bytes(size)  # before it is counted: it may not be there
        self._hold(size)
        numbers.frombytes(data)
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers

    def _string(self) -> str:
        length = self._number(8)
        if length > _LONGEST_STRING:
            raise _TooMuchError("holds a text of more than 4 million bytes")
        text = self._bytes(length).decode("utf-8", "surrogateescape")
        self._hold(sys.getsizeof(text) + 8)  # and its place in a list
        return text

    def _hold(self, size: int) -> None:
        self._refuse_beyond(size)
        self.held += size

    def _refuse_beyond(self, size: int) -> None:
        if self.held + size > MOST_HELD:
            raise _TooMuchError(f"would take more than {MOST_HELD >> 20} MiB of memory")

    def _number(self, width: int) -> int:
        return int.from_bytes(self._bytes(width), "little")

    def _bytes(self, size: int) -> bytes:
        if size > self.size:
            raise EOFError
        data = self.file.read(size)
        if len(data) < size:
            raise EOFError
        return data
