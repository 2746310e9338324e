"""Documents of LibreOffice and others (.odt): the text, without others' remarks."""

from collections.abc import Iterator
from pathlib import Path

from personal_store.files.files import bundled
from personal_store.files.sources import Source, ends_with, locate
from personal_store.importers.formats.documents import (
    Paragraphs,
    Text,
    is_personal,
    packed_text,
    read_documents,
)
from personal_store.records import Item, ReadOptions

_SKIPPED = (
    *("tracked-changes", "annotation", "note", "table-of-content", "bibliography"),
    *("alphabetical-index", "sequence-decls", "scripts", "font-face-decls"),
    *("automatic-styles", "title", "desc"),
)
_MOST_SPACES = 100


def sources(path: Path) -> list[Source]:
    """The file itself, or every .odt in a folder; archives in it stay shut."""
    return bundled(path, locate(path, ends_with(".odt"), ".odt file", archives=False))


def recognises(source: Source) -> bool:
    """Whether it looks like something a person wrote."""
    return is_personal(source)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per file."""
    return read_documents(source, options, _text)


def _text(file: Source) -> Text:
    return packed_text(
        file,
        "content.xml",
        "meta.xml",
        Paragraphs(("p", "h"), _SKIPPED, _written, within=("p", "h")),
        ("date", "creation-date"),
    )


def _written(name: str, given: dict[str, str]) -> str:
    if name == "s":
        count = given.get("c", "1")
        return " " * min(int(count) if count.isdecimal() else 1, _MOST_SPACES)
    return {"tab": "\t", "line-break": "\n"}.get(name, "")
