"""Captions, comments and messages from an Instagram export in JSON.

Read are posts_N.json, reels.json, the files with comments, and message_N.json of all
talks. The labels of a comment's fields are in the person's language; the text is found
under those known, else as the longest value. Messages are signed with names: the
owner's stand in personal_information.json, else --me says them; messages by others are
kept as theirs. HTML exports are not read.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from personal_store.cleaning.cleaning import VERSION
from personal_store.files.archives import FAULTS
from personal_store.files.sources import Source
from personal_store.importers.formats import meta
from personal_store.importers.formats.exports import (
    Shape,
    aside_of,
    digest,
    each,
    gather,
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

_SERVICE = "instagram"
_LISTS = (
    "comments_media_comments",
    "comments_reels_comments",
    "comments_story_comments",
    "ig_reels_media",
    "ig_archived_post_media",
)
_COMMENT = ("Comment", "Kommentar", "Opmerking", "Commentaire", "Comentario",
            "Comentário", "Commento", "Komentarz", "Yorum", "コメント")  # fmt: skip
_OWNER = ("Media Owner", "Eigentümer der Medien", "Medieninhaber", "Media-eigenaar",
          "Propriétaire du contenu", "Propietario del contenido",
          "Username")  # fmt: skip
_CAPTION = ("Caption", "Bildunterschrift", "Légende", "Texto", "Bijschrift", "Legenda")


_TEXTS = Shape(
    "JSON file with posts, comments or messages of Instagram",
    r"posts_\d+\.json|reels\.json|archived_posts\.json"
    rf"|(?:post|reels?|story)_comments(?:_\d+)?\.json|{meta.MESSAGES}",
    lambda head: (
        marked(head, *meta.MESSAGE_FIELDS)
        or marked(
            head,
            ("media", "string_map_data", "string_list_data", "label_values"),
            ("creation_timestamp", "timestamp"),
        )
    ),
    elsewhere="facebook",
)
_PROFILE = Shape(
    "profile of Instagram",
    r"personal_information\.json",
    lambda head: marked(head, ("profile_user",)),
)


def sources(path: Path) -> Sequence[Source]:
    """The file itself, or those in a folder or archive."""
    return gather(
        path,
        _TEXTS,
        aside=_PROFILE,
        owner=lambda profile: next(iter(_names(profile)), ""),
    )


def people(source: Source) -> People:
    """Who signed the messages."""
    owners: tuple[str, ...] = ()
    for profile in aside_of(source):
        with suppress(*FAULTS):
            owners = tuple(reversed(_names(profile)))
            break
    return meta.people(_SERVICE, source, owners)


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per caption, comment or message."""
    return read_files(source, options, _read_file)


def _read_file(file: Source) -> Iterator[Item]:
    if meta.is_messages(file):
        return meta.read_messages(_SERVICE, file)
    return each(
        elements(file, *_LISTS),
        lambda one: _caption(one) if one.get("media") else _comment(one),
    )


def _caption(element: Element) -> Document | Skipped:
    pictures = [mapping(picture) for picture in listing(element.get("media"))]
    labels = meta.labelled(element.fields)
    written = [element.get("title"), *(picture.get("title") for picture in pictures)]
    written += [labels[name].get("value") for name in _CAPTION if name in labels]
    said = meta.said_in(next(filter(None, written), ""))
    dates = (element.get("creation_timestamp", "timestamp"), *pictures[:1])
    date = next((mapping(d).get("creation_timestamp", d) for d in dates if d), None)
    return _document(element, "post", said, date, "")


def _comment(element: Element) -> Document | Skipped:
    labels = meta.labelled(element.fields)
    lists = [mapping(part) for part in listing(element.get("string_list_data"))]
    said = meta.said_in(_value(labels, _COMMENT))
    if not said and lists:
        said = meta.said_in(lists[0].get("value"))
    if not said:
        # Under a label nobody knows; the owner of a picture is one word.
        values = [meta.said_in(value.get("value")) for value in labels.values()]
        said = max((value for value in values if " " in value), key=len, default="")
    owner = meta.said_in(_value(labels, _OWNER)) or meta.said_in(element.get("title"))
    dates = [part.get("timestamp") for part in (*labels.values(), *lists)]
    date = next(filter(None, [*dates, element.get("timestamp")]), None)
    return _document(element, "comment", said, date, owner)


def _document(
    element: Element, what: str, said: str, date: Any, recipient: str
) -> Document | Skipped:
    if says_little(said, 1):
        return without_text(element.position)
    return Document(
        position=element.position,
        key=digest(_SERVICE, what, date, said),
        kind="post",
        text=said,
        recipient=recipient,
        sent_at=parse_date(date),
        cleaning=VERSION,
    )


def _value(labels: dict[str, dict[str, Any]], names: tuple[str, ...]) -> Any:
    return next((labels[name].get("value") for name in names if name in labels), None)


def _names(file: Source) -> tuple[str, ...]:
    """The owner's name and handle in a profile."""
    users = listing(mapping(content(file)).get("profile_user"))
    fields = meta.labelled(mapping(users[0])) if users else {}
    names = (_value(fields, ("Username",)), _value(fields, ("Name",)))
    return tuple(filter(None, map(meta.said_in, names)))
