"""Posts and comments from Reddit's data request: posts.csv and comments.csv.

The column with the address of the computer is dropped where the file is read. Lines
that quote somebody, and what was deleted, are left out. Messages are not read.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from personal_store.cleaning.cleaning import VERSION, tidy
from personal_store.files.sources import Source
from personal_store.importers.formats.exports import (
    Shape,
    digest,
    each,
    gather,
    is_gone,
    prose,
    read_files,
    says_little,
)
from personal_store.importers.formats.tables import Row, has_columns, rows
from personal_store.records import Document, Item, ReadOptions, Skipped
from personal_store.text.dates import parse_date

_MARKS = re.compile(
    r"&#x200b;|&#8203;|\u200b|!\[(?:gif|img)\]\([^()\s]*\)"
    r"|^\*?processing (?:img|gif|video) \S+\*?$",
    re.IGNORECASE | re.MULTILINE,
)
"""What its editor leaves of blank lines, escaped once more, and of pictures."""
_QUOTE = re.compile(r"^\s{0,3}>(?!!).*\n?", re.MULTILINE)  # but not >!a spoiler!<


def sources(path: Path) -> Sequence[Source]:
    """The file itself, or those in a folder or archive."""
    return gather(path, _TEXTS, aside=_ACCOUNT, owner=_owner)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per post or comment with a text."""
    return read_files(source, options, _read_file)


_TEXTS = Shape(
    "posts.csv or comments.csv of Reddit",
    r".*\.csv",
    lambda head: has_columns(
        head, ("id",), ("permalink",), ("subreddit",), ("body",), ("parent", "title")
    ),
)
_ACCOUNT = Shape(
    "statistics.csv of Reddit",
    r"statistics\.csv",
    lambda head: has_columns(head, ("statistic",), ("value",)),
)


def _owner(file: Source) -> str:
    """The name of the account, which the texts do not say."""
    told = (row for row in rows(file) if isinstance(row, Row))
    names = (r.get("value") for r in told if r.get("statistic") == "account name")
    return next(names, "")


def _read_file(file: Source) -> Iterator[Item]:
    is_comments = has_columns(file.head(), ("parent",))
    kind = "t1" if is_comments else "t3"
    return each(rows(file), lambda row: _text(row, kind))


def _text(row: Row, kind: str) -> Document | Skipped:
    written = tidy(_MARKS.sub("", prose(row.get("body")))).strip()
    if is_gone(written):
        return Skipped(row.position, "deleted")
    said = _QUOTE.sub("", written).strip()
    if says_little(said, 1):
        return Skipped(row.position, "without text")
    title = prose(row.get("title"))
    own_id = row.get("id").removeprefix(f"{kind}_")
    document = Document(
        position=row.position,
        key=f"reddit:{kind}_{own_id}",
        kind="post",
        text=said,
        title="" if is_gone(title) else title,
        recipient=f"r/{row.get('subreddit')}" if row.get("subreddit") else "",
        sent_at=parse_date(row.get("date")),
        thread=row.get("link", "permalink"),
        reply_to=row.get("parent"),
        trimmed=said != written,
        cleaning=VERSION,
    )
    if own_id:
        return document
    return replace(document, key=digest("reddit", kind, row.get("date"), said))
