"""Posts, comments and messages from the JSON exports of Facebook and Instagram.

Both write each byte of a text as a character of its own, so that "café" reads "cafÃ©".
Folders were renamed over the years, so only base names and fields count; labels of
forms are in the person's language. Messages are signed with names: the owner's stands
in a profile, or is the only one in all talks, else --me says it; those of others are
kept as theirs. HTML exports are not read.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from personal_store.cleaning.cleaning import tidy
from personal_store.files import FAULTS, Source
from personal_store.importers.exports import (
    FEWEST_WORDS,
    WITHOUT_WORDS,
    People,
    Shape,
    TalkService,
    digest,
    each,
    identity,
    placed,
    readable,
    written,
)
from personal_store.importers.structured import (
    NO_OBJECT,
    Element,
    content,
    elements,
    fields,
    listing,
    mapping,
)
from personal_store.records import Document, ImportFailure, Item

_MESSAGES = r"message_\d+\.json"
_is_talk = fields("messages", "participants", "sender_name senderName")
_is_encrypted = fields("messages", "participants", "threadName")
"""What a file with an encrypted talk begins with, even if nothing was said in it."""
_MADE = re.compile(
    r"(?:reacted .{1,16} to your message|liked a message|you sent an attachment\."
    r"|hat mit .{1,16} auf deine nachricht reagiert|hat eine nachricht mit .+ markiert"
    r"|a réagi avec .{1,16} à votre message|a aimé un message"
    r"|reaccionó con .{1,16} a tu mensaje|le ha gustado un mensaje"
    r"|ha reagito con .{1,16} al tuo messaggio|ha messo mi piace a un messaggio"
    r"|reagiu com .{1,16} à sua mensagem|curtiu uma mensagem"
    r"|reageerde met .{1,16} op je bericht)\s*",
    re.IGNORECASE,
)
_LONGEST_MADE = 160
_NUMBER = re.compile(r"_\d+\Z")  # behind the name of an encrypted talk


class _Meta(TalkService):
    """The importer of one of the two services."""

    def people(self, source: Source) -> People:
        """Who wrote the messages.

        Whose export it is, if no profile says it, can be whoever alone takes part in
        all talks.
        """
        found = super().people(source)
        talks: list[set[str]] = []
        for file in readable(source) if not found.owners else ():
            with suppress(*FAULTS):
                if _is_messages(file):
                    talks.append(set(_participants(_entries(file)[0])))
        if talks and len(alone := set.intersection(*talks)) == 1:
            found.owners = tuple(alone)
        return found


def mend(value: Any) -> str:
    """A text with its broken characters put together again; other texts stay."""
    if not isinstance(value, str):
        return ""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def _said_in(value: Any) -> str:
    return tidy(mend(value)).strip()


def _is_messages(file: Source) -> bool:
    return _is_talk(file.head()) or _is_encrypted(file.head())


def _writers(file: Source) -> Iterator[str]:
    if _is_messages(file):
        yield from filter(None, map(_sender, _entries(file)[1]))


def _read_messages(service: str, file: Source) -> Iterator[Item]:
    talk, entries = _entries(file)
    for number, entry in enumerate(entries, 1):
        position = max(number, file.size * number // len(entries))
        if isinstance(entry, dict):
            yield placed(_message(service, talk, entry), position)
        else:
            where = f"{file.name}, message {number}"
            yield ImportFailure(position, where, NO_OBJECT)


def _message(
    service: str, talk: dict[str, Any], entry: dict[str, Any]
) -> Document | str:
    name, said = _sender(entry), _said_in(entry.get("content") or entry.get("text"))
    if not name:
        return "messages without a name"
    if _is_made(entry, name, said):
        return WITHOUT_WORDS
    sender = identity(service, name)
    date = entry.get("timestamp_ms") or entry.get("timestamp")
    others = [other for other in _participants(talk) if other != name]
    thread = mend(talk.get("threadName")).strip()
    title = mend(talk.get("title")).strip() or _NUMBER.sub("", thread)
    path = mend(talk.get("thread_path")) or thread
    return written(
        digest(service, "message", sender, date, said),
        *("message", said, date),
        fewest=FEWEST_WORDS,
        recipient=others[0] if len(others) == 1 else title,
        sender=sender,
        thread=f"{service}:{path}" if path else "",
    )


def _entries(file: Source) -> tuple[dict[str, Any], list[Any]]:
    talk = mapping(content(file))
    return talk, listing(talk.get("messages"))


def _sender(entry: Any) -> str:
    fields = mapping(entry)
    return mend(fields.get("sender_name") or fields.get("senderName")).strip()


def _is_made(entry: dict[str, Any], name: str, said: str) -> bool:
    """Whether the service wrote it: "Ana sent an attachment." and the like.

    Such sentences are in the person's language, but most begin with the name of
    whoever did something.
    """
    if True in (entry.get("is_unsent"), entry.get("isUnsent")):
        return True
    if entry.get("type") == "placeholder" or "call_duration" in entry:
        return True
    begins = said.startswith((f"{name} ", f"{name.split()[0]} "))
    return bool(_MADE.fullmatch(said)) or (begins and len(said) < _LONGEST_MADE)


def _participants(talk: dict[str, Any]) -> list[str]:
    entries = listing(talk.get("participants"))
    names = (mend(mapping(entry).get("name") or entry).strip() for entry in entries)
    return list(filter(None, names))


# Facebook: your_posts*.json, those in groups, comments, and message_N.json of all
# talks. Encrypted talks come in an export of their own, one file for each, called after
# the other person and a number, so these are recognised by their fields. What others
# wrote on the owner's page is in files of another name and not read.

_FACEBOOK_LISTS = (
    *("group_posts_v2", "comments_v2", "group_comments_v2", "posts_v2", "comments"),
)


def _read_facebook(file: Source) -> Iterator[Item]:
    if _is_messages(file):
        return _read_messages("facebook", file)
    return each(elements(file, *_FACEBOOK_LISTS), _facebook_post)


def _facebook_post(element: Element) -> Document | str:
    parts = [mapping(part) for part in listing(element.get("data"))]
    comments = [mapping(part.get("comment")) for part in parts if part.get("comment")]
    texts = [part.get("post") for part in parts if part.get("post")]
    texts += [comment.get("comment") for comment in comments]
    said = _said_in(next(iter(texts), ""))
    if not said:  # perhaps below a picture
        attachments = map(mapping, listing(element.get("attachments")))
        below = [part for one in attachments for part in listing(one.get("data"))]
        media = (mapping(mapping(part).get("media")) for part in below)
        said = next(filter(None, (_said_in(m.get("description")) for m in media)), "")
    date = element.get("timestamp")
    kind = "comment" if comments else "post"
    groups = [comment["group"] for comment in comments if comment.get("group")]
    key = digest("facebook", kind, date, said)
    return written(
        *(key, "post", said, date), recipient=_said_in(groups[0]) if groups else ""
    )


def _facebook_owner(file: Source) -> list[str]:
    fields = mapping(content(file))
    name = mapping(fields.get("profile_v2") or fields.get("profile")).get("name")
    return [_said_in(mapping(name).get("full_name") or name)]


_is_facebook_post = fields("timestamp", "data", "post comment description media")

facebook = _Meta(
    Shape(
        "JSON file with posts, comments or messages of Facebook",
        r"your_posts.*\.json|group_posts.*\.json|(?:your_)?comments.*\.json"
        rf"|{_MESSAGES}",
        lambda head: _is_talk(head) or _is_facebook_post(head),
        elsewhere="instagram",
    ),
    _read_facebook,
    Shape(
        "profile of Facebook",
        r"profile_information\.json",
        fields("profile_v2 profile"),
    ),
    _facebook_owner,
    Shape(
        "file with an encrypted talk of Facebook",
        r".+\.json",
        _is_encrypted,
        elsewhere="instagram",
    ),
    "facebook",
    _writers,
)


# Instagram: posts_N.json, reels.json, the files with comments, and message_N.json. The
# text of a comment is found under the labels known, else as the longest value.

_INSTAGRAM_LISTS = (
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


def _read_instagram(file: Source) -> Iterator[Item]:
    if _is_messages(file):
        return _read_messages("instagram", file)
    return each(
        elements(file, *_INSTAGRAM_LISTS),
        lambda one: _caption(one) if one.get("media") else _comment(one),
    )


def _labelled(entry: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The fields of a form by their mended labels, in the older and newer shapes."""
    found = {
        mend(label): value
        for label, value in mapping(entry.get("string_map_data")).items()
        if isinstance(value, dict)
    }
    for value in listing(entry.get("label_values")):
        if isinstance(value, dict) and isinstance(value.get("label"), str):
            found[mend(value["label"])] = value
    return found


def _value(labels: dict[str, dict[str, Any]], names: tuple[str, ...]) -> Any:
    return next((labels[name].get("value") for name in names if name in labels), None)


def _caption(element: Element) -> Document | str:
    pictures = [mapping(picture) for picture in listing(element.get("media"))]
    labels = _labelled(element.fields)
    texts = [element.get("title"), *(picture.get("title") for picture in pictures)]
    texts += [labels[name].get("value") for name in _CAPTION if name in labels]
    said = _said_in(next(filter(None, texts), ""))
    dates = (element.get("creation_timestamp", "timestamp"), *pictures[:1])
    date = next((mapping(d).get("creation_timestamp", d) for d in dates if d), None)
    return written(digest("instagram", "post", date, said), "post", said, date)


def _comment(element: Element) -> Document | str:
    labels = _labelled(element.fields)
    lists = [mapping(part) for part in listing(element.get("string_list_data"))]
    said = _said_in(_value(labels, _COMMENT))
    if not said and lists:
        said = _said_in(lists[0].get("value"))
    if not said:
        # Under a label nobody knows; the owner of a picture is one word.
        values = [_said_in(value.get("value")) for value in labels.values()]
        said = max((value for value in values if " " in value), key=len, default="")
    owner = _said_in(_value(labels, _OWNER)) or _said_in(element.get("title"))
    dates = [part.get("timestamp") for part in (*labels.values(), *lists)]
    date = next(filter(None, [*dates, element.get("timestamp")]), None)
    key = digest("instagram", "comment", date, said)
    return written(key, "post", said, date, recipient=owner)


def _instagram_owner(file: Source) -> list[str]:
    """The owner's name and handle in a profile."""
    users = listing(mapping(content(file)).get("profile_user"))
    fields = _labelled(mapping(users[0])) if users else {}
    return [_said_in(_value(fields, (name,))) for name in ("Name", "Username")]


_is_instagram_post = fields(
    "media string_map_data string_list_data label_values",
    "creation_timestamp timestamp",
)

instagram = _Meta(
    Shape(
        "JSON file with posts, comments or messages of Instagram",
        r"posts_\d+\.json|reels\.json|archived_posts\.json"
        rf"|(?:post|reels?|story)_comments(?:_\d+)?\.json|{_MESSAGES}",
        lambda head: _is_talk(head) or _is_instagram_post(head),
        elsewhere="facebook",
    ),
    _read_instagram,
    Shape(
        "profile of Instagram", r"personal_information\.json", fields("profile_user")
    ),
    _instagram_owner,
    name="instagram",
    writers=_writers,
)
