"""The block of fields between two '---' lines at the top of a note.

Notes hold a small part of YAML there: `name: value`, lists in brackets or with dashes.
That part is read; anything else is left out, and nothing in it can do anything.
"""

import re

_BLOCK = re.compile(
    r"\A\ufeff?---[ \t]*\n(.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL
)
_FIELD = re.compile(r"([A-Za-z_][\w .-]{0,60}?)[ \t]*:(?:[ \t]+(.*))?[ \t]*")
_ENTRY = re.compile(r"[ \t]*-[ \t]+(.*)")
_ENOUGH = 500
"""Lines, and characters of a line, that are looked at."""


def front_matter(text: str) -> tuple[dict[str, list[str]], str]:
    """(values by lower-case field name, the text after the block)."""
    found = _BLOCK.match(text)
    if found is None:
        return {}, text
    fields: dict[str, list[str]] = {}
    values: list[str] = []
    for whole in (found[1] or "").split("\n")[:_ENOUGH]:
        line = whole[:_ENOUGH]
        entry, field = _ENTRY.fullmatch(line), _FIELD.fullmatch(line)
        if entry:
            values.append(_unquoted(entry[1]))
        elif field:
            values = fields[field[1].lower()] = _values(field[2] or "")
    return {name: list(filter(None, found)) for name, found in fields.items()}, (
        text[found.end() :]
    )


def _values(value: str) -> list[str]:
    """One value, or those in brackets. Quotes keep commas together only outside."""
    value = value.strip()
    if value.startswith("[") and value.endswith("]"):
        return [_unquoted(part) for part in value[1:-1].split(",")]
    return [_unquoted(value)] if value and value not in ("|", ">", "null", "~") else []


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1].strip()
    return value.partition(" #")[0].strip()
