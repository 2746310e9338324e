"""JSON lines, or one JSON list: fields are named with --map, or guessed."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from personal_store.charset import decode
from personal_store.columns import SAMPLE, Columns
from personal_store.errors import SourceError
from personal_store.records import ImportFailure, Item, ReadOptions
from personal_store.sources import Source, locate

_DEEPEST = 4


def sources(path: Path) -> list[Source]:
    """The file itself, or every .jsonl in a folder or zip."""
    return locate(path, _is_jsonl, "JSON lines file")


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per object."""
    columns = _columns(source, options)
    for position, number, value in _values(source):
        if position <= options.start:
            continue
        where = f"{source.name}, entry {number}"
        if isinstance(value, dict):
            yield columns.document(_flat(value), position)
        else:
            reason = value if isinstance(value, str) else "it is not an object"
            yield ImportFailure(position, where, reason)


def _is_jsonl(source: Source) -> bool:
    return source.name.lower().endswith((".jsonl", ".ndjson"))


def _columns(source: Source, options: ReadOptions) -> Columns:
    found = (value for _, _, value in _values(source))
    sample = [
        _flat(value) for value in islice(found, SAMPLE) if isinstance(value, dict)
    ]
    if not sample:
        raise SourceError(
            f"{source.path} is not a JSON lines file: none of its first lines is an "
            'object such as {"text": "..."}.'
        )
    names = list(dict.fromkeys(name for row in sample for name in row))
    return Columns.choose(names, sample, options.mapping)


def _values(source: Source) -> Iterator[tuple[int, int, Any]]:
    """(position, number, value) of each entry; a broken one is a sentence."""
    if source.head(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        yield from _list_values(source)
        return
    position = 0
    with source.open() as stream:
        for number, line in enumerate(stream, 1):
            position += len(line)
            if line.strip():
                yield position, number, _parsed(line)


def _list_values(source: Source) -> Iterator[tuple[int, int, Any]]:
    with source.open() as stream:
        values = _parsed(stream.read())
    if isinstance(values, str):
        raise SourceError(f"{source.path}: {values}.")
    for number, value in enumerate(values, 1):
        yield source.size * number // len(values), number, value


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(decode(data))
    except (ValueError, RecursionError) as error:
        return f"it is not JSON: {error}"


def _flat(value: dict[str, Any], depth: int = 1) -> dict[str, Any]:
    """Fields of nested objects under dotted names, as in user.name."""
    fields: dict[str, Any] = {}
    for name, inner in value.items():
        if isinstance(inner, dict) and depth < _DEEPEST:
            nested = _flat(inner, depth + 1)
            fields |= {f"{name}.{key}": item for key, item in nested.items()}
        else:
            fields[name] = inner
    return fields
