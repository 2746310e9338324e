"""What the labels and folders of a mailbox are called, in the languages of Gmail.

Sent mail, trash and drafts are recognised by these names.
"""

import base64
import binascii
import csv
import re
import tomllib
import unicodedata
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

_NAMES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
"""By language: what sent mail, drafts, trash and spam are called, in lower case."""
_CHATS = ("chat", "chats", "чат", "чаты", "чати", "チャット", "聊天", "채팅")
_UNEQUAL = re.compile(r"^\[(?:gmail|google mail)\]/|[\u0307\u200b-\u200f\ufeff]")


@lru_cache(maxsize=4_096)  # a mailbox has few labels
def _plain(label: str) -> str:
    """A label without what systems write differently: letters' cases and composition,
    invisible marks, and the root that Gmail's folders have in IMAP."""
    plain = unicodedata.normalize("NFKC", label).casefold()
    return _UNEQUAL.sub("", plain).strip()


_SENT = {_plain(name) for names in _NAMES.values() for name in names["sent"]}
_REASONS = {"spam": "in spam", "trash": "in the trash", "drafts": "drafts"}
_UNWANTED = {
    _plain(name): reason
    for place, reason in _REASONS.items()
    for names in _NAMES.values()
    for name in names[place]
} | dict.fromkeys(map(_plain, _CHATS), "chat messages")

_SHIFTED = re.compile(r"&([A-Za-z0-9+,]*)-")
_BOX = re.compile(r"\.(?:mbox|mailbox|imapmbox)$", re.IGNORECASE)


def split_labels(header: str) -> tuple[str, ...]:
    """Labels of an already decoded X-Gmail-Labels header; quoted commas stay."""
    names = header.split(",")
    if '"' in header:
        with suppress(csv.Error):  # of a label longer than any
            line = [header.replace("\n", " ")]
            names = next(csv.reader(line, skipinitialspace=True), [])
    return tuple(dict.fromkeys(filter(None, map(str.strip, names))))


def is_sent(labels: tuple[str, ...]) -> bool:
    """Whether one of the labels says that the owner sent this."""
    return any(_plain(label) in _SENT for label in labels)


def unwanted(labels: tuple[str, ...]) -> str:
    """Why mail with these labels is left out; empty if it is not."""
    reasons = (_UNWANTED.get(_plain(label), "") for label in labels)
    return next(filter(None, reasons), "")


def folder_label(name: str) -> str:
    """'.INBOX.Entw&APw-rfe' or 'Sent Messages.mbox' as a person reads it.

    The folders of Maildir++ begin with a dot, which also separates their levels.
    """
    if name.startswith("."):
        name = name.rpartition(".")[2]
    return decoded(_BOX.sub("", name)).strip()


def decoded(name: str) -> str:
    """The name of an IMAP folder, out of its modified UTF-7 (RFC 3501, 5.1.3)."""
    return _SHIFTED.sub(lambda match: _shifted(match[0], match[1]), name)


def _shifted(whole: str, digits: str) -> str:
    if not digits:
        return "&"
    padded = digits.replace(",", "/") + "=" * (-len(digits) % 4)
    try:
        name = base64.b64decode(padded).decode("utf-16-be")
    except (binascii.Error, UnicodeError):
        return whole
    return name if name.isprintable() else whole
