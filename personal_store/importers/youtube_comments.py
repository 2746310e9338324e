"""Comments on YouTube from Google Takeout: comments.csv, and live chats.csv.

The text is JSON: a list of runs under "takeoutSegments" until June 2024, since then
the runs alone with commas between them; in English plain text is taken as well. The
names of the columns, like that of the file, are in the person's language: those in
English are known, else the columns are told by what is in them and by their order,
which is the same in all languages.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from personal_store.cleaning.cleaning import VERSION, tidy
from personal_store.files.sources import Source
from personal_store.importers.formats.exports import (
    Shape,
    addressed,
    digest,
    each,
    gather,
    read_files,
    says_little,
    without_text,
)
from personal_store.importers.formats.objects import listing, mapping, text
from personal_store.importers.formats.tables import (
    Row,
    beginning,
    has_columns,
    plain,
    rows,
)
from personal_store.records import Document, Item, ReadOptions, Skipped
from personal_store.text.dates import parse_date

_CHANNEL = re.compile(r"UC[\w-]{22}")
_COLUMNS = range(6, 13)
"""How many columns a table of comments may have: as many as there have been, and some
more that may come."""


@dataclass(frozen=True, slots=True)
class _Columns:
    """Names of columns, as `tables.plain` spells them; the first that holds something
    counts."""

    id: tuple[str, ...] = ("commentid", "livechatid")
    text: tuple[str, ...] = ("commenttext", "livechattext")
    date: tuple[str, ...] = (
        "commentcreatetimestamp",
        "livechatcreatetimestamp",
        "commentcreationtimestamp",
        "timestamp",
    )
    parent: tuple[str, ...] = ("parentcommentid",)
    video: tuple[str, ...] = ("videoid", "postid")


_ENGLISH = _Columns()


def sources(path: Path) -> Sequence[Source]:
    """The file itself, or those in a Takeout folder or archive."""
    shape = Shape(
        "comments.csv of YouTube", r".*\.csv", lambda head: _columns(head) is not None
    )
    return gather(path, shape)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per comment."""
    return read_files(source, options, _read_file)


def _columns(head: bytes) -> _Columns | None:
    """Which columns hold what; None if these are no comments."""
    if has_columns(head, _ENGLISH.id, _ENGLISH.text):
        return _ENGLISH
    names, *samples = beginning(head) or [[]]
    if len(names) not in _COLUMNS:
        return None
    for row in samples:
        # id, channel, time, price, then ids of what it answers, then the text
        places = range(5, len(row))
        found = next((at for at in places if _runs(row[at].strip()) is not None), 0)
        if found and _CHANNEL.fullmatch(row[1]) and parse_date(row[2]) is not None:
            named = [plain(name) for name in names]
            return _Columns(
                id=(named[0],),
                text=(named[found],),
                date=(named[2],),
                parent=(named[4],) if found > 5 else (),
                # a post of a channel has an id beside that of the video
                video=(named[found - 1], *named[5 : found - 1]),
            )
    return None


def _read_file(file: Source) -> Iterator[Item]:
    columns = _columns(file.head()) or _ENGLISH
    return each(rows(file), lambda row: _comment(row, columns))


def _comment(row: Row, columns: _Columns) -> Document | Skipped:
    written = row.get(*columns.text)
    runs = _runs(written)
    if runs is not None:
        written = "".join(text(mapping(run).get("text")) for run in runs)
    said = tidy(written).strip()
    to, own = addressed(said) if row.get(*columns.parent) else ("", said)
    if says_little(own, 1):
        return without_text(row.position)
    date, own_id = row.get(*columns.date), row.get(*columns.id)
    video = row.get(*columns.video)
    return Document(
        position=row.position,
        key=f"youtube:{own_id}" if own_id else digest("youtube", date, said),
        kind="post",
        text=own,
        recipient=to,
        sent_at=parse_date(date),
        thread=f"youtube:{video}" if video else "",
        cleaning=VERSION,
    )


def _runs(written: str) -> list[Any] | None:
    """What the JSON holds; None where the text is no JSON."""
    if not written.startswith("{"):
        return None
    try:
        found = json.loads(f"[{written}]", strict=False)
    except (ValueError, RecursionError):
        return None
    first = mapping(found[0])
    return (
        listing(first.get("takeoutSegments")) if "takeoutSegments" in first else found
    )
