"""Reviews from The StoryGraph: the CSV file of its export.

Ratings are in quarter stars. There is no date of a review; the last day of reading, or
the day the book was added, stands for it.
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
from personal_store.records import Document, ImportFailure, Item, ReadOptions, Skipped
from personal_store.sources import Source
from personal_store.tables import Row, has_columns, number, rows

_LIBRARY = Shape(
    "library export of StoryGraph",
    r".*\.csv",
    lambda head: has_columns(head, ("readstatus",), ("review",), ("starrating",)),
)


def sources(path: Path) -> Sequence[Source]:
    """The file itself, or the one in a folder or archive."""
    return gather(path, _LIBRARY)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per book with a review."""
    return read_files(source, options, _read_file)


def _read_file(file: Source) -> Iterator[Item]:
    for row in rows(file):
        yield row if isinstance(row, ImportFailure) else _review(row)


def _review(row: Row) -> Document | Skipped:
    said = prose(row.get("review"))
    if not said:
        return without_text(row.position)
    book = (row.get("title"), row.get("authors", "author"), row.get("isbnuid", "isbn"))
    return Document(
        position=row.position,
        key=digest("storygraph", *book),
        kind="review",
        text=said,
        recipient=row.get("title"),
        sent_at=parse_date(row.get("lastdateread", "dateadded")),
        rating=number(row.get("starrating")),
        cleaning=VERSION,
    )
