"""Reviews and private notes from Goodreads: goodreads_library_export.csv.

A rating of 0 means none. Dates are year/month/day. The day a book was added stands for
the day of a review that has no date of reading.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from personal_store.cleaning import VERSION
from personal_store.dates import parse_date
from personal_store.exports import (
    Shape,
    digest,
    gather,
    prose,
    read_files,
    without_text,
)
from personal_store.records import Document, ImportFailure, Item, ReadOptions
from personal_store.sources import Source
from personal_store.tables import Row, has_columns, number, rows

_LIBRARY = Shape(
    "library export of Goodreads",
    r".*\.csv",
    lambda head: has_columns(head, ("bookid",), ("myreview",), ("title",)),
)


def sources(path: Path) -> Sequence[Source]:
    """The file itself, or the one in a folder or archive."""
    return gather(path, _LIBRARY)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """A review, a note or both per book."""
    return read_files(source, options, _read_file)


def _read_file(file: Source) -> Iterator[Item]:
    for row in rows(file):
        if isinstance(row, ImportFailure):
            yield row
            continue
        # The last item of a row carries its position, or a run that is cut in between
        # would skip it when it goes on.
        note = _document(row, "note", row.get("privatenotes"), row.position - 1)
        if note is not None:
            yield note
        review = _document(row, "review", row.get("myreview"), row.position)
        yield review or without_text(row.position)


def _document(row: Row, kind: str, written: str, position: int) -> Document | None:
    said = prose(written)
    if not said:
        return None
    book = row.get("bookid") or [row.get("title"), row.get("author")]
    return Document(
        position=position,
        key=digest("goodreads", kind, book),
        kind=kind,
        text=said,
        recipient=row.get("title"),
        sent_at=parse_date(row.get("dateread", "dateadded")),
        rating=(number(row.get("myrating")) or None) if kind == "review" else None,
        cleaning=VERSION,
    )
