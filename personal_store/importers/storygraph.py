"""Reviews from The StoryGraph: the CSV file of its export.

Ratings are in quarter stars. There is no date of a review; the last day of reading, or
the day the book was added, stands for it.
"""

from personal_store.importers.formats.exports import Shape
from personal_store.importers.formats.libraries import Library
from personal_store.importers.formats.tables import has_columns

_LIBRARY = Library(
    service="storygraph",
    shape=Shape(
        "library export of StoryGraph",
        r".*\.csv",
        lambda head: has_columns(head, ("readstatus",), ("review",), ("starrating",)),
    ),
    review="review",
    work="title",
    rating="starrating",
    dates=("lastdateread", "dateadded"),
    key=lambda row, _: (
        row.get("title"),
        row.get("authors", "author"),
        row.get("isbnuid", "isbn"),
    ),
)
sources = _LIBRARY.sources
read = _LIBRARY.read
