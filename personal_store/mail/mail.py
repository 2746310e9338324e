"""One raw message to headers and body text, without ever giving up on a bad one.

Python's modern mail policy raises on unknown charsets and is fifteen times slower, its
old one three times, so mime.py takes messages apart and this decodes what it found.
"""

import calendar
import email.utils
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from personal_store.mail.mime import Part, message_of
from personal_store.text.charset import decode, header_text

MAX_PART = 2_000_000
"""Bytes of one body part that are looked at."""

_ADDRESS = re.compile(r"[^\s<>()\[\],;:\"]+@[^\s<>()\[\],;:\"]+")
_MANY_PEOPLE = 500
"""Characters of addresses from which on they are not remembered."""
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
        raw = self.raw(name)
        return header_text(raw) if raw else ""


def parse_headers(raw: bytes, folder: str = "") -> Mail:
    """Only the headers: enough to see who wrote it, many times faster."""
    return headers_of(message_of(raw), folder)


def parse(raw: bytes, folder: str = "") -> Mail:
    """Headers, the plain and the HTML body, and what kinds of parts there are."""
    message = message_of(raw)
    return with_bodies(headers_of(message, folder), message)


def headers_of(message: Part, folder: str = "") -> Mail:
    """The headers of a message that was opened before."""
    return Mail(message.headers, folder=folder)


def with_bodies(mail: Mail, message: Part) -> Mail:
    """Headers with the decoded bodies of their message; attachments are left out."""
    plain: list[str] = []
    html: list[str] = []
    types = {message.type}
    method = ""
    for part in message.leaves():
        types.add(part.type)
        if part is not message and _is_attachment(part):
            continue
        if part.type == "text/plain":
            plain.append(_unflowed(part, _text(part)))
        elif part.type == "text/html":
            html.append(_text(part))
        elif part.type == "text/calendar":
            declared = part.content.parameters.get("method", "")
            if not declared:
                match = re.search(r"^METHOD:(\w+)", _text(part), re.MULTILINE)
                declared = match.group(1) if match else "NONE"
            method = declared.upper()
    return Mail(
        mail.headers,
        "\n".join(plain),
        "\n".join(html),
        method,
        frozenset(types),
        mail.folder,
    )


def addresses(values: list[str]) -> list[tuple[str, str]]:
    """(name, lower-cased address) of everybody in these header values."""
    if sum(map(len, values)) > _MANY_PEOPLE:
        return _addresses(values)
    return list(_known_addresses(tuple(values)))


@lru_cache(2_000)
def _known_addresses(values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The same people write again and again, and the library is slow to read them."""
    return tuple(_addresses(values))


def _addresses(values: Sequence[str]) -> list[tuple[str, str]]:
    found = []
    for name, address in email.utils.getaddresses(list(values)):
        local, _, domain = address.strip().rpartition("@")
        if local and domain and not local.startswith("=?"):
            found.append((header_text(name), address.strip().lower()))
    if not found:  # malformed: take what looks like an address
        text = header_text(" ".join(values))
        found = [("", match.lower()) for match in _ADDRESS.findall(text)]
    return found


def sent_at(mail: Mail) -> int | None:
    """Seconds since 1970 from Date, else from the newest Received header."""
    seconds = seconds_of(mail.header("date"))
    if seconds is None:
        seconds = seconds_of(header_text(mail.raw("received").rpartition(";")[2]))
    return seconds


def seconds_of(date: str) -> int | None:
    """Seconds since 1970 of a mail date; None if it is not one."""
    try:
        fields = email.utils.parsedate_tz(date)
        if fields is None or fields[0] not in _YEARS:
            return None
        return calendar.timegm((*fields[:6], 0, 0, 0)) - (fields[9] or 0)
    except (ValueError, OverflowError, IndexError, TypeError):
        return None


def _is_attachment(part: Part) -> bool:
    disposition = part.disposition()
    if disposition.value.startswith("attachment"):
        return True
    names = "filename" in disposition.parameters or "name" in part.content.parameters
    return names and part.type.startswith("text/")


def _text(part: Part) -> str:
    charset = part.content.parameters.get("charset", "")
    return decode(part.decoded()[:MAX_PART], charset)


def _unflowed(part: Part, text: str) -> str:
    """Soft line breaks of format=flowed joined again (RFC 3676)."""
    said = part.content.parameters
    if said.get("format", "").lower() != "flowed":
        return text
    glue = "" if said.get("delsp", "").lower() == "yes" else " "
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
