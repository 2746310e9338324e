"""JSON and CSV files of exports, read as they come: one element or row at a time."""

import codecs
import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any

from personal_store.errors import SourceError
from personal_store.files import HEAD, Source
from personal_store.records import ImportFailure
from personal_store.text.charset import decode, storable

NO_OBJECT = "it is not an object with fields"
_BLOCK = 1024 * 1024
MAX_ELEMENT = 64 * 1024 * 1024  # characters of one element; a longer one is refused

_SEARCHED = 1_000_000  # bytes in which a list has to begin
_LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:window\.[\w.]+\s*=\s*)?\[")
_FAULTS = (ValueError, RecursionError)


def array_values(stream: IO[bytes], name: str) -> Iterator[tuple[int, Any]]:
    """(bytes read so far, value) of each element; raises SourceError if it breaks off.

    A broken element spoils what follows it: nothing says where the next one begins.
    """
    text = _Text(stream)
    if text.next_mark() != "[":
        raise SourceError(f"{name} is not JSON: it is no list.")
    text.take(1)
    decoder = json.JSONDecoder()
    while (mark := text.next_mark()) != "]":
        if mark == ",":
            text.take(1)
            continue
        try:
            value, length = text.value(decoder)
        except _FAULTS as error:
            raise SourceError(f"{name} is not JSON: {error}.") from error
        text.take(length)
        yield text.position, value


class _Text:
    """The part of a stream that is being parsed, decoded."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._buffer, self._at, self._ended = "", 0, False
        self.position = 0
        """Bytes of the stream up to what was taken last."""

    def next_mark(self) -> str:
        """The next character that is no white space; empty at the end."""
        while True:
            rest = self._buffer[self._at : self._at + 1]
            if rest.strip() or not (rest or self._more(_BLOCK)):
                return rest
            self.take(len(rest))

    def take(self, length: int) -> None:
        """Go past N characters."""
        taken = self._buffer[self._at : self._at + length]
        self.position += len(taken.encode("utf-8", "surrogatepass"))
        self._at += length

    def value(self, decoder: json.JSONDecoder) -> tuple[Any, int]:
        """(value, characters) of the element that begins here; reads on as needed."""
        while True:
            try:
                value, end = decoder.raw_decode(self._buffer, self._at)
            except ValueError:
                if not self._more(max(_BLOCK, len(self._buffer))):
                    raise
                continue
            # a number at the end of what was read may have more digits to come
            if end < len(self._buffer) or not self._more(_BLOCK):
                return value, end - self._at

    def _more(self, count: int) -> bool:
        if self._ended or len(self._buffer) - self._at > MAX_ELEMENT:
            return False
        data = self._stream.read(count)
        self._ended = not data
        more = self._decoder.decode(data, self._ended)
        self._buffer, self._at = self._buffer[self._at :] + more, 0
        return True


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a list."""

    position: int  # bytes of the file up to its end
    fields: dict[str, Any]

    def get(self, *names: str) -> Any:
        """The first of these fields that is there and holds something."""
        found = (self.fields.get(name) for name in names)
        return next((value for value in found if value not in (None, "")), None)


def content(source: Source) -> Any:
    """A whole file; raises SourceError if it is no JSON."""
    try:
        return json.loads(decode(source.whole()))
    except _FAULTS as error:
        raise SourceError(f"{source.name} is not a JSON file: {error}.") from error


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is an object with fields, else one without any."""
    return value if isinstance(value, dict) else {}


def listing(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def fields(*groups: str) -> Callable[[bytes], bool]:
    """Tests whether JSON begins in a head and holds a field of each group early on; of
    the names in one string any will do."""
    begins = re.compile(rb"[\xef\xbb\xbf \t\r\n]*[\[{w]")
    names = [[f'"{name}"'.encode() for name in group.split()] for group in groups]
    return lambda head: (
        begins.match(head) is not None
        and all(any(name in head for name in group) for group in names)
    )


def elements(source: Source, *names: str) -> Iterator[Element | ImportFailure]:
    """The objects of the list that a file is, or that it holds under one of the names.

    They are read as they come. What is no object is a failure; where the file breaks
    off, the last failure says so. Raises SourceError if there is no list.
    """
    head = source.head(_SEARCHED)
    match = _LIST.match(head)
    if match is None and names:
        choice = b"|".join(re.escape(name.encode()) for name in names)
        match = re.search(rb'(?<!\\)"(?:' + choice + rb')"\s*:\s*\[', head)
    if match is None:
        raise SourceError(f"{source.name} does not hold the list it should.")
    begin = match.end() - 1  # at the bracket that opens the list
    count = 1
    with source.open() as stream:
        stream.seek(begin)
        try:
            for length, value in array_values(stream, source.name):
                if isinstance(value, dict):
                    yield Element(begin + length, value)
                else:
                    where, reason = f"{source.name}, entry {count}", NO_OBJECT
                    yield ImportFailure(begin + length, where, reason)
                count += 1
        except SourceError as error:
            reason = f"{error} The rest of the file is not read"
            yield ImportFailure(source.size, f"{source.name}, entry {count}", reason)


DELIMITERS = ",;\t|"
LONGEST_FIELD = 16 * 1024 * 1024
_PRIVATE = frozenset({"ip", "ipaddress", "registrationip"})
"""Columns that nobody needs and that are not even kept in memory."""
_SAMPLE = 12  # rows that show what a table holds
UTF16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table."""

    position: int  # bytes of the file up to its end
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
    if head.startswith(UTF16):
        return False
    text = _decoded(head.lstrip(b"\xef\xbb\xbf\r\n").partition(b"\n")[0])
    try:
        row = next(csv.reader(io.StringIO(text), delimiter=_delimiter(head)), [])
    except csv.Error:
        return False
    names = {plain(name) for name in row}
    return all(names.intersection(group) for group in groups)


def columns(*groups: str) -> Callable[[bytes], bool]:
    """Tests for `has_columns`; of the names in one string any will do."""
    return lambda head: has_columns(head, *(tuple(group.split()) for group in groups))


def beginning(head: bytes) -> list[list[str]]:
    """The first whole rows of a table, the names of its columns in front."""
    if head.startswith(UTF16):
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
    if head.startswith(UTF16):
        raise SourceError(f"{source.name} is UTF-16: save it as CSV in UTF-8.")
    csv.field_size_limit(LONGEST_FIELD)
    position = 0

    def lines(stream: IO[bytes]) -> Iterator[str]:
        nonlocal position
        for line in stream:
            position += len(line)
            yield _decoded(line)

    with source.open() as stream:
        delimiter = _delimiter(head)
        reader = csv.reader(lines(stream), delimiter=delimiter, escapechar=escape)
        names: list[str] = []
        for line, row in parsed(reader):
            where = f"{source.name}, line {line}"
            if isinstance(row, str):
                yield ImportFailure(position, where, row)
            elif not names:
                names = [plain(name) for name in row]
            elif any(row[len(names) :]):
                reason = f"it has {len(row)} fields, the first line has {len(names)}"
                yield ImportFailure(position, where, reason)
            elif any(row):
                pairs = zip(names, row, strict=False)
                fields = {name: value for name, value in pairs if name not in _PRIVATE}
                yield Row(position, fields)


def parsed(reader: Any) -> Iterator[tuple[int, list[str] | str]]:
    """(number of its last line, cells, or what is wrong) of each row of csv.reader."""
    while True:
        try:
            row: list[str] | str = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            row = str(error)
        yield reader.line_num, row


def number(value: Any) -> float | None:
    """A rating as a number; None if it is invalid."""
    try:
        found = float(str(value).strip().replace(",", "."))
    except ValueError:
        return None
    return found if 0 <= found <= 100 else None


def _decoded(line: bytes) -> str:
    try:
        return storable(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return storable(line.decode("cp1252", "replace"))


def _delimiter(head: bytes) -> str:
    line = head.lstrip(b"\xef\xbb\xbf\r\n").partition(b"\n")[0]
    return max(DELIMITERS, key=lambda mark: line.count(mark.encode()))
