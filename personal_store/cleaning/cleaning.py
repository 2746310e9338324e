"""From the body of a message to the words its writer wrote."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from personal_store.cleaning import phrases
from personal_store.cleaning.invitations import drop_invitations
from personal_store.cleaning.markup import above_marks, read_page
from personal_store.cleaning.quotes import HARD, SOFT, drop_quotes
from personal_store.cleaning.signatures import drop_armour, drop_signature, is_tagline
from personal_store.mail.mail import UNQUOTED, Mail
from personal_store.records import RawText
from personal_store.text.tokens import normalised

VERSION = 12
"""Grows by two with every change of the rules; stored beside each text they made.

The odd number above it says that the text was compared with the thread as well.
"""
COMPARED = VERSION + 1

MAX_TEXT = 200_000
MAX_LINES = 5_000
_SHORTEST_MATCH = 18
_LAST_WORDS = 80
_MAX_PASSES = 15  # one is enough for most, and hostile mails would take thousands
_PLACEHOLDER = re.compile(phrases.PLACEHOLDER, re.IGNORECASE)
_PLACEHOLDER_LENGTH = 400
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")

_LONG = 18  # letters of a line that is a quote when it stands in the parent alone
_RUN = 40  # letters of a run of lines, one of them long, that are a quote together


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What remains of a message, and whether text of others was cut from it."""

    text: str
    trimmed: bool


def clean_mail(mail: Mail, parents: Sequence[str] = ()) -> Cleaned:
    """The own words of a message: plain text, checked against what its HTML marks.

    Args:
        mail: the bodies.
        parents: texts of earlier messages of the thread, which it may quote.
    """
    plain, html = mail.plain, mail.html
    if html and (
        not plain.strip()
        or (len(plain) < _PLACEHOLDER_LENGTH and _PLACEHOLDER.search(plain))
    ):
        page = read_page(html)
        cleaned = _clean_lines(_lines(page.own), bool(page.foreign.strip()))
    else:
        cleaned = _without_marked_quotes(clean_text(plain), html)
    if parents:
        cleaned = without_parents(cleaned, parents)
    return Cleaned(cleaned.text.replace(UNQUOTED, ""), cleaned.trimmed)


def clean_raw(raw: RawText) -> Cleaned:
    """The own words of stored bodies."""
    return clean_mail(Mail({}, raw.plain, raw.html))


def clean_text(text: str) -> Cleaned:
    """The own words of a plain body; cleaning them again changes nothing."""
    return _clean_lines(_lines(text.replace(SOFT, "").replace(HARD, "")))


def without_parents(cleaned: Cleaned, parents: Sequence[str]) -> Cleaned:
    """A text without the runs of lines that earlier messages of its thread hold."""
    lines = cleaned.text.split("\n")
    own = drop_repeated(lines, parents)
    if len(own) == len(lines):
        return cleaned
    return _clean_lines(_without_gaps(own), trimmed=True)


def _clean_lines(lines: list[str], trimmed: bool = False) -> Cleaned:
    settled: list[str] | None = None  # lines that have no signature any more
    for _ in range(_MAX_PASSES):
        lines = drop_invitations(lines)
        own = drop_quotes(drop_armour(lines), is_tagline)
        if own is not lines:
            trimmed = trimmed or len(own) < len(lines)
            own = _without_gaps(own)
        if own != settled:
            kept = _without_gaps(drop_signature(own))
            settled = kept if kept == own else None
        if own == settled == lines:
            break
        lines = own if settled is not None else kept
    return Cleaned("\n".join(lines).replace(SOFT, ""), trimmed)


def tidy(text: str) -> str:
    """A text that is wholly own, such as a review, with line ends made uniform."""
    return "\n".join(_lines(text))


def _lines(text: str) -> list[str]:
    text = _CONTROL.sub("", text[:MAX_TEXT])
    return _without_gaps([line.rstrip() for line in text.splitlines()[:MAX_LINES]])


def _without_gaps(lines: list[str]) -> list[str]:
    """The lines, one blank one at most between paragraphs and none at the ends."""
    kept = [
        line
        for at, line in enumerate(lines)
        if line.strip() or (at and lines[at - 1].strip())
    ]
    if kept and not kept[-1].strip():
        kept.pop()
    return kept


def _without_marked_quotes(cleaned: Cleaned, html: str) -> Cleaned:
    """Drop lines that the HTML part marks as quoted and does not repeat as own."""
    above = above_marks(html) if html else None
    if above is None:
        return cleaned
    last = normalised(" ".join(cleaned.text[-_LAST_WORDS:].split()[1:]))
    if last and last in normalised(above[-4 * _LAST_WORDS :]):
        return cleaned  # all that was kept stands above the first mark
    page = read_page(html)
    foreign = normalised(page.foreign)
    if not foreign:
        return cleaned
    own = normalised(page.own)
    lines = cleaned.text.split("\n")
    kept: list[str] = []
    after_foreign = False
    for line in lines:
        words = normalised(line)
        if words:  # a short line goes with its neighbours
            sure = len(words) >= _SHORTEST_MATCH or after_foreign
            after_foreign = sure and words in foreign and words not in own
        if not after_foreign:
            kept.append(line)
    if len(kept) == len(lines):
        return cleaned
    return _clean_lines(_without_gaps(kept), trimmed=True)


def drop_repeated(lines: list[str], parents: Sequence[str]) -> list[str]:
    """The lines without runs that a parent holds word for word.

    A short line, such as a greeting, only goes inside a run of others.
    """
    theirs = {normalised(line) for text in parents for line in text.splitlines()}
    whole = " ".join(normalised(text) for text in parents)
    words = [normalised(line) for line in lines]
    quoted = [
        bool(w) and (w in theirs or (len(w) >= _LONG and w in whole)) for w in words
    ]
    kept: list[str] = []
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and (quoted[end] or (end > start and not words[end])):
            end += 1
        run = [w for w in words[start:end] if w]
        if not any(len(w) >= _LONG for w in run) or sum(map(len, run)) < _RUN:
            end = max(end, start + 1)
            kept += lines[start:end]
        start = max(end, start + 1)
    return kept
