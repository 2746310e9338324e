"""What an S/MIME part (RFC 8551) holds: signatures are opened, ciphers stay shut.

Outlook sends a signed letter as one piece, with the text inside the signature. Whether
the signature is valid does not matter here. The library for cryptography reads only
DER, but mail programs write BER as well: open lengths, and texts in chunks.
"""

import zlib
from collections.abc import Iterator
from itertools import count
from typing import TypeAlias

_PKCS_7 = bytes.fromhex("2a864886f70d0107")
_SIGNED = _PKCS_7 + b"\x02"
_COMPRESSED = bytes.fromhex("2a864886f70d0109100109")
_ENCRYPTED = {
    *(_PKCS_7 + b"\x03", _PKCS_7 + b"\x04", _PKCS_7 + b"\x06"),
    bytes.fromhex("2a864886f70d0109100117"),
}
_SEQUENCE, _CONSTRUCTED = 0x30, 0x20
_OPEN, _END = 0x80, b"\0\0"
_DEEPEST = 30
_MOST = 200_000
_LONGEST = 16 * 1024 * 1024

Value: TypeAlias = "bytes | list[tuple[int, Value]]"
"""Bytes, or the elements inside with their tags."""


class EncryptedError(ValueError):
    """Only who has the key can read it: the letter is left out with that reason."""


def opened(data: bytes) -> bytes:
    """The message in a signed or compressed part; empty if there is none in it.

    Raises:
        EncryptedError: it is encrypted.
        ValueError: it is damaged, or something else.
    """
    kind, content = _content(_element(data, 0, 0, count())[1])
    if kind in _ENCRYPTED:
        raise EncryptedError
    if kind not in (_SIGNED, _COMPRESSED):
        raise ValueError("it is neither signed nor compressed")
    for tag, value in content if isinstance(content, list) else ():
        held = _content(value)[1] if tag == _SEQUENCE else b""
        if held and kind == _SIGNED:
            return _joined(held)
        if held:
            return zlib.decompressobj().decompress(_joined(held), _LONGEST)
    return b""


def _content(info: Value) -> tuple[bytes, Value]:
    """An object identifier, and what is said to be of that kind."""
    match info:
        case [(0x06, bytes(kind)), (_, [(_, content)]), *_]:
            return kind, content
    return b"", b""


def _joined(value: Value) -> bytes:
    if isinstance(value, bytes):
        return value
    return b"".join(_joined(inner) for _, inner in value)


def _element(
    data: bytes, at: int, depth: int, number: Iterator[int]
) -> tuple[int, Value, int]:
    """Tag, value and end of what begins here; what was cut off is read as far as it is.

    Raises:
        ValueError: nothing begins here, or there is too much of it.
    """
    if len(data) < at + 2 or depth > _DEEPEST or next(number) > _MOST:
        raise ValueError("damaged")
    tag, size = data[at], data[at + 1]
    begin = at + 2
    open_ended = size == _OPEN
    if size > _OPEN:
        width = size - _OPEN
        size = int.from_bytes(data[begin : begin + width])
        begin += width
    end = len(data) if open_ended else min(begin + size, len(data))
    if not tag & _CONSTRUCTED:
        return tag, data[begin:end], end
    found: list[tuple[int, Value]] = []
    while begin < end:
        if open_ended and data.startswith(_END, begin):
            return tag, found, begin + len(_END)
        inner, value, begin = _element(data, begin, depth + 1, number)
        found.append((inner, value))
    return tag, found, begin
