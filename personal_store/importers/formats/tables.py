"""CSV files of exports, row by row, with columns found by any of their spellings."""

import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, Any

from personal_store.errors import SourceError
from personal_store.files.sources import HEAD, Source
from personal_store.records import ImportFailure
from personal_store.text.charset import storable

_DELIMITERS = ",;\t|"
_LONGEST_FIELD = 16 * 1024 * 1024
_PRIVATE = frozenset({"ip", "ipaddress", "registrationip"})
"""Columns that nobody needs and that are not even kept in memory."""
_SAMPLE = 12
"""Rows that show what a table holds."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table."""

    position: int
    """Bytes of the file up to its end."""
    fields: dict[str, str]

    def get(self, *names: str) -> str:
        """The first of these columns that is there and holds something."""
        found = (self.fields.get(name, "").strip() for name in names)
        return next(filter(None, found), "")


def plain(name: str) -> str:
    """A column's name without case, spaces and marks: spellings change over years."""
    return "".join(filter(str.isalnum, name.casefold()))


def has_columns(head: bytes, *groups: tuple[str, ...]) -> bool:
    """Whether a file begins with names of columns, at least one of each group."""
    if head.startswith(_UTF16):
        return False
    text = _decoded(head.lstrip(b"\xef\xbb\xbf\r\n").partition(b"\n")[0])
    try:
        row = next(csv.reader(io.StringIO(text), delimiter=_delimiter(head)), [])
    except csv.Error:
        return False
    names = {plain(name) for name in row}
    return all(names.intersection(group) for group in groups)


def beginning(head: bytes) -> list[list[str]]:
    """The first whole rows of a table, the names of its columns in front."""
    if head.startswith(_UTF16):
        return []
    text = _decoded(head.lstrip(b"\xef\xbb\xbf\r\n"))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(head))
    found: list[list[str]] = []
    with suppress(csv.Error):
        found.extend(islice(reader, _SAMPLE))
    whole = len(head) < HEAD or len(found) == _SAMPLE
    return found if whole else found[:-1]


def rows(source: Source, *, escape: str | None = None) -> Iterator[Row | ImportFailure]:
    """The rows below the names of the columns; a bad row is a failure.

    The file is read as it comes and never held as a whole. Raises SourceError for
    UTF-16, which only a spreadsheet writes.
    """
    head = source.head()
    if head.startswith(_UTF16):
        raise SourceError(f"{source.name} is UTF-16: save it as CSV in UTF-8.")
    csv.field_size_limit(_LONGEST_FIELD)
    with source.open() as stream:
        lines = _Lines(stream)
        reader = csv.reader(lines, delimiter=_delimiter(head), escapechar=escape)
        names: list[str] = []
        while True:
            try:
                row = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield ImportFailure(lines.position, lines.where(source), str(error))
                continue
            if not names:
                names = [plain(name) for name in row]
            elif any(row[len(names) :]):
                reason = f"it has {len(row)} fields, the first line has {len(names)}"
                yield ImportFailure(lines.position, lines.where(source), reason)
            elif any(row):
                pairs = zip(names, row, strict=False)
                fields = {name: value for name, value in pairs if name not in _PRIVATE}
                yield Row(lines.position, fields)


def number(value: Any) -> float | None:
    """A rating as a number; None if it is none."""
    try:
        found = float(str(value).strip().replace(",", "."))
    except ValueError:
        return None
    return found if 0 <= found <= 100 else None


@dataclass(slots=True)
class _Lines:
    """Decoded lines, and how much of the file they are."""

    stream: IO[bytes]
    position: int = 0
    count: int = 0
    lines: Iterator[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.lines = iter(self.stream)

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = next(self.lines)
        self.position += len(line)
        self.count += 1
        return _decoded(line)

    def where(self, source: Source) -> str:
        return f"{source.name}, line {self.count}"


def _decoded(line: bytes) -> str:
    try:
        return storable(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return storable(line.decode("cp1252", "replace"))


def _delimiter(head: bytes) -> str:
    line = head.lstrip(b"\xef\xbb\xbf\r\n").partition(b"\n")[0]
    return max(_DELIMITERS, key=lambda mark: line.count(mark.encode()))
