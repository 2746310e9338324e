"""A raw message to its headers and parts, several times faster than the library does.

Python's parser goes through a message line by line. Here only the headers are given to
it, and bodies are cut at their boundaries, one search for each.
"""

import email.message
import email.parser
import email.policy
import re

DEEPEST = 20
"""Levels of parts in parts; what lies deeper is left out."""
MAX_PARTS = 200

_END_OF_HEADERS = re.compile(rb"\r?\n\r?\n")
_PARSER = email.parser.BytesHeaderParser(policy=email.policy.compat32)

Message = email.message.Message


def message_of(raw: bytes) -> Message:
    """The message, with its parts as payload where it has several."""
    if b"\n" not in raw:
        raw = raw.replace(b"\r", b"\n")  # as old Macs did
    return _read(raw, 0)


def _read(raw: bytes, depth: int) -> Message:
    end = _END_OF_HEADERS.search(raw)
    head, body = (raw[: end.end()], raw[end.end() :]) if end else (raw, b"")
    message = _PARSER.parsebytes(head)
    body = _after_headers(message) + body
    boundary = message.get_boundary() if depth < DEEPEST else None
    pieces = _pieces(body, boundary) if boundary else []
    if pieces and message.get_content_maintype() == "multipart":
        message.set_payload([_read(piece, depth + 1) for piece in pieces])
        if message.get_content_subtype() == "digest":
            _default_to_messages(message)
    elif message.get_content_maintype() == "text":
        message.set_payload(body.decode("ascii", "surrogateescape"))
    else:
        message.set_payload("")  # an attachment, which nobody reads
    return message


def _after_headers(message: Message) -> bytes:
    """What the parser took for text because a line was no header."""
    # get_payload() would guess a charset, and the bytes would be gone
    payload: str = getattr(message, "_payload") or ""  # noqa: B009
    return payload.encode("ascii", "surrogateescape")


def _default_to_messages(message: Message) -> None:
    """Parts of a digest are messages of others unless they say otherwise."""
    for part in message.walk():
        if part is not message:
            part.set_default_type("message/rfc822")


def _pieces(body: bytes, boundary: str) -> list[bytes]:
    """What stands between the lines '--boundary', up to '--boundary--'."""
    mark = b"--" + boundary.encode("utf-8", "surrogateescape")
    pieces: list[bytes] = []
    begin = -1
    at = body.find(mark)
    while at >= 0 and len(pieces) < MAX_PARTS:
        end = _end_of_boundary(body, at, len(mark))
        if end < 0:
            at = body.find(mark, at + len(mark))
            continue
        if begin >= 0:
            pieces.append(body[begin:at].removesuffix(b"\n").removesuffix(b"\r"))
        begin = end
        if body[at + len(mark) : end].startswith(b"--"):
            return pieces
        at = body.find(mark, end)
    if 0 <= begin < len(body):  # it is never closed
        pieces.append(body[begin : at if at >= 0 else None])
    return pieces


def _end_of_boundary(body: bytes, at: int, length: int) -> int:
    """Where the line after a boundary begins; -1 if there is no boundary here."""
    if at and body[at - 1 : at] != b"\n":
        return -1
    end = body.find(b"\n", at)
    end = len(body) if end < 0 else end
    following = body[at + length : end].strip()
    return end + 1 if following in (b"", b"--") else -1
