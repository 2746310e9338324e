"""Comments on YouTube from Google Takeout: comments.csv, and live chats.csv.

The text is JSON: a list of runs under "takeoutSegments" until June 2024, since then
the runs alone with commas between them; plain text is taken as well. The names of the
columns changed in case and order; only English ones are known.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from personal_store.cleaning import VERSION, tidy
from personal_store.dates import parse_date
from personal_store.exports import (
    Shape,
    addressed,
    digest,
    gather,
    read_files,
    says_little,
    without_text,
)
from personal_store.objects import listing, mapping, text
from personal_store.records import Document, ImportFailure, Item, ReadOptions, Skipped
from personal_store.sources import Source
from personal_store.tables import Row, has_columns, rows

_ID = ("commentid", "livechatid")
_TEXT = ("commenttext", "livechattext")
_DATE = (
    "commentcreatetimestamp",
    "livechatcreatetimestamp",
    "commentcreationtimestamp",
    "timestamp",
)


def sources(path: Path) -> Sequence[Source]:
    """The file itself, or those in a Takeout folder or archive."""
    return gather(path, Shape("comments.csv of YouTube", r".*\.csv", _is_comments))


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per comment."""
    return read_files(source, options, _read_file)


def _is_comments(head: bytes) -> bool:
    return has_columns(head, _ID, _TEXT)


def _read_file(file: Source) -> Iterator[Item]:
    for row in rows(file):
        yield row if isinstance(row, ImportFailure) else _comment(row)


def _comment(row: Row) -> Document | Skipped:
    said = tidy(_joined(row.get(*_TEXT))).strip()
    to, own = addressed(said) if row.get("parentcommentid") else ("", said)
    if says_little(own, 1):
        return without_text(row.position)
    date, own_id = row.get(*_DATE), row.get(*_ID)
    return Document(
        position=row.position,
        key=f"youtube:{own_id}" if own_id else digest("youtube", date, said),
        kind="post",
        text=own,
        recipient=to,
        sent_at=parse_date(date),
        thread=_thread(row),
        cleaning=VERSION,
    )


def _thread(row: Row) -> str:
    video = row.get("videoid", "postid")
    return f"youtube:{video}" if video else ""


def _joined(written: str) -> str:
    """The runs of a comment as one text."""
    runs = _runs(written)
    if runs is None:
        return written
    return "".join(text(mapping(run).get("text")) for run in runs)


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
