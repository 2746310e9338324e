"""Reviews in the tables that services for books and films export: a row per work.

There is one row per book or film, with what its reader thought of it. What the services
differ in is declared by their importers.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from personal_store.cleaning.cleaning import VERSION
from personal_store.files.sources import Source
from personal_store.importers.formats.exports import (
    Shape,
    digest,
    gather,
    prose,
    read_files,
    without_text,
)
from personal_store.importers.formats.tables import Row, number, rows
from personal_store.records import Document, ImportFailure, Item, ReadOptions
from personal_store.text.dates import parse_date


@dataclass(frozen=True, slots=True)
class Library:
    """The table of one service; names of columns are as `tables.plain` spells them."""

    service: str
    shape: Shape
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

    def sources(self, path: Path) -> Sequence[Source]:
        """The file itself, or the one in a folder or archive."""
        return gather(path, self.shape)

    def read(self, source: Source, options: ReadOptions) -> Iterator[Item]:
        """A review, a note or both per work."""
        return read_files(source, options, self._read_file)

    def _read_file(self, file: Source) -> Iterator[Item]:
        for row in rows(file):
            if isinstance(row, ImportFailure):
                yield row
                continue
            # The last item of a row carries its position, or a run that is cut in
            # between would skip it when it goes on.
            note = self._document(row, "note", self.note, row.position - 1)
            if note is not None:
                yield note
            review = self._document(row, "review", self.review, row.position)
            yield review or without_text(row.position)

    def _document(
        self, row: Row, kind: str, column: str, position: int
    ) -> Document | None:
        said = prose(row.get(column))
        if not said:
            return None
        return Document(
            position=position,
            key=digest(self.service, *self.key(row, kind)),
            kind=kind,
            text=said,
            recipient=row.get(self.work),
            sent_at=parse_date(row.get(*self.dates)),
            rating=(number(row.get(self.rating)) or None) if kind == "review" else None,
            cleaning=VERSION,
        )
