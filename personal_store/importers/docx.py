"""Word documents (.docx): the text as it reads now, without others' remarks."""

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

# Deleted and moved away under "track changes", field codes, and the copy of a text box
# that is kept for old programs. Comments, notes and page headers lie in other parts.
_SKIPPED = (
    *("del", "moveFrom", "instrText", "delText", "delInstrText", "Fallback"),
    *("pPr", "rPr"),  # where <w:tab> is a setting, not a character
)
_MARKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}


def sources(path: Path) -> list[Source]:
    """The file itself, or every .docx in a folder; archives in it stay shut."""
    found = locate(
        path,
        # Word keeps a file of this name beside one that it has open.
        lambda file: ends_with(".docx")(file) and not file.name.startswith("~$"),
        ".docx file",
        archives=False,
    )
    return bundled(path, found)


def recognises(source: Source) -> bool:
    """Whether it looks like something a person wrote."""
    return is_personal(source)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per file."""
    return read_documents(source, options, _text)


def _text(file: Source) -> Text:
    return packed_text(
        file,
        "word/document.xml",
        "docProps/core.xml",
        Paragraphs(
            ("p",), _SKIPPED, lambda name, _: _MARKS.get(name, ""), within=("t",)
        ),
        ("modified", "created"),
    )
