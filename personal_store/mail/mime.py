"""A raw message to its headers and parts, many times faster than the library does.

Python's parser goes through a message line by line and reads a header anew whenever it
is asked for. Here one pattern finds each header, bodies are cut at their boundaries
when somebody wants them, and the library reads what is not written in the common way.
"""

import binascii
import email.message
import email.utils
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from personal_store.text.charset import unfolded

DEEPEST = 20
"""Levels of parts in parts; what lies deeper is left out."""
MAX_PARTS = 200

Headers = dict[str, list[str]]
"""Lower-case names to raw values, in their order; bytes beyond ASCII as surrogates."""

_FIELDS = re.compile(rb"(?:[!-9;-~]++:[^\n]*+(?:\n[ \t][^\n]*+)*+(?:\n|\Z))*+")
_FIELD = re.compile(r"([!-9;-~]+):[ \t]*([^\n]*(?:\n[ \t][^\n]*)*)\n?")
# A continuation of nothing, a nameless header, an envelope among the headers.
_NO_FIELD = re.compile(
    rb"(?:[ \t:][^\n]*|From [^\n]*(?=\n(?:[!-9;-~]*:|[ \t]|From )))(?:\n|\Z)"
)
_ENVELOPE = re.compile(rb"From [^\n]*\n?")
_END_OF_HEADERS = re.compile(rb"\r\n?|\n")
_LONE_RETURN = re.compile(rb"\r(?!\n)")

_VALUE = r'"[^"\\]*+"|[^\s;"\\<>()]++'
_PARAMETER = re.compile(rf";\s*+([\w-]++)\s*+=\s*+({_VALUE})", re.ASCII)
_COMMON = re.compile(
    rf"\s*+([\w.+/-]++)\s*+((?:{_PARAMETER.pattern}\s*+)*+);?\s*+", re.ASCII
)
_PLAIN = "text/plain"


@dataclass(frozen=True, slots=True)
class Content:
    """A header such as Content-Type, taken apart."""

    value: str
    """What stands before its parameters, lower-case."""
    parameters: Mapping[str, str]
    """Parameters by their lower-case names."""


_NOTHING = Content("", {})


@dataclass(frozen=True, slots=True)
class Part:
    """A message, or a part of one."""

    headers: Headers
    body: bytes
    """As it was sent: encoded, and with all parts in it."""
    content: Content

    @property
    def type(self) -> str:
        """Such as text/plain."""
        return self.content.value

    def header(self, name: str) -> str:
        """The first value of a header, raw; empty if absent."""
        return self.headers.get(name, [""])[0]

    def disposition(self) -> Content:
        """How the sender wants it shown."""
        return content_of(self.header("content-disposition"))

    def decoded(self) -> bytes:
        """The body with its transfer encoding undone."""
        encoding = self.header("content-transfer-encoding").strip().lower()
        if encoding == "quoted-printable":
            return binascii.a2b_qp(self.body)
        if encoding in ("", "7bit", "8bit", "binary"):
            return self.body
        message = email.message.Message()
        message["Content-Transfer-Encoding"] = encoding
        message.set_payload(self.body.decode("ascii", "surrogateescape"))
        decoded = message.get_payload(decode=True)
        return decoded if isinstance(decoded, bytes) else self.body

    def leaves(self) -> Iterator["Part"]:
        """Itself, or the parts without parts in their order.

        What lies inside an attached message is not part of this one.
        """
        waiting = [(self, 0)]
        for _ in range(MAX_PARTS):
            if not waiting:
                return
            part, depth = waiting.pop()
            pieces = part._pieces() if depth < DEEPEST else []
            if not pieces:
                yield part
            waiting.extend((piece, depth + 1) for piece in reversed(pieces))

    def _pieces(self) -> list["Part"]:
        if not self.type.startswith("multipart/"):
            return []
        boundary = self.content.parameters.get("boundary", "").rstrip()
        default = "message/rfc822" if self.type == "multipart/digest" else _PLAIN
        pieces = _cut(self.body, boundary) if boundary else []
        if boundary and not pieces and re.search(r"\s", boundary):
            # Some programs fold a boundary in its middle, and mean it without blanks.
            pieces = _cut(self.body, re.sub(r"\s+", "", boundary))
        return [_part(piece, default) for piece in pieces]


def message_of(raw: bytes) -> Part:
    """The message; nothing but its headers is read for now."""
    if b"\n" not in raw:
        raw = raw.replace(b"\r", b"\n")  # as old Macs did
    return _part(raw, _PLAIN)


def content_of(value: str) -> Content:
    """A header with parameters, as the library reads it."""
    if not value:
        return _NOTHING
    value = unfolded(value)
    common = _COMMON.fullmatch(value)
    parameters: dict[str, str] = {}
    if common is None:
        message = email.message.Message()
        message["Content-Type"] = value
        for name, said in message.get_params([]):
            text = email.utils.collapse_rfc2231_value(said)
            parameters.setdefault(name.lower(), text)
        return Content(value.partition(";")[0].strip().lower(), parameters)
    for name, said in _PARAMETER.findall(common.group(2)):
        parameters.setdefault(name.lower(), said.strip('"'))
    return Content(common.group(1).lower(), parameters)


def _part(raw: bytes, default: str) -> Part:
    headers, end = _headers(raw)
    values = headers.get("content-type")
    content = content_of(values[0]) if values else Content(default, {})
    if content.value.count("/") != 1:
        content = Content(_PLAIN, content.parameters)
    return Part(headers, raw[end:], content)


def _headers(raw: bytes) -> tuple[Headers, int]:
    """The headers, and where the body begins."""
    found: Headers = {}
    at = _end(_ENVELOPE, raw, 0)
    while True:
        begin, at = at, _end(_FIELDS, raw, at)
        text = raw[begin:at].decode("ascii", "surrogateescape")
        for name, value in _FIELD.findall(text):
            found.setdefault(name.lower(), []).append(value.rstrip("\r\n"))
        skipped = _NO_FIELD.match(raw, at)
        if skipped is None:
            break
        at = skipped.end()
    if raw.find(b"\r", 0, at) >= 0 and _LONE_RETURN.search(raw, 0, at):
        return _headers(_LONE_RETURN.sub(b"\n", raw[:at]) + raw[at:])
    return found, _end(_END_OF_HEADERS, raw, at)


def _end(pattern: re.Pattern[bytes], raw: bytes, at: int) -> int:
    """Where the pattern ends that may stand at this place."""
    match = pattern.match(raw, at)
    return match.end() if match else at


def _cut(body: bytes, boundary: str) -> list[bytes]:
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
