"""CSV files of any service: columns are named with --map, or guessed."""

import csv
import io
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from personal_store.errors import SourceError
from personal_store.files.sources import Source, ends_with, locate
from personal_store.importers.formats.columns import SAMPLE, Columns
from personal_store.importers.formats.service_files import keep_out
from personal_store.records import ImportFailure, Item, ReadOptions
from personal_store.text.charset import decode

_DELIMITERS = ",;\t|"
_LONGEST_FIELD = 16 * 1024 * 1024
_SAMPLE_BYTES = 1024 * 1024


def sources(path: Path) -> list[Source]:
    """The file itself, or every .csv in a folder or zip."""
    return keep_out(path, locate(path, ends_with(".csv", ".tsv"), "CSV file"))


def recognises(source: Source) -> bool:
    """Whether one of its columns is clearly the text."""
    try:
        columns(source, {})
    except SourceError:
        return False
    return True


def names(source: Source) -> list[str]:
    """The names of its columns."""
    return _names(_beginning(source))


def columns(source: Source, mapping: Mapping[str, str]) -> Columns:
    """Which column holds what, as told and as guessed from the first rows."""
    text = _beginning(source)
    header = _names(text)
    rows = (row for row, _ in islice(_rows(text), SAMPLE) if isinstance(row, list))
    sample = [dict(zip(header, row, strict=False)) for row in rows]
    return Columns.choose(header, sample, mapping)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per row."""
    chosen = columns(source, options.mapping)
    text = _text(source, source.whole())
    header = _names(text)
    lines = 1 + text.count("\n") + text.count("\r")
    for row, line in _rows(text):
        position = min(source.size, source.size * line // lines)
        where = f"{source.name}, line {line}"
        if position <= options.start:
            continue
        if isinstance(row, csv.Error):
            yield ImportFailure(position, where, str(row))
        elif len(row) > len(header):
            reason = f"it has {len(row)} fields, the first line has {len(header)}"
            yield ImportFailure(position, where, reason)
        elif any(row):
            yield chosen.document(dict(zip(header, row, strict=False)), position)


def _beginning(source: Source) -> str:
    """The first lines of a table, enough to see its columns."""
    data = source.head(_SAMPLE_BYTES)
    if len(data) == _SAMPLE_BYTES:
        data = data[: data.rfind(b"\n") + 1] or data
    return _text(source, data)


def _text(source: Source, data: bytes) -> str:
    if b"\0" in data[:4096] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceError(f"{source.name} is not a CSV file: it is not text.")
    utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    return decode(data, "utf-16" if utf16 else "")


def _names(text: str) -> list[str]:
    return [name.strip() for name in next(_reader(text), [])]


def _rows(text: str) -> Iterator[tuple[list[str] | csv.Error, int]]:
    """Every row after the first with the number of its last line."""
    reader = _reader(text)
    next(reader, None)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield error, reader.line_num
        else:
            yield row, reader.line_num


def _reader(text: str) -> Any:
    csv.field_size_limit(_LONGEST_FIELD)
    header = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=header.count)
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
