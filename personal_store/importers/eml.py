"""Single messages: one .eml file, or a folder or zip of them."""

from collections.abc import Iterator
from pathlib import Path

from personal_store.errors import SourceError
from personal_store.files.files import bundled
from personal_store.files.sources import Source, ends_with, locate
from personal_store.mail.mail import Mail, parse_headers
from personal_store.mail.splitting import MAX_MESSAGE, looks_like_mailbox
from personal_store.reading.bundles import envelopes_of, read_each
from personal_store.reading.letters import Letter, read_now
from personal_store.records import Item, ReadOptions


def sources(path: Path) -> list[Source]:
    """One source that stands for all the messages behind the path."""
    found = locate(path, ends_with(".eml"), ".eml file")
    if path.is_file() and not found[0].member:
        head = found[0].head(4096)
        if looks_like_mailbox(head):
            raise SourceError(f"{found[0].path} is a mailbox: 'import mbox' reads it.")
        if not parse_headers(head).headers.get("from"):
            raise SourceError(
                f"{found[0].path} is not a mail message: it has no 'From:'."
            )
    return bundled(path, found)


def envelopes(source: Source) -> Iterator[Mail]:
    """The headers of each message that can be read."""
    return envelopes_of(source)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages, in the order of their names."""
    return map(read_now, letters(source, options))


def letters(source: Source, options: ReadOptions) -> Iterator[Letter | Item]:
    """The messages as `read` gives them, not parsed yet."""

    def read_file(file: Source, _: int, position: int) -> Iterator[Letter]:
        raw = file.head(MAX_MESSAGE)
        yield Letter(raw, position, file.place, options.me)

    return read_each(source, options, read_file)
