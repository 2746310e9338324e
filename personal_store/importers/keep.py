"""Notes of Google Keep from Takeout: one JSON file per note.

The folder and the files have names in the person's language, so a note is told by its
fields. Notes shared with others are left out: others may have written in them. So are
notes in the trash. Exports until 2021 have no date of creation; there the date of the
last change counts, and a note that is changed later is another note.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from personal_store.cleaning.cleaning import VERSION, tidy
from personal_store.files.sources import Source
from personal_store.importers.formats.exports import (
    Shape,
    digest,
    gather,
    read_files,
    without_text,
)
from personal_store.importers.formats.objects import (
    content,
    listing,
    mapping,
    marked,
    text,
)
from personal_store.records import Document, ImportFailure, Item, ReadOptions, Skipped
from personal_store.text.dates import parse_date

_NOTE = Shape(
    "note of Google Keep",
    r".*\.json",
    lambda head: marked(
        head,
        ("userEditedTimestampUsec", "createdTimestampUsec", "isTrashed"),
        ("textContent", "listContent", "isArchived"),
    ),
)


def sources(path: Path) -> Sequence[Source]:
    """One source for all notes behind the path."""
    return gather(path, _NOTE)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per note."""
    return read_files(source, options, _read_file)


def _read_file(file: Source) -> Iterator[Item]:
    note = content(file)
    if isinstance(note, dict):
        yield _note(note, file.size)
    else:
        yield ImportFailure(file.size, file.name, "it is not an object with fields")


def _note(note: dict[str, Any], position: int) -> Document | Skipped:
    points = (mapping(point).get("text") for point in listing(note.get("listContent")))
    lines = [text(note.get("textContent"))]
    lines += [f"- {point}" for point in points if isinstance(point, str) and point]
    said = tidy("\n".join(lines)).strip()
    if note.get("isTrashed") is True:
        return Skipped(position, "in the trash")
    if len(listing(note.get("sharees"))) > 1:
        return Skipped(position, "notes shared with others")
    if not said:
        return without_text(position)
    created, edited = (
        note.get("createdTimestampUsec"),
        note.get("userEditedTimestampUsec"),
    )
    title = tidy(text(note.get("title"))).strip()
    parts = ("created", created) if created else (edited, title, said)
    labels = (mapping(label).get("name") for label in listing(note.get("labels")))
    return Document(
        position=position,
        key=digest("keep", *parts),
        kind="note",
        text=said,
        title=title,
        sent_at=parse_date(created or edited),
        labels=tuple(label for label in labels if isinstance(label, str)),
        cleaning=VERSION,
    )
