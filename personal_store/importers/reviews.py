"""Reviews: Amazon, Google Play, Google Maps, Goodreads, StoryGraph and Letterboxd.

Spellings of columns and fields are those that public parsers of these exports read.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from personal_store.cleaning.cleaning import tidy
from personal_store.errors import SourceError
from personal_store.files import Source, locate
from personal_store.importers.exports import (
    WITHOUT_TEXT,
    Export,
    Service,
    Shape,
    digest,
    each,
    placed,
    prose,
)
from personal_store.importers.structured import (
    NO_OBJECT,
    Element,
    Row,
    columns,
    content,
    elements,
    fields,
    has_columns,
    mapping,
    number,
    plain,
    rows,
    text,
)
from personal_store.records import Document, ImportFailure, Item, ReadOptions
from personal_store.text.dates import parse_date

_ONLY_STARS = "ratings without text"
_OLDER = "older versions of a review"


# Amazon's "Request my data" holds all versions of a review; the newest of each product
# is taken. Only one public parser is known, which looks for two spellings of half of
# the columns, so several are accepted.

_TEXT = ("body", "reviewbody", "reviewtext", "content", "text")
_PRODUCT = ("productname", "itemname", "producttitle", "product")
_ID = ("asin", "productid", "itemid")
_STARS = ("starrating", "rating", "overallrating", "stars")
_CHANGED = ("lastmodifieddate", "lastupdateddate", "versiondate")
_WRITTEN = ("submissiondate", "reviewdate", "creationdate", "createddate", "date")
_TITLE = ("reviewtitle", "title", "headline", "reviewheadline")


def _read_amazon(file: Source) -> Iterator[Item]:
    newest: dict[str, tuple[int, int]] = {}
    for row in rows(file):
        if isinstance(row, Row):
            version = (parse_date(row.get(*_CHANGED, *_WRITTEN)) or 0, row.position)
            newest[_product(row)] = max(version, newest.get(_product(row), version))

    def review(row: Row) -> Document | str:
        if newest[_product(row)][1] != row.position:
            return _OLDER
        said = prose(row.get(*_TEXT))
        if not said:
            return _ONLY_STARS
        return Document(
            *(0, _product(row), "review", said, prose(row.get(*_TITLE))),
            recipient=prose(row.get(*_PRODUCT)),
            sent_at=parse_date(row.get(*_WRITTEN, *_CHANGED)),
            rating=number(row.get(*_STARS)),
        )

    return each(rows(file), review)


def _product(row: Row) -> str:
    """The key: one person writes one review of a product in a shop."""
    product = row.get(*_ID) or row.get(*_PRODUCT)
    if product:
        return digest("amazon", product, row.get("marketplace", "marketplaceid"))
    return digest("amazon", row.get(*_WRITTEN), row.get(*_TEXT))


amazon_reviews = Service(
    Shape(
        "CustomerReviews file of Amazon",
        r".*CustomerReviews.*\.csv",
        lambda head: has_columns(head, _TEXT, (*_PRODUCT, *_ID), (*_STARS, *_TITLE)),
    ),
    _read_amazon,
)


# Google Play: Reviews.json from Takeout. Maps has a file of the same name, so a file is
# recognised by its fields.


def _app_review(element: Element) -> Document | str:
    review = mapping(element.get("review")) or element.fields
    document = mapping(review.get("document") or review.get("doc"))
    said = prose(review.get("comment") or review.get("text"))
    if not said:
        return _ONLY_STARS
    app = text(document.get("title"))
    date = review.get("creationTime") or review.get("lastUpdateTime")
    own_id = document.get("documentId") or app
    parts = (own_id, document.get("documentType")) if own_id else (date, said)
    return Document(
        *(0, digest("play", *parts), "review", said, prose(review.get("title")), app),
        sent_at=parse_date(date),
        rating=number(review.get("starRating")),
    )


google_play = Service(
    Shape(
        "Reviews.json of Google Play",
        r".*\.json",
        fields("review", "comment starRating", "document title"),
    ),
    lambda file: each(elements(file, "reviews"), _app_review),
)


# Google Maps: Reviews.json from Takeout, in any of its spellings. The file has a name
# in the person's language, so it is recognised by its fields, which are English.
# What customers wrote to a business, in a file of the same name, has a `reviewer`.

_KEY = re.compile(rb'"([^"\\\n]{1,60})"\s*:')
_SIGNS = {"reviewtextpublished", "fivestarratingpublished", "reviewtext",
          "reviewcomment", "starrating"}  # fmt: skip
_LISTS = {"features", "geometry", "location", "googlemapsurl"}
_OTHERS = {"reviewer", "document", "asin"}
"""Fields of reviews by others, of apps, of articles in a shop."""
_MAPS_TEXT = ("reviewtextpublished", "reviewtext", "reviewcomment", "text", "comment")
_MAPS_STARS = ("fivestarratingpublished", "starrating", "rating", "stars")
_DATE = ("date", "published", "time", "created")
_URL = ("googlemapsurl", "url")
_PLACE = ("name", "businessname", "title", "address")
_WORDS = {"one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0}


class _GoogleReviews:
    """Reviews of places from Google Takeout."""

    def sources(self, path: Path) -> list[Source]:
        """The file itself, or the review files in a Takeout folder or zip."""
        return locate(path, _is_review_file, "Reviews.json")

    def read(self, source: Source, options: ReadOptions) -> Iterator[Item]:
        """One document per place; of two reviews with the same key the last counts."""
        found = content(source)
        features = found.get("features") if isinstance(found, dict) else found
        if not isinstance(features, list):
            raise SourceError(
                f"{source.path} holds no reviews: Google's Reviews.json has a list "
                "'features'."
            )
        last = {_place_key(one): count for count, one in enumerate(features, 1)}
        for count, feature in enumerate(features, 1):
            position = source.size * count // len(features)
            if position <= options.start:
                continue
            newer = last[_place_key(feature)] != count
            try:
                yield placed(_OLDER if newer else _place_review(feature), position)
            except ValueError as error:
                where = f"{source.name}, review {count}"
                yield ImportFailure(position, where, str(error))


def _is_review_file(source: Source) -> bool:
    if not source.name.lower().endswith(".json"):
        return False
    found = (key.decode("utf-8", "replace") for key in _KEY.findall(source.head()))
    keys = {plain(key) for key in found}
    return bool(keys & _SIGNS and keys & _LISTS) and not keys & _OTHERS


def _place_review(feature: Any) -> Document | str:
    """Raises ValueError if it is no review."""
    if not isinstance(feature, dict):
        raise ValueError(NO_OBJECT)
    fields = _flat(feature)
    if "reviewer" in fields:
        return "reviews by others"
    written = _first(fields, _MAPS_TEXT)
    if written is not None and not isinstance(written, str):
        raise ValueError("its text is not a string")
    said = tidy(written or "")
    if not said:
        return _ONLY_STARS
    stars = _first(fields, _MAPS_STARS)
    if isinstance(stars, str):
        stars = _WORDS.get(stars.strip().casefold(), stars)
    return Document(
        *(0, _place_key(feature), "review", said),
        recipient=str(_first(fields, _PLACE) or ""),
        sent_at=parse_date(_first(fields, _DATE)),
        rating=number(stars),
    )


def _place_key(feature: Any) -> str:
    """The place: one person writes one review of it."""
    fields = _flat(feature) if isinstance(feature, dict) else {}
    url = _first(fields, _URL)
    if url:
        return f"maps:{url}"
    place = json.dumps([fields.get("coordinates"), _first(fields, _PLACE)])
    if place == "[null, null]":
        place = json.dumps(feature, sort_keys=True, default=str)
    return "maps:" + hashlib.sha256(place.encode()).hexdigest()


def _flat(feature: Mapping[str, Any]) -> dict[str, Any]:
    """All fields of a review, nested ones too, by a spelling without case and marks."""
    found: dict[str, Any] = {}
    for layer in (feature.get("geometry"), feature, feature.get("properties")):
        fields = [(plain(name), value) for name, value in mapping(layer).items()]
        found.update(fields)
        place = mapping(next((v for name, v in fields if name == "location"), None))
        found.update({plain(name): value for name, value in place.items()})
    return found


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((fields[n] for n in names if fields.get(n) not in (None, "")), None)


google_reviews = _GoogleReviews()


# Goodreads, StoryGraph and Letterboxd: a table with a row per book or film.


@dataclass(frozen=True, slots=True)
class _Library:
    """The table of one service; names of columns are spelled as by `plain`."""

    service: str
    review: str
    """Column with the review."""
    work: str
    """Column with the title of the book or film."""
    rating: str
    dates: tuple[str, ...]
    """Columns with the day of a review, the best first."""
    key: Callable[[Row, str], Sequence[object]]
    """(row, kind of text) to what says which text of which work it is."""
    note: str = ""
    """Column with notes for oneself."""

    def read_file(self, file: Source) -> Iterator[Item]:
        """A review, a note or both per work."""
        for row in rows(file):
            if isinstance(row, ImportFailure):
                yield row
                continue
            # The last item of a row carries its position, or a run that is cut in
            # between would skip it when it goes on.
            note = self._text(row, "note", self.note)
            if note is not None:
                yield placed(note, row.position - 1)
            review = self._text(row, "review", self.review)
            yield placed(review or WITHOUT_TEXT, row.position)

    def _text(self, row: Row, kind: str, column: str) -> Document | None:
        said = prose(row.get(column))
        if not said:
            return None
        return Document(
            *(0, digest(self.service, *self.key(row, kind)), kind, said),
            recipient=row.get(self.work),
            sent_at=parse_date(row.get(*self.dates)),
            rating=(number(row.get(self.rating)) or None) if kind == "review" else None,
        )


# A rating of 0 means none. The day a book was added stands for the day of a review that
# has no date of reading.
goodreads = Service(
    Shape(
        "library export of Goodreads",
        r".*\.csv",
        columns("bookid", "myreview", "title"),
    ),
    _Library(
        service="goodreads",
        review="myreview",
        note="privatenotes",
        work="title",
        rating="myrating",
        dates=("dateread", "dateadded"),
        key=lambda row, kind: (
            kind,
            row.get("bookid") or [row.get("title"), row.get("author")],
        ),
    ).read_file,
)

# Ratings are in quarter stars.
storygraph = Service(
    Shape(
        "library export of StoryGraph",
        r".*\.csv",
        columns("readstatus", "review", "starrating"),
    ),
    _Library(
        service="storygraph",
        review="review",
        work="title",
        rating="starrating",
        dates=("lastdateread", "dateadded"),
        key=lambda row, _: (
            row.get("title"),
            row.get("authors", "author"),
            row.get("isbnuid", "isbn"),
        ),
    ).read_file,
)

_FILMS = Shape(
    "reviews.csv of Letterboxd", r".*\.csv", columns("letterboxduri", "review", "name")
)
_TAKEN_BACK = (("deleted",), ("orphaned",))


class _Letterboxd(Service):
    """The person took back what lies in the folders `deleted` and `orphaned`."""

    def sources(self, path: Path) -> list[Export]:
        """The file itself, or the one in a folder or archive."""
        (export,) = super().sources(path)
        # Claimed above, so that no importer of tables takes them, and not read.
        given = path.is_file() and not export.files[0].member
        kept = (f for f in export.files if given or f.folders[-1:] not in _TAKEN_BACK)
        files = tuple(kept)
        if not files:
            raise SourceError(f"There is no {_FILMS.what} in {path}.")
        return [replace(export, size=sum(f.size for f in files), files=files)]


def _account(file: Source) -> list[str]:
    """The name of the account, which the reviews do not say."""
    return [row.get("username") for row in rows(file) if isinstance(row, Row)][:1]


letterboxd = _Letterboxd(
    _FILMS,
    _Library(
        service="letterboxd",
        review="review",
        work="name",
        rating="rating",
        dates=("date", "watcheddate"),
        key=lambda row, _: (row.get("letterboxduri"), row.get("name"), row.get("year")),
    ).read_file,
    Shape(
        "profile.csv of Letterboxd", r"profile\.csv", columns("username", "datejoined")
    ),
    _account,
)
