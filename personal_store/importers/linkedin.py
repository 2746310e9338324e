"""Shares, comments and messages from LinkedIn's copy of your data.

Shares.csv, Comments.csv and messages.csv, sometimes with the member's number behind the
name. Comments write a quotation mark as \\", the others double it; some exports put
marks around each line break of a share. Messages are signed with names: the owner's
stands in Profile.csv, else --me says it; messages by others are kept as theirs.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from personal_store.archives import FAULTS
from personal_store.cleaning import VERSION
from personal_store.dates import parse_date
from personal_store.exports import (
    Shape,
    aside_of,
    digest,
    gather,
    prose,
    read_files,
    readable,
    says_little,
    without_text,
)
from personal_store.records import Document, ImportFailure, Item, ReadOptions, Skipped
from personal_store.sources import Source
from personal_store.tables import Row, has_columns, rows
from personal_store.talks import People, identity

_SERVICE = "linkedin"


def _is_share(head: bytes) -> bool:
    return has_columns(head, ("sharecommentary",), ("sharelink", "date"))


def _is_comment(head: bytes) -> bool:
    return has_columns(head, ("link",), ("message",), ("date",))


def _is_message(head: bytes) -> bool:
    return has_columns(head, ("conversationid",), ("from",), ("content",))


def _is_profile(head: bytes) -> bool:
    return has_columns(head, ("firstname",), ("lastname",), ("headline", "summary"))


_TEXTS = Shape(
    "Shares.csv, Comments.csv or messages.csv of LinkedIn",
    r"(?:shares|comments|messages)\b.*\.csv|(?:shares|comments|messages)_\d+\.csv",
    lambda head: _is_share(head) or _is_comment(head) or _is_message(head),
)
_PROFILE = Shape("Profile.csv of LinkedIn", r"profile.*\.csv", _is_profile)


def sources(path: Path) -> Sequence[Source]:
    """The file itself, or those in a folder or archive."""
    return gather(path, _TEXTS, aside=_PROFILE)


def people(source: Source) -> People:
    """Who signed the messages."""
    found = People(_SERVICE, owners=_owners(source))
    for file in readable(source):
        try:
            if _is_message(file.head()):
                signed = (r for r in rows(file) if isinstance(r, Row))
                found.writers.update(r.get("from") for r in signed if r.get("from"))
        except FAULTS:
            continue
    return found


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per share, comment or message."""
    return read_files(source, options, _read_file)


def _read_file(file: Source) -> Iterator[Item]:
    head = file.head()
    if _is_share(head):
        make, escape = _share, None
    elif _is_message(head):
        make, escape = _message, None
    else:
        make, escape = _comment, "\\"
    for row in rows(file, escape=escape):
        yield row if isinstance(row, ImportFailure) else make(row)


def _share(row: Row) -> Document | Skipped:
    said = prose(row.get("sharecommentary").replace('"\n"', "\n"))
    if says_little(said, 1):
        return without_text(row.position)
    link = row.get("sharelink")
    return _post(row, said, link or digest(row.get("date"), said))


def _comment(row: Row) -> Document | Skipped:
    said = prose(row.get("message"))
    if says_little(said, 1):
        return without_text(row.position)
    return _post(row, said, digest(row.get("date"), row.get("link"), said))


def _post(row: Row, said: str, own_id: str) -> Document:
    return Document(
        position=row.position,
        key=f"{_SERVICE}:{own_id}",
        kind="post",
        text=said,
        sent_at=parse_date(row.get("date")),
        thread=row.get("sharelink", "link"),
        cleaning=VERSION,
    )


def _message(row: Row) -> Document | Skipped:
    said = prose(row.get("content"))
    if says_little(said):
        return Skipped(row.position, "without own words")
    if not row.get("from"):
        return Skipped(row.position, "messages without a name")
    talk, date = row.get("conversationid"), row.get("date")
    return Document(
        position=row.position,
        key=digest(_SERVICE, talk, date, row.get("from"), said),
        kind="message",
        text=said,
        title=prose(row.get("subject")),
        recipient=row.get("to", "conversationtitle"),
        sender=identity(_SERVICE, row.get("from")),
        sent_at=parse_date(date),
        thread=f"{_SERVICE}:{talk}" if talk else "",
        cleaning=VERSION,
    )


def _owners(source: Source) -> tuple[str, ...]:
    for file in aside_of(source):
        for row in rows(file):
            if isinstance(row, Row):
                name = f"{row.get('firstname')} {row.get('lastname')}".strip()
                return (name,) if name else ()
    return ()
