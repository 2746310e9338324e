"""Single messages: one .eml file, or a folder or zip of them."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from personal_store.errors import SourceError
from personal_store.letters import read_letter
from personal_store.mail import Mail, parse_headers
from personal_store.records import ImportFailure, Item, ReadOptions
from personal_store.sources import Source, locate
from personal_store.splitting import MAX_MESSAGE, looks_like_mailbox


@dataclass(frozen=True, slots=True)
class _Messages(Source):
    """All messages behind a path, read one after the other as one source."""

    files: tuple[Source, ...] = ()

    def fingerprint(self) -> str:
        listing = "\n".join(f"{file.place} {file.size}" for file in self.files)
        return hashlib.sha256(listing.encode("utf-8", "replace")).hexdigest()


def sources(path: Path) -> list[Source]:
    """One source that stands for all the messages behind the path."""
    found = locate(path, _is_message, ".eml file")
    if path.is_file() and not found[0].member:
        _check(found[0])
    return [_Messages(path, sum(file.size for file in found), files=tuple(found))]


def envelopes(source: Source) -> Iterator[Mail]:
    """The headers of each message that can be read."""
    for file in _files(source):
        try:
            yield parse_headers(file.head())
        except OSError:
            continue


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages, in the order of their names."""
    position = 0
    for file in _files(source):
        position += file.size
        if position > options.start:
            yield _read_file(file, position, options)


def _read_file(file: Source, position: int, options: ReadOptions) -> Item:
    where = file.member or str(file.path)
    try:
        raw = file.head(MAX_MESSAGE)
    except OSError as error:
        return ImportFailure(position, where, f"it cannot be read: {error}")
    return read_letter(raw, position=position, where=where, me=options.me)


def _files(source: Source) -> tuple[Source, ...]:
    return source.files if isinstance(source, _Messages) else (source,)


def _is_message(source: Source) -> bool:
    return source.name.lower().endswith(".eml")


def _check(source: Source) -> None:
    head = source.head(4096)
    if looks_like_mailbox(head):
        raise SourceError(f"{source.path} is a mailbox: 'import mbox' reads it.")
    if not parse_headers(head).headers.get("from"):
        raise SourceError(f"{source.path} is not a mail message: it has no 'From:'.")
