"""A raw message to its headers and parts, many times faster than the library does.

Python's parser goes through a message line by line and reads a header anew whenever it
is asked for. Here one pattern finds each header, bodies are cut at their boundaries
when somebody wants them, and the library reads what is not written in the common way.
"""

import binascii
import codecs
import email.message
import email.utils
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias

from personal_store.text.charset import unfolded

DEEPEST = 20  # levels of parts in parts; what lies deeper is left out
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
_END_OF_HEADERS = re.compile(rb"\r?\n")
_RETURNS = re.compile(rb"\r+\n")
# A piece of S/MIME that is sent as it is: its bytes are no lines.
_DER = re.compile(
    rb"[\r\n]{2}\x30[\0-\xff]{1,5}\x06[\x09-\x0b]\x2a\x86\x48\x86\xf7\x0d\x01"
)

_FILE = "application/octet-stream"
_SMIME = ("application/pkcs7-mime", "application/x-pkcs7-mime")
_WORD = re.compile(r"[\w-]+")
_UUENCODED = ("xuuencode", "uuencode", "xuue", "uue")
_CONTROL = re.compile("[\0-\x08\x0e-\x1a\x1c-\x1f]")
_CONTINUED = bytes(range(0x80, 0xC0))
_SOFT_BREAK = re.compile(rb"=[ \t]+(?=\r?\n|\Z)")
# A line in the alphabet of addresses that is long or the last of such lines.
_URL_SAFE = re.compile(
    rb"^(?=[^\n]*[-_])(?=[^\n]*[A-Za-z0-9])"
    rb"(?:[\w-]{40,}|(?:(?<=[\w-]{40}\n)|(?<=[\w-]{40}\r\n))[\w-]+)={0,2}\r?$",
    re.MULTILINE,
)
_USUAL = bytes.maketrans(b"-_", b"+/")
_STRAY = re.compile(rb"[^A-Za-z0-9+/=]+")
_MOST_LINES = 100_000
_SAMPLE = 4_096
_WIDE = 40  # letters of a line that prose does not write without a blank
_LONG_WORD = 12  # signs per blank that prose does not exceed

_VALUE = r'"[^"\\]*+"|[^\s;"\\<>()]++'
_PARAMETER = re.compile(rf";\s*+([\w-]++)\s*+=\s*+({_VALUE})", re.ASCII)
_COMMON = re.compile(
    rf"\s*+([\w.+/-]++)\s*+((?:{_PARAMETER.pattern}\s*+)*+);?\s*+", re.ASCII
)
_PLAIN = "text/plain"


@dataclass(frozen=True, slots=True)
class Content:
    """A header such as Content-Type, taken apart."""

    value: str  # what stands before its parameters, lower-case
    parameters: Mapping[str, str]  # parameters by their lower-case names


_NOTHING = Content("", {})


@dataclass(frozen=True, slots=True)
class Part:
    """A message, or a part of one."""

    headers: Headers
    body: bytes  # as it was sent: encoded, and with all parts in it
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

    def file_name(self) -> str:
        """What the part is called; empty if it has no name."""
        named = self.disposition().parameters.get("filename", "")
        return named or self.content.parameters.get("name", "")

    def is_smime(self) -> bool:
        """Whether a signature or a cipher of S/MIME holds it as a whole."""
        is_file = self.type == _FILE and self.file_name().lower().endswith(".p7m")
        return is_file or self.type in _SMIME

    def decoded(self) -> bytes:
        """The body with its transfer encoding undone."""
        said = _WORD.search(self.header("content-transfer-encoding"))
        encoding = said[0].lower().replace("-", "") if said else ""
        if encoding == "quotedprintable":
            body = self.body
            if b"= " in body or b"=\t" in body:
                body = _SOFT_BREAK.sub(b"=", body)
            return binascii.a2b_qp(body)
        if encoding == "base64":
            is_text = self.type.startswith("text/")
            return _from_base64(self.body, is_text=is_text)
        if encoding not in _UUENCODED:
            return self.body
        message = email.message.Message()
        message["Content-Transfer-Encoding"] = "x-uuencode"
        message.set_payload(self.body.decode("ascii", "surrogateescape"))
        decoded = message.get_payload(decode=True)
        return decoded if isinstance(decoded, bytes) else self.body

    def units(self) -> Iterator[list["Part"]]:
        """Itself, or the parts without parts in their order; those that say one thing
        in several forms stand together.

        What lies inside an attached message is not part of this one.
        """
        waiting = [(self, 0, 0)]
        last = 0  # unit, numbered from 1
        unit: list[Part] = []
        has_text = False
        for number in range(1, MAX_PARTS + 1):
            if not waiting:
                break
            part, depth, of = waiting.pop()
            if unit and (not of or of != last):
                yield unit
                unit = []
            last = of = of or number * (part.type == "multipart/alternative")
            pieces = part._pieces() if depth < DEEPEST else []
            if part.is_smime() and not has_text:  # below a text it is a file
                pieces = part._unwrapped()
            if not pieces:
                unit.append(part)
                has_text = has_text or part.type.startswith("text/")
            waiting.extend((piece, depth + 1, of) for piece in reversed(pieces))
        if unit:
            yield unit

    def _pieces(self) -> list["Part"]:
        if not self.type.startswith("multipart/"):
            return []
        boundary = self.content.parameters.get("boundary", "").rstrip()
        if not boundary:
            return []
        default = "message/rfc822" if self.type == "multipart/digest" else _PLAIN
        # Some programs fold a boundary in its middle, and mean it without blanks, or
        # encode the parts as a whole, which is not allowed.
        pieces = (
            _cut(self.body, boundary)
            or _cut(self.body, re.sub(r"\s+", "", boundary))
            or _cut(self.decoded(), boundary)
        )
        return [_part(piece, default) for piece in pieces]

    def _unwrapped(self) -> list["Part"]:
        """What is inside a signature; nothing of what is encrypted."""
        try:
            held = opened(self.decoded())
        except (EncryptedError, zlib.error):
            return []
        except ValueError:
            held = b""
        return [_part(held, _PLAIN)]


def message_of(raw: bytes) -> Part:
    """The message; nothing but its headers is read for now."""
    return _part(with_plain_ends(raw).lstrip(b"\r\n"), _PLAIN)


def with_plain_ends(raw: bytes) -> bytes:
    """The lines, ended by LF or CR LF and nothing else.

    Some programs of Windows write CR CR LF or LF CR, old Macs CR, perhaps with LF added
    to some.
    """
    if b"\r" not in raw:  # found out faster than by counting
        return raw
    returns, usual = raw.count(b"\r"), raw.count(b"\r\n")
    if returns == usual:
        return raw
    if der := _DER.search(raw):
        return with_plain_ends(raw[: der.start() + 2]) + raw[der.start() + 2 :]
    if is_swapped(raw):
        return with_plain_ends(raw.replace(b"\n\r", b"\r\n"))
    if returns - usual > 2 * usual:
        raw = raw.replace(b"\r\n", b"\n")
    return _RETURNS.sub(b"\n", raw).replace(b"\r", b"\n")


def is_swapped(raw: bytes) -> bool:
    """Whether lines end with LF CR."""
    swapped = raw.count(b"\n\r")
    return swapped > raw.count(b"\r\n") and 10 * swapped >= 9 * raw.count(b"\r")


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
    content = content_of(headers.get("content-type", [default])[0])
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


def _from_base64(body: bytes, *, is_text: bool) -> bytes:
    """The bytes, also of several padded pieces, without padding or with stray signs.

    What lists write around a text stays out: lines of data but the last are equally
    wide, and a doubtful line is data if the text stays valid with it.
    """
    if b"-" in body or b"_" in body:
        body = _URL_SAFE.sub(lambda line: line[0].translate(_USUAL), body)
    packed = body.translate(None, b" \t\r\n")
    with suppress(binascii.Error):
        whole = binascii.a2b_base64(packed, strict_mode=True)
        if not is_text or _is_text(whole):
            return whole
    letters = _STRAY.sub(b"", packed)
    if is_text and len(packed) - len(letters) <= len(packed) // 50:
        whole = _loosely(letters)
        if _is_text(whole):
            return whole
    lines = [line.strip() for line in body.splitlines()[:_MOST_LINES]]
    said = [(line, _STRAY.sub(b"", line)) for line in lines]
    pure = [letters for line, letters in said if line and letters == line]
    widths = Counter(map(len, pure or [letters for _, letters in said]))
    wide = max(widths, key=lambda width: (widths[width], width), default=0)
    runs: list[bytearray] = []
    goes_on = True  # whether the last line was a full one, so that another follows
    ended = gap = refused = False
    for line, letters in said:
        if not line:
            gap = True
            continue
        last = runs[-1] if runs else bytearray()
        tail = bytes(last[max(0, len(last) - _WIDE) // 4 * 4 :])
        joins = not tail.endswith(b"=") and (
            len(tail) % 4 == 0
            or _is_text(_loosely(tail + letters))
            or not _is_text(_loosely(letters))
        )
        joined = tail + letters if joins else letters
        strays = len(line) - len(letters)
        most = b" " not in line and strays <= max(2, len(line) // 10)
        most = most and (not pure or line[-1:] == b"=")
        if len(letters) == wide >= _WIDE:
            taken = True
        elif not letters or not (strays == 0 or (goes_on and most)):
            taken = False
        elif _is_text(_loosely(joined)):
            taken = goes_on or not ended
        else:
            known = bool(runs) and _is_text(_loosely(runs[0][:_SAMPLE]))
            taken = len(joined) % 4 == 0 and not (
                gap or (not goes_on and (ended or known))
            )
        if not taken:
            ended = bool(runs)
            refused = refused or not runs
        elif runs and joins:
            runs[-1] += letters
        else:
            runs.append(bytearray(letters))
        goes_on, gap = taken and len(letters) == wide >= _WIDE, False
    if not runs:
        return body  # it is no base64, whatever its header says
    decoded = b"".join(map(_loosely, runs))
    if refused and wide < _WIDE and not (wide >= _LONG_WORD and _is_text(decoded)):
        return body
    prose = body.strip().count(b" ") > len(body) // _LONG_WORD
    return body if prose and _is_text(body) and not _is_text(decoded) else decoded


def _loosely(letters: bytes | bytearray) -> bytes:
    """Base64 decoded piece by piece, as far as whole bytes go."""
    pieces = []
    for piece in letters.split(b"="):
        cut = piece[: -1 if len(piece) % 4 == 1 else None]
        pieces.append(binascii.a2b_base64(cut + b"=" * (-len(cut) % 4)))
    return b"".join(pieces)


def _is_text(data: bytes) -> bool:
    """Whether bytes, cut out of others, are UTF-8 without signs of control."""
    try:
        text, _ = codecs.utf_8_decode(data.lstrip(_CONTINUED), "strict", False)
    except UnicodeDecodeError:
        return False
    return not _CONTROL.search(text)


# S/MIME (RFC 8551): signatures are opened, ciphers stay shut. Outlook sends a signed
# letter as one piece, with the text inside the signature; whether it is valid does not
# matter here. The library for cryptography reads only DER, but mail programs write BER
# as well: open lengths, and texts in chunks.

_PKCS_7 = bytes.fromhex("2a864886f70d0107")
_SIGNED = _PKCS_7 + b"\x02"
_COMPRESSED = bytes.fromhex("2a864886f70d0109100109")
_ENCRYPTED = {
    *(_PKCS_7 + b"\x03", _PKCS_7 + b"\x04", _PKCS_7 + b"\x06"),
    bytes.fromhex("2a864886f70d0109100117"),
}
_SEQUENCE, _CONSTRUCTED = 0x30, 0x20
_OPEN, _END = 0x80, b"\0\0"
_DEEPEST_ELEMENT = 30
_MOST_ELEMENTS = 200_000
_LONGEST_INSIDE = 16 * 1024 * 1024

Value: TypeAlias = "bytes | list[tuple[int, Value]]"
"""Bytes, or the elements inside with their tags."""


class EncryptedError(ValueError):
    """Only who has the key can read it: the letter is left out with that reason."""


def opened(data: bytes) -> bytes:
    """The message in a signed or compressed part; empty if it holds no message. Raises
    EncryptedError if it is encrypted, and ValueError if it is damaged, or something
    else."""
    kind, content = _held_by(_element(data, 0, 0, count())[1])
    if kind in _ENCRYPTED:
        raise EncryptedError
    if kind not in (_SIGNED, _COMPRESSED):
        raise ValueError("it is neither signed nor compressed")
    for tag, value in content if isinstance(content, list) else ():
        held = _held_by(value)[1] if tag == _SEQUENCE else b""
        if held and kind == _SIGNED:
            return _joined(held)
        if held:
            return zlib.decompressobj().decompress(_joined(held), _LONGEST_INSIDE)
    return b""


def _held_by(info: Value) -> tuple[bytes, Value]:
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
    Raises ValueError if nothing begins here, or there is too much of it."""
    if len(data) < at + 2 or depth > _DEEPEST_ELEMENT or next(number) > _MOST_ELEMENTS:
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
