"""What the exports of Facebook and Instagram share: broken characters, names, messages.

Both write each byte of a text as a character of its own, so that "café" reads "cafÃ©".
Fields have names in the person's language where they are labels of a form.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from personal_store.cleaning.cleaning import VERSION, tidy
from personal_store.files.archives import FAULTS
from personal_store.files.sources import Source
from personal_store.importers.formats.exports import digest, readable, says_little
from personal_store.importers.formats.objects import content, listing, mapping, marked
from personal_store.importers.formats.talks import People, identity
from personal_store.records import Document, ImportFailure, Item, Skipped
from personal_store.text.dates import parse_date

MESSAGES = r"message_\d+\.json"
"""Base name of a file with messages; a talk has several when it is long."""
MESSAGE_FIELDS = (("messages",), ("participants",), ("sender_name", "senderName"))
ENCRYPTED_FIELDS = (("messages",), ("participants",), ("threadName",))
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
_NUMBER = re.compile(r"_\d+\Z")
"""Behind the name of an encrypted talk."""


def mend(value: Any) -> str:
    """A text with its broken characters put together again; other texts stay."""
    if not isinstance(value, str):
        return ""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def said_in(value: Any) -> str:
    """A mended text, tidied."""
    return tidy(mend(value)).strip()


def labelled(entry: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
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


def is_messages(file: Source) -> bool:
    """Whether a file holds messages, by its name or by what it begins with."""
    head = file.head()
    return marked(head, *MESSAGE_FIELDS) or marked(head, *ENCRYPTED_FIELDS)


def people(service: str, source: Source, owners: tuple[str, ...]) -> People:
    """Who wrote the messages of an export.

    Whose it is, where no profile says it, can be whoever alone takes part in all talks.
    """
    found = People(service, owners=owners)
    talks: list[set[str]] = []
    for file in readable(source):
        try:
            if is_messages(file):
                talk, entries = _entries(file)
                found.writers.update(filter(None, map(_sender, entries)))
                talks.append(set(_participants(talk)))
        except FAULTS:
            continue
    if not owners and talks and len(alone := set.intersection(*talks)) == 1:
        found.owners = tuple(alone)
    return found


def read_messages(service: str, file: Source) -> Iterator[Item]:
    """The messages of a file, signed with names."""
    talk, entries = _entries(file)
    for number, entry in enumerate(entries, 1):
        position = max(number, file.size * number // len(entries))
        if isinstance(entry, dict):
            yield _message(service, talk, entry, position)
        else:
            where = f"{file.name}, message {number}"
            yield ImportFailure(position, where, "it is not an object with fields")


def _message(
    service: str, talk: dict[str, Any], entry: dict[str, Any], position: int
) -> Document | Skipped:
    name, said = _sender(entry), said_in(entry.get("content") or entry.get("text"))
    if not name:
        return Skipped(position, "messages without a name")
    if _is_made(entry, name, said) or says_little(said):
        return Skipped(position, "without own words")
    sender = identity(service, name)
    date = entry.get("timestamp_ms") or entry.get("timestamp")
    others = [other for other in _participants(talk) if other != name]
    title = mend(talk.get("title")).strip() or _NUMBER.sub("", _thread_name(talk))
    path = mend(talk.get("thread_path")) or _thread_name(talk)
    return Document(
        position=position,
        key=digest(service, "message", sender, date, said),
        kind="message",
        text=said,
        recipient=others[0] if len(others) == 1 else title,
        sender=sender,
        sent_at=parse_date(date),
        thread=f"{service}:{path}" if path else "",
        cleaning=VERSION,
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
    if entry.get("is_unsent") is True or entry.get("isUnsent") is True:
        return True
    if entry.get("type") == "placeholder":
        return True
    if "call_duration" in entry or _MADE.fullmatch(said):
        return True
    first = name.split()[0]
    return len(said) < _LONGEST_MADE and said.startswith((f"{name} ", f"{first} "))


def _participants(talk: dict[str, Any]) -> list[str]:
    entries = listing(talk.get("participants"))
    names = (mend(mapping(entry).get("name") or entry).strip() for entry in entries)
    return list(filter(None, names))


def _thread_name(talk: dict[str, Any]) -> str:
    return mend(talk.get("threadName")).strip()
