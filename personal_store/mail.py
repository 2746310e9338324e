"""One raw message to headers and body text, without ever giving up on a bad one.

Python's modern mail policy raises on unknown charsets and is fifteen times slower, so
this reads with the old one and decodes headers and parts itself.
"""

import calendar
import email.message
import email.utils
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from personal_store.charset import decode, header_text
from personal_store.mime import MAX_PARTS, message_of

MAX_PART = 2_000_000
"""Bytes of one body part that are looked at."""

_ADDRESS = re.compile(r"[^\s<>()\[\],;:\"]+@[^\s<>()\[\],;:\"]+")
_YEARS = range(1970, 2101)


@dataclass(frozen=True, slots=True)
class Mail:
    """A message, decoded. Header names are lower-case, values raw."""

    headers: dict[str, list[str]]
    plain: str = ""
    html: str = ""
    calendar_method: str = ""
    """METHOD of a calendar part, upper-case; 'NONE' where it has none."""
    types: frozenset[str] = field(default_factory=frozenset)
    """Content types of the message and its parts."""
    folder: str = ""
    """Name of the folder it lay in, where the source knows one."""

    def raw(self, name: str) -> str:
        """The first value of a header, undecoded; empty if absent."""
        return self.headers.get(name, [""])[0]

    def header(self, name: str) -> str:
        """The first value of a header as a person reads it."""
        return header_text(self.raw(name))


def parse_headers(raw: bytes, folder: str = "") -> Mail:
    """Only the headers: enough to see who wrote it, several times faster."""
    end = re.search(rb"\r?\n\r?\n", raw)
    headers = _headers(message_of(raw[: end.end()] if end else raw))
    return Mail(headers, folder=folder)


def parse(raw: bytes, folder: str = "") -> Mail:
    """Headers, the plain and the HTML body, and what kinds of parts there are."""
    message = message_of(raw)
    plain: list[str] = []
    html: list[str] = []
    types = {message.get_content_type()}
    method = ""
    for part in _parts(message):
        kind = part.get_content_type()
        types.add(kind)
        if part is not message and _is_attachment(part):
            continue
        if kind == "text/plain":
            plain.append(_unflowed(part, _text(part)))
        elif kind == "text/html":
            html.append(_text(part))
        elif kind == "text/calendar":
            method = _calendar_method(part)
    return Mail(
        _headers(message),
        "\n".join(plain),
        "\n".join(html),
        method,
        frozenset(types),
        folder,
    )


def addresses(values: list[str]) -> list[tuple[str, str]]:
    """(name, lower-cased address) of everybody in these header values."""
    found = []
    for name, address in email.utils.getaddresses(values):
        if "@" in address:
            found.append((header_text(name), address.strip().lower()))
    if not found:  # malformed: take what looks like an address
        text = header_text(" ".join(values))
        found = [("", match.lower()) for match in _ADDRESS.findall(text)]
    return found


def sent_at(mail: Mail) -> int | None:
    """Seconds since 1970 from Date, else from the newest Received header."""
    candidates = [mail.raw("date"), mail.raw("received").rpartition(";")[2]]
    for candidate in candidates:
        seconds = seconds_of(header_text(candidate))
        if seconds is not None:
            return seconds
    return None


def seconds_of(date: str) -> int | None:
    """Seconds since 1970 of a mail date; None if it is not one."""
    try:
        fields = email.utils.parsedate_tz(date)
        if fields is None or fields[0] not in _YEARS:
            return None
        return calendar.timegm((*fields[:6], 0, 0, 0)) - (fields[9] or 0)
    except (ValueError, OverflowError, IndexError, TypeError):
        return None


def _headers(message: email.message.Message) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in message.raw_items():
        found.setdefault(name.lower(), []).append(str(value))
    return found


def _parts(message: email.message.Message) -> Iterator[email.message.Message]:
    """Leaf parts in order; what lies inside an attached message is not ours."""
    waiting = [message]
    for _ in range(MAX_PARTS):
        if not waiting:
            return
        part = waiting.pop()
        if not part.is_multipart():
            yield part
        elif part.get_content_maintype() == "multipart":
            waiting.extend(reversed(_pieces(part)))


def _pieces(part: email.message.Message) -> list[email.message.Message]:
    payload = part.get_payload()
    pieces = payload if isinstance(payload, list) else []
    return [piece for piece in pieces if isinstance(piece, email.message.Message)]


def _is_attachment(part: email.message.Message) -> bool:
    disposition = str(part.get("Content-Disposition", ""))
    return disposition.strip().lower().startswith("attachment") or (
        part.get_filename() is not None and part.get_content_maintype() == "text"
    )


def _text(part: email.message.Message) -> str:
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    return decode(data[:MAX_PART], str(part.get_param("charset", "")))


def _unflowed(part: email.message.Message, text: str) -> str:
    """Soft line breaks of format=flowed joined again (RFC 3676)."""
    if str(part.get_param("format", "")).lower() != "flowed":
        return text
    glue = "" if str(part.get_param("delsp", "")).lower() == "yes" else " "
    lines: list[str] = []
    open_line = False
    for line in text.splitlines():
        soft = line.endswith(" ") and line != "-- "
        body = line.removesuffix(" ") if soft else line
        if open_line and not line.startswith(">") and line != "-- ":
            lines[-1] += glue + body
        else:
            lines.append(body)
        open_line = soft and not line.startswith(">")
    return "\n".join(lines)


def _calendar_method(part: email.message.Message) -> str:
    declared = str(part.get_param("method", "") or "")
    if not declared:
        match = re.search(r"^METHOD:(\w+)", _text(part), re.MULTILINE)
        declared = match.group(1) if match else "NONE"
    return declared.upper()
