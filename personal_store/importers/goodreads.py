"""Reviews and private notes from Goodreads: goodreads_library_export.csv.

A rating of 0 means none. Dates are year/month/day. The day a book was added stands for
the day of a review that has no date of reading.
"""

from personal_store.importers.formats.exports import Shape
from personal_store.importers.formats.libraries import Library
from personal_store.importers.formats.tables import has_columns

_LIBRARY = Library(
    service="goodreads",
    shape=Shape(
        "library export of Goodreads",
        r".*\.csv",
        lambda head: has_columns(head, ("bookid",), ("myreview",), ("title",)),
    ),
    review="myreview",
    note="privatenotes",
    work="title",
    rating="myrating",
    dates=("dateread", "dateadded"),
    key=lambda row, kind: (
        kind,
        row.get("bookid") or [row.get("title"), row.get("author")],
    ),
)
sources = _LIBRARY.sources
read = _LIBRARY.read
