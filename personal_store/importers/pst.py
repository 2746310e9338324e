"""Outlook archives: .pst, and the .ost that Outlook keeps of an account.

Read through libpff, which is an extra. Calendar, contacts and tasks are skipped.
"""

from collections.abc import Iterator
from pathlib import Path

from personal_store.files.sources import Source, ends_with, locate
from personal_store.mail import outlook
from personal_store.mail.mail import Mail, parse_headers
from personal_store.mail.outlook import FAULTS, Place
from personal_store.reading.letters import read_letter
from personal_store.records import ImportFailure, Item, ReadOptions, Skipped

_SUFFIXES = (".pst", ".ost")


def sources(path: Path) -> list[Source]:
    """The file itself, or every archive of Outlook in a folder or zip."""
    return locate(path, ends_with(".pst", ".ost"), "Outlook archive (.pst)")


def envelopes(source: Source) -> Iterator[Mail]:
    """The headers of each message that can be read."""
    with outlook.opened(source) as archive:
        for place in outlook.places(archive):
            try:
                message = place.message()
                if _reason(outlook.kind_of(message)):
                    continue
                raw = outlook.raw_mail(message, with_bodies=False)
            except FAULTS:
                continue
            yield parse_headers(raw, place.label)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages, folder by folder; positions are their share of the file."""
    with outlook.opened(source) as archive:
        places = outlook.places(archive)
        for number, place in enumerate(places, 1):
            position = max(number, source.size * number // len(places))
            if position > options.start:
                yield _item(source, place, position, options.me)


def _item(source: Source, place: Place, position: int, me: frozenset[str]) -> Item:
    where = f"{source.name}, {place.label}, message {place.number + 1}"
    try:
        message = place.message()
        reason = _reason(outlook.kind_of(message))
        if reason:
            return Skipped(position, reason)
        raw = outlook.raw_mail(message)
    except FAULTS:
        return ImportFailure(position, where, "libpff cannot read it")
    return read_letter(raw, position=position, where=where, me=me, folder=place.label)


def _reason(kind: str) -> str:
    """Why something that is no mail is left out; empty for mail."""
    if kind.startswith("report."):
        return "automatic messages"
    if kind.startswith("ipm.schedule"):
        return "calendar messages"
    if kind and not kind.startswith("ipm.note"):
        return "calendar, contacts and tasks"
    return ""
