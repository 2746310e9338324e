"""Direct messages in an X archive: who sent them, to whom, what they say.

They are signed with numbers of accounts. The owner's stands in account.js, or in the
manifest of the archive; names of others are learned from the posts that mention them.
"""

import html
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from personal_store.cleaning.cleaning import VERSION, tidy
from personal_store.files.archives import FAULTS
from personal_store.files.sources import Source
from personal_store.importers.formats.exports import Shape, digest, says_little
from personal_store.importers.formats.objects import (
    Element,
    listing,
    mapping,
    marked,
    text,
)
from personal_store.records import Document, Skipped
from personal_store.text.charset import decode
from personal_store.text.dates import parse_date

NAMES = r"direct-messages?(?:-group)?(?:-part\d+)?\.js"
"""Base names of their files; those with "headers" in it hold no texts."""
TALK = "dmConversation"
ACCOUNT = Shape(
    "account.js of an X archive",
    r"(?:account|manifest)\.js",
    lambda head: marked(head, ("accountId",)),
)

_SHORT_LINK = re.compile(r"\s*https://t\.co/\w*")
_LONGEST = 1_000_000
"""Bytes of the files that say whose archive it is."""


@dataclass(slots=True)
class Accounts:
    """Whose archive it is, and what others are called."""

    owner: str = ""
    """The number of the account; empty where no file tells."""
    names: dict[str, str] = field(default_factory=dict)
    """By number, with the @."""

    def learn(self, tweet: dict[str, Any]) -> None:
        """Take the names of those whom a post mentions or answers."""
        users = listing(mapping(tweet.get("entities")).get("user_mentions"))
        for user in map(mapping, users):
            self._name(user.get("id_str"), user.get("screen_name"))
        answered = tweet.get("in_reply_to_user_id_str")
        self._name(answered, tweet.get("in_reply_to_screen_name"))

    def _name(self, number: Any, name: Any) -> None:
        if text(number) and text(name):
            self.names[number] = f"@{name}"


def owner_in(files: Sequence[Source]) -> str:
    """The number of the owner's account in the first file that tells it; else empty."""
    for file in files:
        try:
            script = decode(file.whole(_LONGEST))
            value = json.loads(script.partition("=")[2].strip().rstrip(";"))
        except (*FAULTS, RecursionError):
            continue
        first = next(iter(listing(value)), value)
        fields = mapping(first)
        inner = mapping(fields.get("account")) or mapping(fields.get("userInfo"))
        if text(inner.get("accountId")):
            return text(inner.get("accountId"))
    return ""


def read_talk(element: Element, accounts: Accounts) -> Iterator[Document | Skipped]:
    """The owner's messages in one conversation; each has a position of its own.

    A conversation is far longer in bytes than it has messages, so that there is one.
    """
    talk = mapping(element.get(TALK))
    events = [mapping(event) for event in listing(talk.get("messages"))]
    if not events:
        yield Skipped(element.position, "without text")
    for left, event in enumerate(events, 1 - len(events)):
        yield _message(event, talk, element.position + left, accounts)


def _message(
    event: dict[str, Any], talk: dict[str, Any], position: int, accounts: Accounts
) -> Document | Skipped:
    message = mapping(event.get("messageCreate"))
    if not message:
        return Skipped(position, "notices")
    if not accounts.owner:
        return Skipped(position, "messages, as no account.js says which are yours")
    if message.get("senderId") != accounts.owner:
        return Skipped(position, "messages of others")
    said = _said(message)
    if says_little(said):
        return Skipped(position, "without own words")
    own_id, date = text(message.get("id")), message.get("createdAt")
    thread = text(talk.get("conversationId"))
    return Document(
        position=position,
        key=f"x:dm:{own_id}" if own_id else digest("x:dm", thread, date, said),
        kind="message",
        text=said,
        recipient=_recipient(message, talk, accounts),
        sent_at=parse_date(date),
        thread=f"x:dm:{thread}" if thread else "",
        cleaning=VERSION,
    )


def _said(message: dict[str, Any]) -> str:
    written = text(message.get("text"))
    for link in map(mapping, listing(message.get("urls"))):
        short = text(link.get("url"))
        if short:
            written = written.replace(short, text(link.get("expanded")))
    return tidy(html.unescape(_SHORT_LINK.sub("", written))).strip()


def _recipient(
    message: dict[str, Any], talk: dict[str, Any], accounts: Accounts
) -> str:
    """The name of the other, or of the group; a bare number tells nobody anything."""
    known = accounts.names.get(text(message.get("recipientId")), "")
    return known or tidy(text(talk.get("name")) or _latest_name(talk)).strip()


def _latest_name(talk: dict[str, Any]) -> str:
    """What a group was called last, by the notices among its messages."""
    events = (mapping(event) for event in listing(talk.get("messages")))
    notices = [mapping(event.get("conversationNameUpdate")) for event in events]
    last = max(notices, key=lambda n: text(n.get("createdAt")), default={})
    return text(last.get("name"))
