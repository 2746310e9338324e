"""CSV files of any service: columns are named with --map, or guessed."""

import csv
import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from personal_store.charset import decode
from personal_store.columns import SAMPLE, Columns
from personal_store.errors import SourceError
from personal_store.records import ImportFailure, Item, ReadOptions
from personal_store.sources import Source, locate

_DELIMITERS = ",;\t|"
_LONGEST_FIELD = 16 * 1024 * 1024


def sources(path: Path) -> list[Source]:
    """The file itself, or every .csv in a folder or zip."""
    return locate(path, _is_csv, "CSV file")


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per row."""
    text = _content(source)
    names = _names(text)
    columns = Columns.choose(names, _sample(text, names), options.mapping)
    lines = 1 + text.count("\n") + text.count("\r")
    for row, line in _rows(text):
        position = min(source.size, source.size * line // lines)
        where = f"{source.name}, line {line}"
        if position <= options.start:
            continue
        if isinstance(row, csv.Error):
            yield ImportFailure(position, where, str(row))
        elif len(row) > len(names):
            reason = f"it has {len(row)} fields, the first line has {len(names)}"
            yield ImportFailure(position, where, reason)
        elif any(row):
            yield columns.document(dict(zip(names, row, strict=False)), position)


def _is_csv(source: Source) -> bool:
    return source.name.lower().endswith((".csv", ".tsv"))


def _content(source: Source) -> str:
    with source.open() as stream:
        data = stream.read()
    if b"\0" in data[:4096] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceError(f"{source.path} is not a CSV file: it is not text.")
    utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    return decode(data, "utf-16" if utf16 else "")


def _names(text: str) -> list[str]:
    return [name.strip() for name in next(_reader(text), [])]


def _sample(text: str, names: list[str]) -> list[dict[str, str]]:
    rows = (row for row, _ in islice(_rows(text), SAMPLE) if isinstance(row, list))
    return [dict(zip(names, row, strict=False)) for row in rows]


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
