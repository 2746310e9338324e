"""The key-value part of a GGUF file, read without llama.cpp.

llama.cpp ends the process on some files, such as those that list a token twice; this
reads enough to refuse them with a sentence.
"""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path
from typing import Any, BinaryIO

from decoding_core.errors import ModelError

_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?",
    10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_STRING, _ARRAY = 8, 9
_MOST_KEYS = 4096
_MOST_BYTES = 256 << 20


def read_header(path: Path) -> dict[str, Any]:
    """The metadata of the model at `path`; raises ModelError when it is damaged."""
    try:
        with path.open("rb") as file:
            return _read(file)
    except (struct.error, EOFError, UnicodeDecodeError, KeyError) as error:
        raise ModelError(f"{path} is damaged: its header cannot be read") from error


def check_vocabulary(path: Path, header: dict[str, Any]) -> None:
    """Raise ModelError when the token list would make llama.cpp end the process."""
    tokens = header.get("tokenizer.ggml.tokens")
    if not tokens:
        raise ModelError(f"{path} holds no token list")
    token, count = Counter(tokens).most_common(1)[0]
    if count > 1:
        raise ModelError(f"{path} is damaged: its token list holds {token!r} twice")


def _read(file: BinaryIO) -> dict[str, Any]:
    if file.read(4) != b"GGUF":
        raise EOFError
    _version, _tensors, count = struct.unpack("<IQQ", file.read(20))
    if count > _MOST_KEYS:
        raise EOFError
    header: dict[str, Any] = {}
    for _ in range(count):
        key = _string(file)
        header[key] = _value(file, _unpack(file, "I"))
    return header


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _string(file)
    if kind != _ARRAY:
        return _unpack(file, _SCALARS[kind])
    item, length = _unpack(file, "I"), _unpack(file, "Q")
    if length > _MOST_BYTES:
        raise EOFError
    if item == _STRING:
        return [_string(file) for _ in range(length)]
    code = f"<{length}{_SCALARS[item]}"
    return list(struct.unpack(code, file.read(struct.calcsize(code))))


def _string(file: BinaryIO) -> str:
    length = _unpack(file, "Q")
    if length > _MOST_BYTES:
        raise EOFError
    data = file.read(length)
    if len(data) != length:
        raise EOFError
    return data.decode("utf-8", "surrogateescape")


def _unpack(file: BinaryIO, code: str) -> Any:
    form = struct.Struct("<" + code)
    return form.unpack(file.read(form.size))[0]
