"""Reviews of apps from Google Takeout: Reviews.json of the Play Store.

Google Maps has a file of the same name, so a file is told by its fields: a list of
objects "review" with comment, starRating, creationTime and document.title. Field names
as read by public parsers of Takeout; other spellings are taken too.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from personal_store.cleaning.cleaning import VERSION
from personal_store.files.sources import Source
from personal_store.importers.formats.exports import (
    Shape,
    digest,
    each,
    gather,
    prose,
    read_files,
)
from personal_store.importers.formats.objects import (
    Element,
    elements,
    mapping,
    marked,
    text,
)
from personal_store.importers.formats.tables import number
from personal_store.records import Document, Item, ReadOptions, Skipped
from personal_store.text.dates import parse_date

_REVIEWS = Shape(
    "Reviews.json of Google Play",
    r".*\.json",
    lambda head: marked(
        head, ("review",), ("comment", "starRating"), ("document", "title")
    ),
)


def sources(path: Path) -> Sequence[Source]:
    """The file itself, or the one in a Takeout folder or archive."""
    return gather(path, _REVIEWS)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per review of an app; one person writes one review of it."""
    return read_files(
        source, options, lambda file: each(elements(file, "reviews"), _review)
    )


def _review(element: Element) -> Document | Skipped:
    review = mapping(element.get("review")) or element.fields
    document = mapping(review.get("document") or review.get("doc"))
    said = prose(review.get("comment") or review.get("text"))
    if not said:
        return Skipped(element.position, "ratings without text")
    app = text(document.get("title"))
    date = review.get("creationTime") or review.get("lastUpdateTime")
    own_id = document.get("documentId") or app
    parts = (own_id, document.get("documentType")) if own_id else (date, said)
    return Document(
        position=element.position,
        key=digest("play", *parts),
        kind="review",
        text=said,
        title=prose(review.get("title")),
        recipient=app,
        sent_at=parse_date(date),
        rating=number(review.get("starRating")),
        cleaning=VERSION,
    )
