"""Apple Mail's own files: a byte count, the message, and a property list."""

import re
from collections.abc import Iterator
from pathlib import Path

from personal_store.bundles import envelopes_of, read_each
from personal_store.files import bundled
from personal_store.folders import folder_label
from personal_store.letters import Letter, read_now
from personal_store.mail import Mail
from personal_store.records import ImportFailure, Item, ReadOptions, Skipped
from personal_store.sources import Source, locate
from personal_store.splitting import MAX_MESSAGE

_COUNT = re.compile(rb"\s*(\d{1,12})[ \t]*\r?\n")
_FLAGS = re.compile(rb"<key>flags</key>\s*<integer>(\d{1,19})</integer>")
_LIST = 65_536
"""Bytes of the property list that are looked at."""
_DELETED = 1 << 1
_DRAFT = 1 << 6


def sources(path: Path) -> list[Source]:
    """All messages below a folder such as ~/Library/Mail; partial ones as well."""
    return bundled(path, locate(path, _is_message, ".emlx file"))


def envelopes(source: Source) -> Iterator[Mail]:
    """The headers of each message that can be read."""
    return envelopes_of(source, _folder, lambda file: _COUNT.sub(b"", file.head(), 1))


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """The messages, but those Apple Mail marked as deleted or as drafts."""
    return map(read_now, letters(source, options))


def letters(source: Source, options: ReadOptions) -> Iterator[Letter | Item]:
    """The same, not read yet."""

    def read_file(file: Source, _: int, position: int) -> Iterator[Letter | Item]:
        found = _message(file)
        if found is None:
            reason = "its first line is no byte count"
            yield ImportFailure(position, file.place, reason)
            return
        raw, flags = found
        if flags & _DELETED or flags & _DRAFT:
            reason = "in the trash" if flags & _DELETED else "drafts"
            yield Skipped(position, reason)
            return
        yield Letter(
            raw,
            position=position,
            where=file.place,
            me=options.me,
            folder=_folder(file),
        )

    return read_each(source, options, read_file)


def _message(file: Source) -> tuple[bytes, int] | None:
    """(the message, its flags); None if the file begins otherwise."""
    with file.open() as stream:
        first = stream.read(64)
        count = _COUNT.match(first)
        if count is None:
            return None
        length = int(count[1])
        stream.seek(count.end())
        raw = stream.read(min(length, MAX_MESSAGE))
        stream.seek(count.end() + length)
        flags = _FLAGS.search(stream.read(_LIST))
    return raw, int(flags[1]) if flags else 0


def _is_message(source: Source) -> bool:
    return source.name.lower().endswith(".emlx")


def _folder(file: Source) -> str:
    """The mailbox: .../Sent Messages.mbox/<id>/Data/Messages/7.emlx."""
    boxes = (name for name in reversed(file.folders) if name.endswith(".mbox"))
    return folder_label(next(boxes, ""))
