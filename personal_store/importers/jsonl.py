"""JSON lines, or one JSON list: fields are named with --map, or guessed."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from personal_store.errors import SourceError
from personal_store.files.sources import Source, ends_with, locate
from personal_store.importers.formats.columns import SAMPLE, Columns
from personal_store.importers.formats.exported import exported_item, is_exported
from personal_store.importers.formats.objects import array_values
from personal_store.importers.formats.service_files import keep_out
from personal_store.records import ImportFailure, Item, ReadOptions
from personal_store.text.charset import decode

_DEEPEST = 4
_TELEGRAM = re.compile(
    rb'"date_unixtime"|"from_id"\s*:|"about"\s*:\s*"Here is the data you requested'
)
"""Of a chat, an older one, and an export of all of them."""


def sources(path: Path) -> list[Source]:
    """The file itself, or every .jsonl in a folder or zip."""
    return keep_out(
        path, locate(path, ends_with(".jsonl", ".ndjson"), "JSON lines file")
    )


def recognises(source: Source) -> bool:
    """Whether one of its fields is clearly the text."""
    try:
        columns(source, {})
    except SourceError:
        return False
    return True


def is_certain(source: Source) -> bool:
    """Whether it is an export of a store, which names the writer of each text."""
    try:
        return all(
            is_exported(value) for _, _, value in islice(_values(source), SAMPLE)
        )
    except SourceError:
        return False


def names(source: Source) -> list[str]:
    """The names of the fields in its first entries."""
    return _names(_sample(source))


def columns(source: Source, mapping: Mapping[str, str]) -> Columns:
    """Which field holds what, as told and as guessed from the first entries."""
    sample = _sample(source)
    return Columns.choose(_names(sample), sample, mapping)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per object."""
    chosen = columns(source, options.mapping)
    for position, number, value in _values(source):
        if position <= options.start:
            continue
        where = f"{source.name}, entry {number}"
        if is_exported(value):
            yield exported_item(value, position, where)
        elif isinstance(value, dict):
            yield chosen.document(_flat(value), position)
        else:
            reason = value if isinstance(value, str) else "it is not an object"
            yield ImportFailure(position, where, reason)


def _sample(source: Source) -> list[dict[str, Any]]:
    if _TELEGRAM.search(source.head()):
        raise SourceError(
            f"{source.name} is a chat of Telegram, in which others write too: there is "
            "no importer for it."
        )
    found = islice(_values(source), SAMPLE)
    sample = [_flat(value) for _, _, value in found if isinstance(value, dict)]
    if not sample:
        raise SourceError(
            f"{source.name} is not a JSON lines file: none of its first lines is an "
            'object such as {"text": "..."}.'
        )
    return sample


def _names(sample: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in sample for name in row))


def _values(source: Source) -> Iterator[tuple[int, int, Any]]:
    """(position, number, value) of each entry; a broken one is a sentence."""
    if source.head(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        with source.open() as stream:
            for number, (position, value) in enumerate(
                array_values(stream, source.name), 1
            ):
                yield min(position, source.size), number, value
        return
    position = 0
    with source.open() as stream:
        for number, line in enumerate(stream, 1):
            position += len(line)
            if not line.strip():
                continue
            try:
                value = json.loads(decode(line))
            except (ValueError, RecursionError) as error:
                value = f"it is not JSON: {error}"
            yield position, number, value


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
