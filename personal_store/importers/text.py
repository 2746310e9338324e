"""Plain text files that their owner wrote: notes, essays, drafts."""

from collections.abc import Iterator
from pathlib import Path

from personal_store.errors import SourceError
from personal_store.files.files import bundled
from personal_store.files.sources import Source, ends_with, locate
from personal_store.importers.formats.documents import (
    MAX_DOCUMENT,
    Text,
    is_personal,
    is_talk,
    read_documents,
)
from personal_store.records import Item, ReadOptions
from personal_store.text.charset import decode

_SUFFIXES = (".txt", ".text")
_WIDE = (b"\xff\xfe", b"\xfe\xff")


def sources(path: Path) -> list[Source]:
    """The file itself, or every text file in a folder; archives in it stay shut."""
    return bundled(
        path, locate(path, ends_with(".txt", ".text"), "text file", archives=False)
    )


def recognises(source: Source) -> bool:
    """Whether it looks like something that one person wrote."""
    return is_personal(source) and not is_talk(source.head())


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per file, its date that of the file."""
    return read_documents(source, options, _text)


def _text(file: Source) -> Text:
    data = file.whole(MAX_DOCUMENT)
    wide = data.startswith(_WIDE)
    if b"\0" in data[:4096] and not wide:
        raise SourceError(f"{file.name} is not a text file.")
    return Text(decode(data, "utf-16" if wide else ""))
