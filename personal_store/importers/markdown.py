"""Markdown files and Obsidian vaults: the prose, without code, embeds and quotes.

The block of fields between two '---' lines at the top of a note holds a small part of
YAML: `name: value`, lists in brackets or with dashes. That part is read; anything else
is left out, and nothing in it can do anything.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from personal_store.files.files import bundled
from personal_store.files.sources import Source, locate
from personal_store.importers.formats.documents import (
    MAX_DOCUMENT,
    Text,
    is_personal,
    read_documents,
)
from personal_store.records import Item, ReadOptions
from personal_store.text.charset import decode
from personal_store.text.dates import parse_date

_SUFFIXES = (".md", ".markdown", ".mdown")
_NO_NOTES = ("templates", "_templates", "template")
_DATES = ("date", "created", "created at", "datetime", "published")
_NAMED = re.compile(r"(?:19|20)\d{2}-\d{2}-\d{2}")
_HEADING = re.compile(r"[ ]{0,3}#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r"[ ]{0,3}(?:>[ ]?)*(`{3,}|~{3,})(.*)")
_CALLOUT = re.compile(r"[ ]{0,3}>[ ]?\[![^\]\n]{1,40}\][+-]?[ ]?(.*)")
_QUOTE = re.compile(r"[ ]{0,3}>[ ]?(.*)")
_BLOCK_ID = re.compile(r"[ \t]\^[\w-]{1,60}$")

_MARKS = (
    (re.compile(r"!\[\[[^\]\n]*\]\]"), ""),
    (re.compile(r"!\[[^\]\n]*\]\([^)\n]*\)"), ""),
    (re.compile(r"\[\[[^\]|\n]*\|([^\]\n]*)\]\]"), r"\1"),
    (re.compile(r"\[\[([^\]\n]*)\]\]"), lambda m: m[1].replace("#", " ").strip()),
    (re.compile(r"\[\^[^\]\n]*\]:?"), ""),
    (re.compile(r"\[([^\]\n]+)\]\([^)\n]*\)"), r"\1"),
    (re.compile(r"<(https?://[^>\s]+)>"), r"\1"),
)
_COMMENTS = (("%%", "%%"), ("<!--", "-->"))
_LONGEST_LINE = 20_000
"""Characters of a line in which marks are looked for; longer ones are data."""

_BLOCK = re.compile(
    r"\A\ufeff?---[ \t]*\n(.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL
)
_FIELD = re.compile(r"([A-Za-z_][\w .-]{0,60}?)[ \t]*:(?:[ \t]+(.*))?[ \t]*")
_ENTRY = re.compile(r"[ \t]*-[ \t]+(.*)")
_ENOUGH = 500
"""Lines, and characters of a line, that are looked at."""


def sources(path: Path) -> list[Source]:
    """The file itself, or every note of a vault."""
    return bundled(path, locate(path, _is_note, "Markdown file", archives=False))


def recognises(source: Source) -> bool:
    """Whether it looks like something a person wrote."""
    return is_personal(source)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per note; clippings, which name a source, are not own writing."""
    return read_documents(source, options, _text)


def _is_note(source: Source) -> bool:
    folders = [name.lower() for name in source.folders]
    hidden = any(name.startswith(".") for name in folders[-8:])
    return (
        source.name.lower().endswith(_SUFFIXES)
        and not hidden
        and not any(name in _NO_NOTES for name in folders)
    )


def _text(file: Source) -> Text:
    content = decode(file.whole(MAX_DOCUMENT)).replace("\r\n", "\n")
    fields, body = front_matter(content)
    told = next((fields[name][0] for name in _DATES if fields.get(name)), "")
    stem = Path(file.name).stem
    named = _NAMED.search(stem)
    return Text(
        prose(body),
        title=next(iter(fields.get("title", [])), "") or stem,
        written=parse_date(told) or parse_date(named[0] if named else ""),
        labels=tuple(tag.lstrip("#") for tag in fields.get("tags", [])),
        foreign="clippings" if fields.get("source") else "",
    )


def prose(text: str) -> str:
    """What was written, without what only Markdown or Obsidian reads."""
    for begin, end in _COMMENTS:
        text = "".join(_outside(text, begin, end))
    return "\n".join(map(_plain, _own_lines(text)))


def _outside(text: str, begin: str, end: str) -> Iterator[str]:
    """What is not between two marks; one that is never closed is no mark."""
    at = 0
    while (opened := text.find(begin, at)) >= 0:
        closed = text.find(end, opened + len(begin))
        if closed < 0:
            break
        yield text[at:opened]
        at = closed + len(end)
    yield text[at:]


def _own_lines(text: str) -> Iterator[str]:
    """Lines outside of code and quotes; a callout is a box of one's own words."""
    fence = ""
    in_callout = False
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            closes = found and found[1].startswith(fence) and not found[2].strip()
            fence = "" if closes else fence
        elif found:
            fence = found[1]
        elif callout := _CALLOUT.match(line):
            in_callout = True
            yield callout[1]
        elif quote := _QUOTE.match(line):
            if in_callout:
                yield quote[1]
        else:
            in_callout = False
            yield line


def _plain(line: str) -> str:
    if not 0 < len(line) < _LONGEST_LINE:
        return line
    heading = _HEADING.fullmatch(line)
    line = _BLOCK_ID.sub("", heading[1] if heading else line)
    if "[" not in line and "<" not in line:
        return line
    for pattern, words in _MARKS:
        line = pattern.sub(words, line)
    return line


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
    """The value of a field, or the values in brackets, where quotes do not keep commas
    together."""
    value = value.strip()
    if value.startswith("[") and value.endswith("]"):
        return [_unquoted(part) for part in value[1:-1].split(",")]
    return [_unquoted(value)] if value and value not in ("|", ">", "null", "~") else []


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1].strip()
    return value.partition(" #")[0].strip()
