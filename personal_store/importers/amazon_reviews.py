"""Reviews from Amazon's "Request my data": *CustomerReviews*ReviewsVersions*.csv.

The file holds all versions of a review; the newest of each product is taken. Only one
public parser of it is known, and it looks for two spellings of half of the columns, so
several are accepted here; what is missing is said with the columns there are.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from personal_store.cleaning.cleaning import VERSION
from personal_store.files.sources import Source
from personal_store.importers.formats.exports import (
    Shape,
    digest,
    gather,
    prose,
    read_files,
)
from personal_store.importers.formats.tables import Row, has_columns, number, rows
from personal_store.records import Document, ImportFailure, Item, ReadOptions, Skipped
from personal_store.text.dates import parse_date

_TEXT = ("body", "reviewbody", "reviewtext", "content", "text")
_PRODUCT = ("productname", "itemname", "producttitle", "product")
_ID = ("asin", "productid", "itemid")
_STARS = ("starrating", "rating", "overallrating", "stars")
_CHANGED = ("lastmodifieddate", "lastupdateddate", "versiondate")
_WRITTEN = ("submissiondate", "reviewdate", "creationdate", "createddate", "date")
_TITLE = ("reviewtitle", "title", "headline", "reviewheadline")

_REVIEWS = Shape(
    "CustomerReviews file of Amazon",
    r".*CustomerReviews.*\.csv",
    lambda head: has_columns(head, _TEXT, (*_PRODUCT, *_ID), (*_STARS, *_TITLE)),
)


def sources(path: Path) -> Sequence[Source]:
    """The file itself, or the one in a folder or archive."""
    return gather(path, _REVIEWS)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per product, from the newest version of its review."""
    return read_files(source, options, _read_file)


def _read_file(file: Source) -> Iterator[Item]:
    newest: dict[str, tuple[int, int]] = {}
    for row in rows(file):
        if isinstance(row, Row):
            version = (parse_date(row.get(*_CHANGED, *_WRITTEN)) or 0, row.position)
            newest[_key(row)] = max(version, newest.get(_key(row), version))
    for row in rows(file):
        if isinstance(row, ImportFailure):
            yield row
        elif newest[_key(row)][1] != row.position:
            yield Skipped(row.position, "older versions of a review")
        else:
            yield _review(row)


def _review(row: Row) -> Document | Skipped:
    said = prose(row.get(*_TEXT))
    if not said:
        return Skipped(row.position, "ratings without text")
    return Document(
        position=row.position,
        key=_key(row),
        kind="review",
        text=said,
        title=prose(row.get(*_TITLE)),
        recipient=prose(row.get(*_PRODUCT)),
        sent_at=parse_date(row.get(*_WRITTEN, *_CHANGED)),
        rating=number(row.get(*_STARS)),
        cleaning=VERSION,
    )


def _key(row: Row) -> str:
    """One person writes one review of a product in a shop."""
    product = row.get(*_ID) or row.get(*_PRODUCT)
    if product:
        return digest("amazon", product, row.get("marketplace", "marketplaceid"))
    return digest("amazon", row.get(*_WRITTEN), row.get(*_TEXT))
