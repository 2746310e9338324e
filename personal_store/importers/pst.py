"""Outlook archives, .pst and .ost, through libpff: messages built again as mail.

An archive holds no mail as it was sent, but fields. What was received has the headers
of its way here; what was sent has none, so they are made of its fields. Calendar,
contacts and tasks are skipped.

libpff is a library in C and an extra. Whatever it raises on damaged bytes is translated
here and nowhere else.
"""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from email.utils import format_datetime, formataddr
from pathlib import Path
from typing import Any

from base.extras import how_to_add
from personal_store.errors import SourceError
from personal_store.files import Source, Spill, ends_with, locate
from personal_store.mail.labels import unwanted
from personal_store.mail.mail import Mail, parse_headers
from personal_store.reading.letters import Letter, read_now
from personal_store.records import ImportFailure, Item, ReadOptions, Skipped
from personal_store.text.charset import decode, storable

FAULTS = (OSError, ValueError, OverflowError, MemoryError, TypeError, AttributeError)
"""What libpff raises on damaged bytes, or lacks on what is no message after all."""

_SEARCH_FOLDER = 0x03
_DEEPEST = 64
_LONGEST = 2_000_000
"""Bytes of a body that are kept; more of it is not looked at anyway."""

# Fields by their numbers in [MS-OXPROPS].
_CLASS, _MESSAGE_ID, _ANSWERED, _REFERENCES = 0x001A, 0x1035, 0x1042, 0x1039
_ADDRESSES = (0x5D02, 0x5D01, 0x0065, 0x0C1F)
_NAMES = (0x0042, 0x0C1A)
_DISPLAY_TO, _DISPLAY_CC = 0x0E04, 0x0E03
_CODEPAGE = 0x3FDE
_KIND, _NAME, _ADDRESS, _SMTP = 0x0C15, 0x3001, 0x3003, 0x39FE
_TO, _CC = 1, 2
_REASONS = {
    "report.": "automatic messages",
    "ipm.schedule": "calendar messages",
    "ipm.note": "",
}
_OF_BODY = ("content-", "mime-version")


@dataclass(frozen=True, slots=True)
class Place:
    """Where one message lies."""

    folder: Any = field(repr=False)
    label: str  # what its folder is called, or the trash or the like that this lies in
    number: int  # the number of the message in its folder, from 0

    def message(self) -> Any:
        """The message as libpff gives it; raises one of FAULTS."""
        return self.folder.get_sub_message(self.number)


@contextmanager
def opened(source: Source) -> Iterator[Any]:
    """An archive, open; raises SourceError if it is invalid or libpff is missing."""
    try:
        library = importlib.import_module("pypff")
    except ImportError as error:
        raise SourceError(
            f"Outlook archives need a library more: {how_to_add('pst')}. Or make "
            "mailboxes of it, which 'import mbox' reads: readpst -r -o FOLDER FILE."
        ) from error
    with source.open() as stream:
        # It is read here and there, which in a zip means from the start each time.
        seekable = Spill().keep(stream, source)() if source.member else stream
        archive = library.file()
        try:
            archive.open_file_object(seekable)
        except FAULTS as error:
            raise SourceError(
                f"{source.place} is damaged, or no archive of Outlook: libpff cannot "
                "open it."
            ) from error
        try:
            yield archive
        finally:
            archive.close()


def places(archive: Any) -> list[Place]:
    """Where all messages lie, folder by folder; folders nobody can read are left."""
    found: list[Place] = []
    waiting = [(_tried(archive, "root_folder"), "", 0)]
    while waiting:
        folder, above, depth = waiting.pop()
        if folder is None or depth > _DEEPEST:
            continue
        identifier = _tried(folder, "identifier")
        if isinstance(identifier, int) and identifier & 0x1F == _SEARCH_FOLDER:
            continue  # which holds no messages of its own
        label = above if unwanted((above,)) else _said(_tried(folder, "name"))
        count = _tried(folder, "number_of_sub_messages") or 0
        found += [Place(folder, label, number) for number in range(count)]
        inner = range(_tried(folder, "number_of_sub_folders") or 0)
        below = [_tried(folder, "get_sub_folder", n) for n in reversed(inner)]
        waiting += [(one, label, depth + 1) for one in below]
    return found


def kind_of(message: Any) -> str:
    """What a message is, such as 'ipm.note' for mail; lower-case."""
    return _text(_fields(message), _CLASS).lower()


def raw_mail(message: Any, *, with_bodies: bool = True) -> bytes:
    """The message as it would have been sent, without attachments.

    Raises one of FAULTS if libpff cannot read it.
    """
    headers = storable(_said(message.transport_headers))
    top = _own_headers(headers) if headers.strip() else _made_headers(message)
    if not with_bodies:
        return f"{top}\n\n".encode()
    return f"{top}\n".encode() + _bodies(message)


def _own_headers(headers: str) -> str:
    """The headers, but those that describe a body which is not there any more."""
    kept: list[str] = []
    keeps = True
    for line in filter(str.strip, headers.splitlines()):
        if line[0] not in " \t":
            keeps = not line.lower().startswith(_OF_BODY)
        kept += [line] if keeps else []
    return "\n".join(kept)


def _made_headers(message: Any) -> str:
    fields = _fields(message)
    table = _tried(message, "recipients")
    found: dict[int, list[str]] = {_TO: [], _CC: []}
    for number in range(_tried(table, "number_of_record_sets") or 0):
        row = _entries(_tried(table, "get_record_set", number))
        addresses = (_text(row, _SMTP), _text(row, _ADDRESS))
        address = next((a for a in addresses if "@" in a), "")
        name = _text(row, _NAME)
        if address or name:
            kind = _number(row, _KIND)
            found.setdefault(kind, []).append(formataddr((name, address)))
    name = next(filter(None, (_text(fields, name) for name in _NAMES)), "")
    # An address of mail; Exchange has others, which say nothing elsewhere.
    senders = (_text(fields, number) for number in _ADDRESSES)
    sender = next((address for address in senders if "@" in address), "")
    made = {
        "From": formataddr((name, sender)),
        "To": ", ".join(found[_TO]) or _text(fields, _DISPLAY_TO),
        "Cc": ", ".join(found[_CC]) or _text(fields, _DISPLAY_CC),
        "Subject": _said(_tried(message, "subject")),
        "Date": _date(message),
        "Message-ID": _text(fields, _MESSAGE_ID),
        "In-Reply-To": _text(fields, _ANSWERED),
        "References": _text(fields, _REFERENCES),
    }
    lines = (f"{name}: {' '.join(value.split())}" for name, value in made.items())
    return "\n".join(line for line in lines if not line.endswith(": "))


def _bodies(message: Any) -> bytes:
    plain = decode((message.plain_text_body or b"")[:_LONGEST])
    number = _number(_fields(message), _CODEPAGE)
    html = decode((_tried(message, "html_body") or b"")[:_LONGEST], f"cp{number}")
    parts = [MIMEText(plain, "plain", "utf-8")] if plain.strip() else []
    parts += [MIMEText(html, "html", "utf-8")] if html.strip() else []
    if len(parts) == 1:
        return parts[0].as_bytes()
    return MIMEMultipart("alternative", _subparts=parts).as_bytes()


def _date(message: Any) -> str:
    for name in ("client_submit_time", "delivery_time"):
        moment = _tried(message, name)
        if isinstance(moment, datetime) and moment.year > 1970:
            return format_datetime(moment.replace(tzinfo=UTC))
    return ""


def _fields(message: Any) -> dict[int, Any]:
    """The entries of a message by their numbers."""
    if not _tried(message, "number_of_record_sets"):
        return {}
    return _entries(_tried(message, "get_record_set", 0))


def _entries(record_set: Any) -> dict[int, Any]:
    count = _tried(record_set, "number_of_entries") or 0
    entries = (_tried(record_set, "get_entry", number) for number in range(count))
    found = ((_tried(entry, "entry_type"), entry) for entry in entries)
    return {name: entry for name, entry in found if isinstance(name, int)}


def _text(fields: dict[int, Any], name: int) -> str:
    return storable(_said(_tried(fields.get(name), "data_as_string")))


def _number(fields: dict[int, Any], name: int) -> int:
    value = _tried(fields.get(name), "data_as_integer")
    return value if isinstance(value, int) else 0


def _said(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _tried(thing: Any, name: str, *of: int) -> Any:
    """What libpff says of something, or of a numbered part of it; None if it cannot
    read that, or of nothing."""
    try:
        found: Any = getattr(thing, name, None)
        return found(*of) if of else found
    except FAULTS:
        return None


def sources(path: Path) -> list[Source]:
    """The file itself, or every archive of Outlook in a folder or zip."""
    return locate(path, ends_with(".pst", ".ost"), "Outlook archive (.pst)")


def envelopes(source: Source) -> Iterator[Mail]:
    """The headers of each message that can be read."""
    with opened(source) as archive:
        for place in places(archive):
            try:
                message = place.message()
                if _reason(kind_of(message)):
                    continue
                raw = raw_mail(message, with_bodies=False)
            except FAULTS:
                continue
            yield parse_headers(raw, place.label)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages, folder by folder; positions are their share of the file."""
    with opened(source) as archive:
        every = places(archive)
        for number, place in enumerate(every, 1):
            position = max(number, source.size * number // len(every))
            if position > options.start:
                yield _item(source, place, position, options.me)


def _item(source: Source, place: Place, position: int, me: frozenset[str]) -> Item:
    where = f"{source.name}, {place.label}, message {place.number + 1}"
    try:
        message = place.message()
        reason = _reason(kind_of(message))
        if reason:
            return Skipped(position, reason)
        raw = raw_mail(message)
    except FAULTS:
        return ImportFailure(position, where, "libpff cannot read it")
    return read_now(Letter(raw, position, where, me, folder=place.label))


def _reason(kind: str) -> str:
    """Why something that is no mail is left out; empty for mail."""
    reasons = (reason for begins, reason in _REASONS.items() if kind.startswith(begins))
    return next(reasons, "calendar, contacts and tasks") if kind else ""
