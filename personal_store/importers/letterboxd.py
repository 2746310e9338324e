"""Reviews of films from Letterboxd: reviews.csv of its export.

What lies in the folders `deleted` and `orphaned` of the export is left out: the person
took it back.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from personal_store.errors import SourceError
from personal_store.files.sources import Source
from personal_store.importers.formats.exports import Shape, gather
from personal_store.importers.formats.libraries import Library
from personal_store.importers.formats.tables import Row, has_columns, rows

_REVIEWS = Shape(
    "reviews.csv of Letterboxd",
    r".*\.csv",
    lambda head: has_columns(head, ("letterboxduri",), ("review",), ("name",)),
)
_PROFILE = Shape(
    "profile.csv of Letterboxd",
    r"profile\.csv",
    lambda head: has_columns(head, ("username",), ("datejoined",)),
)
_LIBRARY = Library(
    service="letterboxd",
    shape=_REVIEWS,
    review="review",
    work="name",
    rating="rating",
    dates=("date", "watcheddate"),
    key=lambda row, _: (row.get("letterboxduri"), row.get("name"), row.get("year")),
)
read = _LIBRARY.read


def sources(path: Path) -> Sequence[Source]:
    """The file itself, or the one in a folder or archive."""
    (export,) = gather(path, _REVIEWS, aside=_PROFILE, owner=_owner)
    # Claimed above, so that no importer of tables takes them, and not read.
    given = path.is_file() and not export.files[0].member
    files = tuple(
        f
        for f in export.files
        if given or f.folders[-1:] not in (("deleted",), ("orphaned",))
    )
    if not files:
        raise SourceError(f"There is no {_REVIEWS.what} in {path}.")
    return [replace(export, size=sum(f.size for f in files), files=files)]


def _owner(file: Source) -> str:
    """The name of the account, which the reviews do not say."""
    found = (row.get("username") for row in rows(file) if isinstance(row, Row))
    return next(found, "")
