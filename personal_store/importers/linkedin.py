"""Shares, comments, messages and recommendations from LinkedIn's copy of your data.

Shares.csv, Comments.csv and messages.csv, sometimes with the member's number behind the
name. Comments write a quotation mark as \\", the others double it; some exports put
marks around each line break of a share. Messages are signed with names: the owner's
stands in Profile.csv, else --me says it; messages by others are kept as theirs. Of
Invitations.csv those are read that went out. Recommendations that were given and those
that were received have the same columns, so only the name of the file tells them apart.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from personal_store.cleaning.cleaning import VERSION
from personal_store.files.archives import FAULTS
from personal_store.files.sources import Source
from personal_store.importers.formats.exports import (
    Shape,
    digest,
    each,
    gather,
    owners_of,
    prose,
    read_files,
    readable,
    says_little,
    without_text,
)
from personal_store.importers.formats.tables import Row, has_columns, rows
from personal_store.importers.formats.talks import People, identity
from personal_store.records import Document, Item, ReadOptions, Skipped
from personal_store.text.dates import parse_date

_SERVICE = "linkedin"


# Columns that tell the tables apart: at least one of each group.
_SHARES = (("sharecommentary",), ("sharelink", "date"))
_COMMENTS = (("link",), ("message",), ("date",))
_MESSAGES = (("conversationid",), ("from",), ("content",))
_INVITATIONS = (("message",), ("direction",), ("sentat",))
_RECOMMENDATIONS = (("firstname",), ("text",), ("status", "creationdate"))
_TABLES = (_SHARES, _COMMENTS, _MESSAGES, _INVITATIONS, _RECOMMENDATIONS)

_TEXTS = Shape(
    "Shares.csv, Comments.csv or messages.csv of LinkedIn",
    r"(?:shares|comments|messages|invitations)(?:\b|_\d).*\.csv"
    r"|recommendations[ _]given.*\.csv",
    lambda head: any(has_columns(head, *columns) for columns in _TABLES),
)
_YES = frozenset({"yes", "true", "1"})
_GIVEN = re.compile(r"recommendations[ _]given", re.IGNORECASE)
_PROFILE = Shape(
    "Profile.csv of LinkedIn",
    r"profile.*\.csv",
    lambda head: has_columns(
        head, ("firstname",), ("lastname",), ("headline", "summary")
    ),
)


def sources(path: Path) -> Sequence[Source]:
    """The file itself, or those in a folder or archive."""
    return gather(path, _TEXTS, aside=_PROFILE, owner=_owner)


def people(source: Source) -> People:
    """Who signed the messages."""
    found = People(_SERVICE, owners=owners_of(source, _owner))
    for file in readable(source):
        try:
            if has_columns(file.head(), *_MESSAGES):
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
    make: Callable[[Row], Document | Skipped]
    escape = None
    if has_columns(head, *_SHARES):
        make = _share
    elif has_columns(head, *_MESSAGES):
        make = _message
    elif has_columns(head, *_INVITATIONS):
        make = _invitation
    elif has_columns(head, *_RECOMMENDATIONS) and _GIVEN.match(file.name):
        make = _given
    elif has_columns(head, *_RECOMMENDATIONS):
        reason = "recommendations by others"
        return each(rows(file), lambda row: Skipped(row.position, reason))
    else:
        make, escape = _comment, "\\"
    return each(rows(file, escape=escape), make)


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
    drafted = row.get("ismessagedraft"), row.get("isconversationdraft")
    if row.get("folder").upper().startswith("DRAFT") or _YES & {
        *map(str.lower, drafted)
    }:
        return Skipped(row.position, "drafts")
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


def _invitation(row: Row) -> Document | Skipped:
    if row.get("direction").upper() != "OUTGOING":
        return Skipped(row.position, "invitations by others")
    said, date, to = prose(row.get("message")), row.get("sentat"), row.get("to")
    if says_little(said):
        return Skipped(row.position, "without own words")
    return Document(
        position=row.position,
        key=digest(_SERVICE, "invitation", date, to, said),
        kind="message",
        text=said,
        recipient=to,
        sent_at=parse_date(date),
        cleaning=VERSION,
    )


def _given(row: Row) -> Document | Skipped:
    said, date = prose(row.get("text")), row.get("creationdate")
    if says_little(said, 1):
        return without_text(row.position)
    person = _person(row)
    return Document(
        position=row.position,
        key=digest(_SERVICE, "recommendation", person, date),
        kind="post",
        text=said,
        recipient=person,
        sent_at=parse_date(date),
        cleaning=VERSION,
    )


def _person(row: Row) -> str:
    return f"{row.get('firstname')} {row.get('lastname')}".strip()


def _owner(file: Source) -> str:
    """The name in a profile."""
    return next((_person(row) for row in rows(file) if isinstance(row, Row)), "")
