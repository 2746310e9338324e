"""Exported chats of WhatsApp: _chat.txt (iOS) or "WhatsApp Chat with X.txt" (Android).

Lines read `[date, time] Name: text` or `date, time - Name: text`, with the date in the
order of the phone's language; see formats/chats.py. Only messages under the owner's
own name, which --me says, are own; those of others are kept as theirs. The
export does not mark what was forwarded: forwarded text counts as written by whoever
sent it. Times are the phone's own and count as UTC.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from personal_store.cleaning.cleaning import VERSION
from personal_store.files.archives import FAULTS
from personal_store.files.sources import Source
from personal_store.importers.formats.chats import (
    Chat,
    Message,
    is_chat,
    messages,
    own_words,
)
from personal_store.importers.formats.exports import (
    Shape,
    digest,
    gather,
    read_files,
    readable,
    says_little,
)
from personal_store.importers.formats.talks import People, identity, plain_name
from personal_store.records import Document, Item, ReadOptions, Skipped

_SERVICE = "whatsapp"
_CHAT = Shape("exported WhatsApp chat", r".*\.txt", is_chat)
_TITLE = re.compile(
    r".*whatsapp\W*(?:chat)?\W*(?:(?:with|mit|con|avec|com|met|med|z|s|с)\b)?\W*(.*)",
    re.IGNORECASE,
)


def sources(path: Path) -> Sequence[Source]:
    """The file itself, or all chats in a folder or archive."""
    return gather(path, _CHAT)


def people(source: Source) -> People:
    """Who wrote in the chats."""
    found = People(_SERVICE)
    for file in readable(source):
        try:
            found.writers.update(Chat.of(file).writers)
        except FAULTS:
            continue
    return found


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per message that says something."""
    return read_files(source, options, _read_file)


def _read_file(file: Source) -> Iterator[Item]:
    chat = Chat.of(file)
    title = _title(file)
    for message in messages(file, chat.order):
        others = chat.names - {message.name}
        partner = others.pop() if len(chat.names) == 2 and len(others) == 1 else ""
        yield _item(message, partner or title)


def _item(message: Message, recipient: str) -> Document | Skipped:
    if not message.name:
        return Skipped(message.position, "notices")
    said = own_words(message.text)
    if says_little(said):
        return Skipped(message.position, "without own words")
    sender = identity(_SERVICE, message.name)
    return Document(
        position=message.position,
        key=digest(_SERVICE, sender, message.stamp, said),
        kind="message",
        text=said,
        recipient=recipient,
        sender=sender,
        sent_at=message.sent_at,
        cleaning=VERSION,
    )


def _title(file: Source) -> str:
    """What the chat is called, by its file, folder or archive."""
    names = (file.name, *reversed(file.folders[-1:]), file.path.name)
    for name in names:
        match = _TITLE.fullmatch(re.sub(r"\.(?:txt|zip)$", "", name, flags=re.I))
        if match and match.group(1).strip():
            return plain_name(match.group(1))
    return ""
