"""One raw message to a document, or to the reason why it is none.

A document keeps the bodies of its message packed, to be cleaned later or again. They
are packed and unpacked here, where no database is known: the processes that read mail
for a large import pack too.
"""

import hashlib
import json
import re
import zlib
from dataclasses import dataclass, replace
from itertools import chain

from personal_store.cleaning.cleaning import MAX_TEXT, VERSION, clean_mail, normalised
from personal_store.cleaning.markup import MAX_HTML
from personal_store.mail.labels import split_labels, unwanted
from personal_store.mail.mail import (
    Mail,
    addresses,
    headers_of,
    seconds_of,
    sent_at,
    with_bodies,
)
from personal_store.mail.mime import message_of
from personal_store.mail.splitting import Stretch
from personal_store.records import (
    UNREAD,
    Document,
    ImportFailure,
    Item,
    RawText,
    Skipped,
)
from personal_store.text.charset import header_text
from personal_store.text.tokens import tokens

FEWEST_WORDS = 3
MAX_STORED = 100_000
"""Characters of a text that are stored."""

# The mail library raises these on hostile input; a bad message is a value here.
_PARSER_FAULTS = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    RecursionError,
)
_EXPUNGED = 0x0008
_MESSAGE_ID = re.compile(r"<[^<>\s]+>|[^<>\s]+@[^<>\s]+")

_LEVEL = 3
"""Takes half the time of zlib's own choice, and 7 % more room."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A message that nobody has read yet, with what `read_letter` is told of it."""

    raw: bytes | Stretch
    """The message, or where it lies."""
    position: int
    where: str
    me: frozenset[str] = frozenset()
    envelope: str = ""
    folder: str = ""

    @property
    def size(self) -> int:
        """Bytes of the message."""
        if isinstance(self.raw, Stretch):
            return self.raw.end - self.raw.begin
        return len(self.raw)


def read_now(one: Letter | Item) -> Item:
    """The document in a letter; anything else stays as it is."""
    if not isinstance(one, Letter):
        return one
    raw, envelope = one.raw, one.envelope
    if isinstance(raw, Stretch):
        message = raw.message()
        raw, envelope = message.content, message.envelope
    return read_letter(
        raw,
        position=one.position,
        where=one.where,
        me=one.me,
        envelope=envelope,
        folder=one.folder,
    )


def read_letter(
    raw: bytes,
    *,
    position: int,
    where: str,
    me: frozenset[str] = frozenset(),
    envelope: str = "",
    folder: str = "",
) -> Item:
    """The document in a message, or why there is none. Never raises.

    Where it is known who the owner is, mail by others is packed as it came; it has no
    text until somebody cleans it (raw_bodies.py).
    """
    try:
        message = message_of(raw)
        mail = headers_of(message, folder)
        sender = sender_of(mail)
        labels = labels_of(mail)
        reason = unwanted(labels) or _unwanted(mail, sender, me)
        if reason:
            return Skipped(position, reason)
        if not sender:
            return ImportFailure(position, where, "it does not say who sent it")
        mail = with_bodies(mail, message)
        if (
            mail.calendar_method in ("REPLY", "CANCEL", "COUNTER", "REFRESH")
            or (bool(mail.calendar_method) and not (mail.plain or mail.html).strip())
            or "multipart/report" in mail.types
        ):
            return Skipped(position, "calendar messages")
        if not (mail.plain.strip() or mail.html.strip()):
            return Skipped(position, "without own words")
        people = (addresses(mail.headers.get(n, [])) for n in ("to", "cc", "bcc"))
        first = next(chain.from_iterable(people), None)
        # Without an address the header itself, such as 'undisclosed-recipients:;'.
        name, address = first or (header_text(mail.raw("to")), "")
        thread = f"gmail:{mail.header('x-gm-thrid')}"
        if thread == "gmail:":
            above = mail.header("references") or mail.header("in-reply-to")
            thread = _first_id(above)
        # The date after the address of a mailbox's 'From ' line.
        written = envelope.removeprefix("From ").partition(" ")[2]
        document = Document(
            position=position,
            key=_key(mail, sender),
            kind="email",
            text="",
            title=mail.header("subject"),
            recipient=name or address,
            recipient_address=address,
            sender=sender,
            sent_at=sent_at(mail) or seconds_of(written),
            labels=labels,
            thread=thread,
            reply_to=_first_id(mail.header("in-reply-to")),
            cleaning=UNREAD,
            raw=pack(RawText(mail.plain, mail.html)),
        )
        if me and sender not in me:
            return document  # Mail by others is seldom wanted: cleaning waits for that.
        cleaned = clean_mail(mail)
        if not says_something(cleaned.text):
            return Skipped(position, "without own words")
        return replace(
            document,
            text=cleaned.text[:MAX_STORED],
            trimmed=cleaned.trimmed,
            cleaning=VERSION,
        )
    except _PARSER_FAULTS as error:
        reason = f"the message is broken ({type(error).__name__}: {error})"
        return ImportFailure(position, where, reason)


def sender_of(mail: Mail) -> str:
    """Lower-cased From address; empty if there is none."""
    return next((who for _, who in addresses(mail.headers.get("from", []))), "")


def labels_of(mail: Mail) -> tuple[str, ...]:
    """Gmail labels, decoded before they are split: an encoded header hides commas.

    The folder is one more label.
    """
    labels = split_labels(mail.header("x-gmail-labels"))
    return (*labels, mail.folder) if mail.folder else labels


def is_automatic(mail: Mail) -> bool:
    """Whether a machine wrote it: out-of-office, bounces, notifications."""
    submitted = mail.header("auto-submitted").lower()
    return (
        submitted.startswith("auto-")
        or "x-autoreply" in mail.headers
        or "x-autorespond" in mail.headers
        or mail.header("precedence").lower() in ("bulk", "junk", "auto_reply")
        or mail.header("return-path") == "<>"
    )


def is_bulk(mail: Mail) -> bool:
    """Whether it went to many: newsletters and mailing lists."""
    return "list-unsubscribe" in mail.headers or "list-id" in mail.headers


def _unwanted(mail: Mail, sender: str, me: frozenset[str]) -> str:
    if _is_expunged(mail):
        return "in the trash"
    if is_automatic(mail):
        return "automatic messages"
    if is_bulk(mail) and sender not in me:
        return "newsletters and lists"
    return ""


def _is_expunged(mail: Mail) -> bool:
    """Thunderbird leaves deleted mail in the file until it compacts the folder."""
    try:
        return bool(int(mail.header("x-mozilla-status") or "0", 16) & _EXPUNGED)
    except ValueError:
        return False


def says_something(text: str) -> bool:
    """Whether there are enough words; the first line nearly always has them."""
    return any(len(tokens(text[:length])) >= FEWEST_WORDS for length in (60, 1000))


def _key(mail: Mail, sender: str) -> str:
    """The key of a message: the same in every export, whatever its labels are there.

    One Message-ID with two bodies are two messages; without Message-ID the rest of
    what was written decides.
    """
    body = normalised((mail.plain or mail.html)[:MAX_STORED])
    parts = [sender, mail.header("date"), body]
    message_id = _first_id(mail.header("message-id"))
    if message_id:
        return f"mid:{message_id}:{_hash(parts)[:16]}"
    return "sha:" + _hash([*parts, mail.header("to"), mail.header("subject")])


def _hash(parts: list[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _first_id(value: str) -> str:
    match = _MESSAGE_ID.search(value)
    return match.group().strip("<>") if match else ""


def pack(raw: RawText) -> bytes:
    """The length of the plain body and both bodies, deflated; of each body as much as
    cleaning looks at."""
    plain = raw.plain[:MAX_TEXT]
    html = raw.html[:MAX_HTML]
    return zlib.compress(f"{len(plain)} {plain}{html}".encode(), _LEVEL)


def unpack(data: bytes) -> RawText:
    """The inverse of `pack`.

    Raises:
        zlib.error, ValueError: somebody damaged it.
    """
    text = zlib.decompress(data).decode()
    if text.startswith("["):  # as it was stored at first: JSON, which took longer
        return RawText(*json.loads(text))
    length, _, bodies = text.partition(" ")
    return RawText(bodies[: int(length)], bodies[int(length) :])
