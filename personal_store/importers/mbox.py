"""Mailbox files: Gmail Takeout, Thunderbird, Apple Mail, anything mbox."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from personal_store.errors import SourceError
from personal_store.files.sources import Source, locate
from personal_store.mail.labels import folder_label, is_sent, unwanted
from personal_store.mail.mail import Mail, parse_headers
from personal_store.mail.splitting import (
    RawMessage,
    Stretch,
    begins_message,
    looks_like_mailbox,
    split,
    stretches,
)
from personal_store.reading.letters import Letter, read_now
from personal_store.records import Item, ReadOptions

_SUFFIXES = (".mbox", ".mbx", "")


def sources(path: Path) -> list[Source]:
    """The file itself, or every mailbox in a folder or zip such as a Takeout."""
    found = locate(
        path,
        lambda file: (
            Path(file.name).suffix.lower() in _SUFFIXES
            and looks_like_mailbox(file.head(512))
        ),
        "mbox file",
    )
    if path.is_file() and not found[0].member:
        head = found[0].head(4096)
        if not looks_like_mailbox(head):
            hint = "its first line is not 'From ', a sender and a date"
            if parse_headers(head).headers.get("from"):
                hint = "it looks like a single message, which 'import eml' reads"
            raise SourceError(f"{found[0].path} is not an mbox file: {hint}.")
    return found


def envelopes(source: Source) -> Iterator[Mail]:
    """The headers of each message."""
    folder = _folder(source)
    with source.open() as stream:
        for message in split(stream):
            yield parse_headers(message.content, folder)


def begins_at(source: Source, position: int) -> bool:
    """Whether a message begins there, as `split` finds them."""
    with source.open() as stream:
        return begins_message(stream, position)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages after options.start, which is where one begins."""
    return map(read_now, letters(source, options))


def letters(source: Source, options: ReadOptions) -> Iterator[Letter | Item]:
    """The messages after options.start, not read yet; of a plain file only where each
    lies, so that other processes can read them."""
    folder = _folder(source)

    def letter(place: RawMessage | Stretch, raw: bytes | Stretch) -> Letter:
        where = f"{source.name}, message at byte {place.begin:,}"
        return Letter(raw, place.end, where, options.me, folder=folder)

    if source.content is None:
        for one in stretches(source.path, options.start):
            yield letter(one, one)
        return
    with source.open() as stream:
        for message in split(stream, options.start):
            found = letter(message, message.content)
            yield replace(found, envelope=message.envelope)


def _folder(source: Source) -> str:
    """The name of a mailbox that programs keep for sent mail, drafts, trash or spam;
    Apple Mail gives it to the folder around a file called 'mbox'."""
    inner = source.name == "mbox" and source.folders
    label = folder_label(source.folders[-1] if inner else source.name)
    return label if is_sent((label,)) or unwanted((label,)) else ""
