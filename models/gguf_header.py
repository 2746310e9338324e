"""The header of a GGUF file, its values and its tensors, read without llama.cpp.

llama.cpp ends the process on some files, such as those that list a token twice; this
refuses them with a sentence. The file is not trusted, so the memory for its values is
counted: a list of short strings takes ten times its length in the file.
"""

from __future__ import annotations

import os
import sys
from array import array
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from decoding_core.errors import ModelError

_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B",
    10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_UNSIGNED, FLOAT, _BOOLEAN, STRING, _ARRAY = 4, 6, 7, 8, 9
_MOST_KEYS = 4096
_MOST_TENSORS = 1 << 16
_LONGEST_NAME, _MOST_DIMENSIONS = 63, 4  # ggml's own limits on a tensor
_LONGEST_STRING = 4 << 20
MOST_HELD = 128 << 20
"""Bytes of memory. The largest vocabularies, of 262,144 tokens and 514,906 merges, take
70 million."""


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """Where a tensor lies in a GGUF file."""

    shape: tuple[int, ...]
    """ggml's order: the dimension that is contiguous in memory comes first."""
    kind: int  # ggml's number of the type, 0 for float32
    offset: int  # bytes from the beginning of the file


@dataclass(frozen=True, slots=True)
class GGUFLayout:
    """A GGUF file without the numbers in its tensors."""

    values: dict[str, Any]
    kinds: dict[str, int]
    """GGUF's number of each value's type: llama.cpp ends the process on another type
    than it expects."""
    tensors: dict[str, TensorInfo]
    size: int  # bytes of the file


def read_layout(path: Path) -> GGUFLayout:
    """The metadata of the file at `path`, arrays of numbers as `array.array`, and where
    its tensors lie; raises ModelError if it is damaged, or larger than the header of
    any model."""
    with path.open("rb", buffering=1 << 20) as file:
        reader = _Reader(file, os.fstat(file.fileno()).st_size)
        try:
            return reader.layout()
        except (EOFError, KeyError) as error:
            reason = f"{path} is damaged: its header cannot be read"
            raise ModelError(reason) from error
        except _TooMuchError as error:
            raise ModelError(f"{path} is no usual model: its header {error}") from error


def check_vocabulary(path: Path, header: dict[str, Any]) -> None:
    """Raise ModelError if the token list would make llama.cpp end the process."""
    tokens = header.get("tokenizer.ggml.tokens")
    if not tokens or not isinstance(tokens, list):
        raise ModelError(f"{path} holds no token list")
    seen: set[str] = set()
    for token in tokens:
        if token in seen:
            raise ModelError(f"{path} is damaged: its token list holds {token!r} twice")
        seen.add(token)


def template_source(header: dict[str, Any]) -> str:
    """The chat template in a header, empty if there is none; of several the one for
    plain conversations, and never one for tools, documents or a reranker."""
    for name in ("", ".default", ".chat"):
        if source := header.get(f"tokenizer.chat_template{name}"):
            return str(source)
    return ""


class _TooMuchError(Exception):
    """The end of a sentence about the header."""


@dataclass(slots=True)
class _Reader:
    """Reads values one after the other, and counts the bytes of memory they take."""

    file: BinaryIO
    size: int  # bytes of the file
    held: int = 0

    def layout(self) -> GGUFLayout:
        if self._bytes(4) != b"GGUF":
            raise EOFError
        self._bytes(4)  # version
        tensors, count = self._number(8), self._number(8)
        if count > _MOST_KEYS:
            raise _TooMuchError(f"has more than {_MOST_KEYS} entries")
        if tensors > _MOST_TENSORS:
            raise _TooMuchError(f"lists more than {_MOST_TENSORS} tensors")
        values, kinds = dict[str, Any](), dict[str, int]()
        for _ in range(count):
            key = self._string()
            if key in values:
                raise EOFError  # llama.cpp takes no such file
            kinds[key] = self._number(4)
            values[key] = self._value(kinds[key])
        found: dict[str, TensorInfo] = {}
        for _ in range(tensors):
            name, dimensions = self._string(), self._number(4)
            wrong = len(name.encode("utf-8", "replace")) > _LONGEST_NAME
            if wrong or name in found or not 1 <= dimensions <= _MOST_DIMENSIONS:
                raise EOFError
            shape = tuple(self._number(8) for _ in range(dimensions))
            found[name] = TensorInfo(shape, self._number(4), self._number(8))
        alignment = values.get("general.alignment", 32)
        if kinds.get("general.alignment", _UNSIGNED) != _UNSIGNED or alignment < 1:
            raise EOFError
        start = -(-self.file.tell() // alignment) * alignment
        found = {n: replace(t, offset=t.offset + start) for n, t in found.items()}
        return GGUFLayout(values, kinds, found, self.size)

    def _value(self, kind: int) -> Any:
        if kind == STRING:
            return self._string()
        if kind != _ARRAY:
            value = self._numbers(kind, 1)[0]
            return bool(value) if kind == _BOOLEAN else value
        item, length = self._number(4), self._number(8)
        if item == _ARRAY:
            raise _TooMuchError("holds lists of lists")
        if item != STRING:
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
