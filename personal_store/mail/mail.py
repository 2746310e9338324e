"""One raw message to headers and body text, without ever giving up on a bad one.

Python's modern mail policy raises on unknown charsets and is fifteen times slower, its
old one three times, so mime.py takes messages apart and this decodes what it found.
"""

import calendar
import email.utils
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain

from personal_store.mail.mime import Part, message_of
from personal_store.text.charset import decode, header_text

MAX_PART = 2_000_000
"""Bytes of one body part that are looked at."""

_QUOTED = r'"(?:[^"\\]|\\.){0,200}"'
_PIECE = re.compile(  # of a list of mailboxes: what commas and brackets may stand in
    rf"(?P<quoted>{_QUOTED})|<(?P<inside>(?:{_QUOTED}|[^<>\"]){{0,200}})(?:>|\Z)"
    r"|\((?P<comment>(?:[^()\\]|\\.|\([^()]{0,200}\)){0,200})\)"
    r"|(?P<end>[,;])|(?P<group>:)|(?P<text>[^\"<(,;:]+|.)",
    re.DOTALL,
)
_BARE = re.compile(
    rf"(?:{_QUOTED}|[^\s<>()\[\],;:\"]+)@(?:\[[^\]\s]+\]|[^\s<>()\[\],;:\"]+)"
)
_MOST = 50_000
"""Characters of addresses that are looked at."""
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


def address_in(said: str) -> str:
    """The address in what somebody gives, such as 'Ann <ann@example.org>'; empty if
    there is none, or if it is a name of a service, such as 'whatsapp:ann'."""
    found = [] if ":" in said else addresses([said])
    return found[-1][1] if found else ""


@lru_cache(2_000)
def _known_addresses(values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """The same people write again and again, and the library is slow to read them."""
    return tuple(_addresses(values))


def _addresses(values: Sequence[str]) -> list[tuple[str, str]]:
    found = [pair for value in values for pair in _mailboxes(value)]
    if not found and any("=?" in value for value in values):  # encoded as a whole
        found = [pair for value in values for pair in _mailboxes(header_text(value))]
    return found


def _mailboxes(header: str) -> Iterator[tuple[str, str]]:
    """(name, lower-cased address) of each mailbox that has one.

    A name may hold anything, even somebody else's address: if there are angle brackets,
    only what stands in the last of them is the address. `email.utils.getaddresses`
    takes `ann@example.org <shop@example.com>` for Ann's.
    """
    name: list[str] = []
    comment, inside = "", None
    for piece in chain(_PIECE.finditer(header[:_MOST]), [None]):
        kind = piece.lastgroup if piece else "end"
        said = piece[kind] if piece and kind else ""
        if kind == "inside":
            inside = re.sub(r"\s|\([^()]*\)", "", said)
        elif kind == "comment":
            comment = said
        elif kind == "group":
            name.clear()  # of the group, not of who follows
        elif kind != "end":
            name.append(said)
        else:
            text = "".join(name)
            if inside is None:
                bare = list(_BARE.finditer(text))[-1:]
                inside = bare[0][0] if bare else ""
                text = comment or text.replace(inside, "").strip(" []\t\r\n")
            # Behind a route of hosts, or 'mailto:'.
            address = inside.rpartition(":")[2] if inside[:1] != '"' else inside
            local, _, domain = address.strip("'.").lower().rpartition("@")
            if local and domain and not local.startswith("=?"):
                yield _shown(text), f"{local}@{domain}"
            name.clear()
            comment, inside = "", None


def _shown(name: str) -> str:
    """A name out of its quotation marks, decoded."""
    plain = re.sub(
        r'"((?:[^"\\]|\\.)*)"', lambda m: re.sub(r"\\(.)", r"\1", m[1]), name
    )
    return header_text(" ".join(plain.split()))


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
