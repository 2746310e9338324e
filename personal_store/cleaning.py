"""From the body of a message to the words its writer wrote."""

import re
import unicodedata
from dataclasses import dataclass

from personal_store import phrases
from personal_store.mail import Mail
from personal_store.markup import own_text, quoted_text
from personal_store.quotes import drop_quotes
from personal_store.signatures import drop_armour, drop_signature

VERSION = 1
"""Grows with every change of the rules; stored beside each text they made."""

MAX_TEXT = 200_000
MAX_LINES = 5_000
_SHORTEST_MATCH = 18
_PLACEHOLDER = re.compile(phrases.PLACEHOLDER, re.IGNORECASE)
_PLACEHOLDER_LENGTH = 400
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_BREAK = re.compile(r"\r\n|[\r\n\f\x0b\x85\u2028\u2029]")
_NOT_WORD = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What remains of a message, and whether text of others was cut from it."""

    text: str
    trimmed: bool


def clean_mail(mail: Mail) -> Cleaned:
    """The own words of a message: plain text, checked against what its HTML marks."""
    plain, html = mail.plain, mail.html
    if html and _says_nothing(plain):
        cleaned = clean_text(own_text(html))
        trimmed = cleaned.trimmed or bool(quoted_text(html).strip())
        return Cleaned(cleaned.text, trimmed)
    return _without_marked_quotes(clean_text(plain), html)


def clean_text(text: str) -> Cleaned:
    """The own words of a plain body; cleaning them again changes nothing."""
    lines = _lines(text)
    trimmed = False
    while True:
        own = drop_quotes(drop_armour(lines))
        trimmed = trimmed or len(own) < len(lines)
        kept = _without_gaps(drop_signature(own))
        if kept == lines:
            return Cleaned("\n".join(kept), trimmed)
        lines = kept


def tidy(text: str) -> str:
    """A text that is wholly own, such as a review, with line ends made uniform."""
    return "\n".join(_lines(text))


def normalised(text: str) -> str:
    """Words only, lower-case: for asking whether two texts say the same."""
    return _NOT_WORD.sub(" ", unicodedata.normalize("NFKC", text)).strip().casefold()


def _lines(text: str) -> list[str]:
    text = _CONTROL.sub("", text[:MAX_TEXT])
    lines = [line.rstrip() for line in _BREAK.split(text)[:MAX_LINES]]
    return _without_gaps(lines)


def _without_gaps(lines: list[str]) -> list[str]:
    """One blank line at most between paragraphs, none at the ends."""
    kept: list[str] = []
    for line in lines:
        if line.strip() or (kept and kept[-1].strip()):
            kept.append(line)
    while kept and not kept[-1].strip():
        kept.pop()
    return kept


def _says_nothing(plain: str) -> bool:
    if not plain.strip():
        return True
    return len(plain) < _PLACEHOLDER_LENGTH and bool(_PLACEHOLDER.search(plain))


def _without_marked_quotes(cleaned: Cleaned, html: str) -> Cleaned:
    """Drop lines that the HTML part marks as quoted and does not repeat as own."""
    quoted = normalised(quoted_text(html))
    lines = cleaned.text.split("\n")
    suspects = {line for line in lines if _is_part(line, quoted)}
    if not suspects:
        return cleaned
    own = normalised(own_text(html))
    foreign = {line for line in suspects if not _is_part(line, own)}
    again = clean_text("\n".join(line for line in lines if line not in foreign))
    return Cleaned(again.text, cleaned.trimmed or bool(foreign))


def _is_part(line: str, text: str) -> bool:
    words = normalised(line)
    return len(words) >= _SHORTEST_MATCH and words in text
