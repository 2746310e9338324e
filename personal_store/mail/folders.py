"""What a mail program calls a folder: sent, trash, drafts are told by its name."""

import base64
import binascii
import re

_SHIFTED = re.compile(r"&([A-Za-z0-9+,]*)-")
_BOX = re.compile(r"\.(?:mbox|mailbox|imapmbox)$", re.IGNORECASE)


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
