"""Reviews of films from Letterboxd: reviews.csv of its export.

What lies in the folders `deleted` and `orphaned` of the export is left out: the person
took it back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from personal_store.cleaning import VERSION
from personal_store.dates import parse_date
from personal_store.errors import SourceError
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

_REVIEWS = Shape(
    "reviews.csv of Letterboxd",
    r".*\.csv",
    lambda head: has_columns(head, ("letterboxduri",), ("review",), ("name",)),
)


def sources(path: Path) -> Sequence[Source]:
    """The file itself, or the one in a folder or archive."""
    (export,) = gather(path, _REVIEWS)
    # Claimed above, so that no importer of tables takes them, and not read.
    given = path.is_file() and not export.files[0].member
    files = tuple(f for f in export.files if given or not _taken_back(f))
    if not files:
        raise SourceError(f"There is no {_REVIEWS.what} in {path}.")
    return [replace(export, size=sum(f.size for f in files), files=files)]


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per review."""
    return read_files(source, options, _read_file)


def _taken_back(file: Source) -> bool:
    return file.folders[-1:] in (("deleted",), ("orphaned",))


def _read_file(file: Source) -> Iterator[Item]:
    for row in rows(file):
        yield row if isinstance(row, ImportFailure) else _review(row)


def _review(row: Row) -> Document | Skipped:
    said = prose(row.get("review"))
    if not said:
        return without_text(row.position)
    film = (row.get("letterboxduri"), row.get("name"), row.get("year"))
    return Document(
        position=row.position,
        key=digest("letterboxd", *film),
        kind="review",
        text=said,
        recipient=row.get("name"),
        sent_at=parse_date(row.get("date", "watcheddate")),
        rating=number(row.get("rating")),
        cleaning=VERSION,
    )
