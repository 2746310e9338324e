"""What stands below a message and is not writing: contact blocks, footers, notices.

A sign-off and the first name stay: how somebody says goodbye is style.
"""

import re

from personal_store import phrases
from personal_store.quotes import LONGEST

_DELIMITER = re.compile(r"^(?:- )?--\s*$|^—\s*$")
_SENT_FROM = re.compile(rf"^\s*(?:{phrases.SENT_FROM})", re.IGNORECASE)
_SIGN_OFF = re.compile(rf"^\s*(?:{phrases.SIGN_OFF})\s*[,.!–-]*\s*$", re.IGNORECASE)
_CONTACT = re.compile(
    rf"\+?\d[\d ()/.-]{{6,}}\d|(?:https?://|www\.)\S+|[\w.+%-]+@[\w-]+\.\w|\|"
    rf"|\b(?:{phrases.CONTACT_WORDS})\b\s*[:.]",
    re.IGNORECASE,
)
_FOOTER_RULE = re.compile(r"^(?:[_=-]{20,}|--~--~-.*)\s*$")
_LIST_FOOTER = re.compile(phrases.LIST_FOOTER, re.IGNORECASE)
_DISCLAIMER = re.compile(rf"^\W*(?:{phrases.DISCLAIMER})", re.IGNORECASE)

_PGP_SIGNED = "-----BEGIN PGP SIGNED MESSAGE-----"
_PGP_BLOCK = re.compile(r"^-----BEGIN PGP (SIGNATURE|MESSAGE|PUBLIC KEY BLOCK)-----$")

_SIGNATURE_LINES = 16
_SIGN_OFF_LINES = 10


def drop_signature(lines: list[str]) -> list[str]:
    """The lines without what stands below the message."""
    lines = _cut_footer(lines)
    lines = [line for i, line in enumerate(lines) if not _names_device(lines, i)]
    lines = _cut_at_delimiter(_without_blank_end(lines))
    return _cut_contact_block(_without_blank_end(lines))


def drop_armour(lines: list[str]) -> list[str]:
    """The lines without PGP signatures, keys, ciphertext and the signing header."""
    kept: list[str] = []
    closing = ""
    header = False
    for line in lines:
        block = _PGP_BLOCK.match(line)
        if closing:
            closing = "" if line == closing else closing
        elif block:
            closing = f"-----END PGP {block.group(1)}-----"
        elif line == _PGP_SIGNED:
            header = True
        elif header and line.startswith("Hash:"):
            header = False
        else:
            header = False
            kept.append(line)
    return kept


def _cut_footer(lines: list[str]) -> list[str]:
    for index, line in enumerate(lines):
        if _DISCLAIMER.match(line[:LONGEST]) or _is_list_footer(lines, index):
            return lines[:index]
    return lines


def _is_list_footer(lines: list[str], index: int) -> bool:
    if not _FOOTER_RULE.match(lines[index][:LONGEST]):
        return False
    return any(_LIST_FOOTER.search(x[:LONGEST]) for x in lines[index + 1 : index + 8])


def _names_device(lines: list[str], index: int) -> bool:
    """A line on its own such as 'Sent from my iPhone'."""
    line = lines[index]
    around = lines[max(0, index - 1) : index] + lines[index + 1 : index + 2]
    alone = not any(other.strip() for other in around)
    return alone and len(line) < 90 and _SENT_FROM.match(line) is not None


def _cut_at_delimiter(lines: list[str]) -> list[str]:
    """Cut at each '-- ' from which only a signature's length remains, from below."""
    end = len(lines)
    for index in reversed(range(len(lines))):
        if end - index > _SIGNATURE_LINES:
            break
        if _DELIMITER.match(lines[index][:LONGEST]):
            end = index
    return lines[:end]


def _cut_contact_block(lines: list[str]) -> list[str]:
    """Below a sign-off keep one short line, the name."""
    first = max(0, len(lines) - _SIGN_OFF_LINES)
    for index in range(first, len(lines)):
        if _SIGN_OFF.match(lines[index][:LONGEST]):
            below = [line for line in lines[index + 1 :] if line.strip()]
            if len(below) > 7 or any(len(line) >= 90 for line in below):
                return lines
            return lines[: index + 1] + below[: _is_name(below)]
    return lines


def _is_name(below: list[str]) -> bool:
    return bool(below) and not _CONTACT.search(below[0]) and len(below[0].split()) <= 4


def _without_blank_end(lines: list[str]) -> list[str]:
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    return lines[:end]
