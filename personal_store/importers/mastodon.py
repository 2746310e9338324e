"""Posts from a Mastodon archive: outbox.json, the ActivityPub outbox.

Boosts are skipped. The people a post begins with are its recipient, not its text; a
post for nobody but the people it names is a message. The warning before a text is its
title.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from personal_store.cleaning.cleaning import VERSION
from personal_store.files.sources import Source
from personal_store.importers.formats.exports import (
    Shape,
    addressed,
    digest,
    each,
    gather,
    prose,
    read_files,
    says_little,
    without_text,
)
from personal_store.importers.formats.objects import (
    Element,
    content,
    elements,
    mapping,
    marked,
    text,
)
from personal_store.records import Document, Item, ReadOptions, Skipped
from personal_store.text.dates import parse_date

_OUTBOX = Shape(
    "outbox.json of Mastodon",
    r"outbox.*\.json",
    lambda head: marked(head, ("orderedItems",)),
)
_ACTOR = Shape(
    "actor.json of Mastodon",
    r"actor\.json",
    lambda head: marked(head, ("preferredUsername",), ("outbox",)),
)
_INLINE_QUOTE = re.compile(r"<(p|span) class=\"quote-inline\">.*?</\1>", re.DOTALL)
_OPEN = re.compile(r"#Public\Z|\A(?:as:)?Public\Z|/followers\Z")


def sources(path: Path) -> Sequence[Source]:
    """The file itself, or the one in the archive or folder."""
    return gather(path, _OUTBOX, aside=_ACTOR, owner=_owner)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per own post."""
    return read_files(
        source, options, lambda file: each(elements(file, "orderedItems"), _post)
    )


def _owner(file: Source) -> str:
    """The address of the account."""
    return text(mapping(content(file)).get("id"))


def _post(element: Element) -> Document | Skipped:
    if element.get("type") != "Create":
        return Skipped(element.position, "posts of others")
    note = mapping(element.get("object"))
    written = prose(_INLINE_QUOTE.sub("", text(note.get("content"))))
    to, said = addressed(written)
    if says_little(said, 1):
        return without_text(element.position)
    own_id, date = text(note.get("id")), note.get("published")
    # A post for everybody or all followers; also assumed where nothing says for whom.
    readers = [note.get("to"), note.get("cc")]
    names = [n for r in readers for n in (r if isinstance(r, list) else [r]) if n]
    is_open = not names or any(_OPEN.search(n) for n in names if isinstance(n, str))
    answered = text(note.get("inReplyTo"))
    return Document(
        position=element.position,
        key=f"mastodon:{own_id}" if own_id else digest("mastodon", date, said),
        kind="post" if is_open else "message",
        text=said,
        title=prose(note.get("summary")),
        recipient=to,
        sent_at=parse_date(date),
        thread=text(note.get("conversation") or note.get("context")),
        reply_to=f"mastodon:{answered}" if answered else "",
        trimmed="<blockquote" in text(note.get("content")),
        cleaning=VERSION,
    )
