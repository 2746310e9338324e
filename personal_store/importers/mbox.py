"""Mailbox files: Gmail Takeout, Thunderbird, Apple Mail, anything mbox."""

from collections.abc import Iterator
from pathlib import Path

from personal_store.errors import SourceError
from personal_store.letters import Letter, read_now
from personal_store.mail import Mail, parse_headers
from personal_store.records import Item, ReadOptions
from personal_store.sources import Source, locate
from personal_store.splitting import looks_like_mailbox, split

_SUFFIXES = (".mbox", ".mbx", "")


def sources(path: Path) -> list[Source]:
    """The file itself, or every mailbox in a folder or zip such as a Takeout."""
    found = locate(path, _is_mailbox, "mbox file")
    if path.is_file() and not found[0].member:
        _check(found[0])
    return found


def envelopes(source: Source) -> Iterator[Mail]:
    """The headers of each message."""
    with source.open() as stream:
        for message in split(stream):
            yield parse_headers(message.content)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages after options.start, which is where one begins."""
    return map(read_now, letters(source, options))


def letters(source: Source, options: ReadOptions) -> Iterator[Letter | Item]:
    """The same, not read yet."""
    with source.open() as stream:
        for message in split(stream, options.start):
            yield Letter(
                message.content,
                position=message.end,
                where=f"{source.name}, message at byte {message.begin:,}",
                me=options.me,
                envelope=message.envelope,
            )


def _is_mailbox(source: Source) -> bool:
    suffix = Path(source.name).suffix.lower()
    return suffix in _SUFFIXES and looks_like_mailbox(source.head(512))


def _check(source: Source) -> None:
    head = source.head(4096)
    if looks_like_mailbox(head):
        return
    hint = "its first line does not start with 'From '"
    if parse_headers(head).headers.get("from"):
        hint = "it looks like a single message, which 'import eml' reads"
    raise SourceError(f"{source.path} is not an mbox file: {hint}.")
