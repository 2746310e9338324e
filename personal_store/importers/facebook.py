"""Posts, comments and messages from a Facebook export in JSON.

Read are your_posts*.json, those in groups, comments, and message_N.json of all talks;
the folders were renamed over the years, so only base names and fields count. Encrypted
talks come in an export of their own, one file for each, called after the other person
and a number, so these are told by their fields. What others wrote on the owner's page
is in files of another name and not read. Messages are signed with names: the owner's
stands in profile_information.json, or is the only one in all talks, else --me says it;
messages by others are kept as theirs. HTML exports are not read.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from personal_store.cleaning.cleaning import VERSION
from personal_store.files.sources import Source
from personal_store.importers.formats import meta
from personal_store.importers.formats.exports import (
    Shape,
    digest,
    each,
    gather,
    owners_of,
    read_files,
    says_little,
    without_text,
)
from personal_store.importers.formats.objects import (
    Element,
    content,
    elements,
    listing,
    mapping,
    marked,
)
from personal_store.importers.formats.talks import People
from personal_store.records import Document, Item, ReadOptions, Skipped
from personal_store.text.dates import parse_date

_SERVICE = "facebook"
_LISTS = ("group_posts_v2", "comments_v2", "group_comments_v2", "posts_v2", "comments")


_TEXTS = Shape(
    "JSON file with posts, comments or messages of Facebook",
    rf"your_posts.*\.json|group_posts.*\.json|(?:your_)?comments.*\.json|{meta.MESSAGES}",
    lambda head: (
        marked(head, *meta.MESSAGE_FIELDS)
        or marked(
            head, ("timestamp",), ("data",), ("post", "comment", "description", "media")
        )
    ),
    elsewhere="instagram",
)
_ENCRYPTED = Shape(
    "file with an encrypted talk of Facebook",
    r".+\.json",
    lambda head: marked(head, *meta.ENCRYPTED_FIELDS),
    elsewhere="instagram",
)
_PROFILE = Shape(
    "profile of Facebook",
    r"profile_information\.json",
    lambda head: marked(head, ("profile_v2", "profile")),
)


def sources(path: Path) -> Sequence[Source]:
    """The file itself, or those in a folder or archive."""
    return gather(path, _TEXTS, _ENCRYPTED, aside=_PROFILE, owner=_owner)


def people(source: Source) -> People:
    """Who signed the messages."""
    return meta.people(_SERVICE, source, owners_of(source, _owner))


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per post, comment or message."""
    return read_files(source, options, _read_file)


def _read_file(file: Source) -> Iterator[Item]:
    if meta.is_messages(file):
        return meta.read_messages(_SERVICE, file)
    return each(elements(file, *_LISTS), _post)


def _post(element: Element) -> Document | Skipped:
    parts = [mapping(part) for part in listing(element.get("data"))]
    comments = [mapping(part.get("comment")) for part in parts if part.get("comment")]
    written = [part.get("post") for part in parts if part.get("post")]
    written += [comment.get("comment") for comment in comments]
    said = meta.said_in(next(iter(written), "")) or _caption(element)
    if says_little(said, 1):
        return without_text(element.position)
    date = element.get("timestamp")
    kind = "comment" if comments else "post"
    groups = [comment["group"] for comment in comments if comment.get("group")]
    return Document(
        position=element.position,
        key=digest(_SERVICE, kind, date, said),
        kind="post",
        text=said,
        recipient=meta.said_in(groups[0]) if groups else "",
        sent_at=parse_date(date),
        cleaning=VERSION,
    )


def _caption(element: Element) -> str:
    """What is written below the first picture that has something."""
    for attachment in listing(element.get("attachments")):
        for part in listing(mapping(attachment).get("data")):
            media = mapping(mapping(part).get("media"))
            said = meta.said_in(media.get("description"))
            if said:
                return said
    return ""


def _owner(file: Source) -> str:
    """The name in a profile."""
    fields = mapping(content(file))
    name = mapping(fields.get("profile_v2") or fields.get("profile")).get("name")
    return meta.said_in(mapping(name).get("full_name") or name)
