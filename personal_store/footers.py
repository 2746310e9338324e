"""What machines and companies put below a message: notices, taglines, list footers."""

import re
from collections.abc import Iterator
from itertools import islice

from personal_store import phrases
from personal_store.quotes import bare_line

_LAST = 10
"""Paragraphs from the end that are looked at."""
_PROSE = 60
"""Characters of a paragraph that may be writing; shorter ones are looked past."""
_NOTICE = 150
_LONGEST = 1_500
"""Characters of a paragraph that are looked at."""
_NOTICE_CJK = 40
_OPENING = re.compile(rf"^\W*(?:{phrases.NOTICE})")
_WEAK_OPENING = re.compile(rf"^\W*(?:{phrases.WEAK_NOTICE})")
_ANY_OPENING = re.compile(rf"^\W*(?:{phrases.NOTICE}|{phrases.WEAK_NOTICE})")
_LIST = re.compile(phrases.LIST_FOOTER.replace(".", r"\."))
_GUARD = re.compile(phrases.GUARD.replace(".", r"\."))
_LINK = re.compile(r"https?://|www\.|<mailto:|[\w.+-]+@[\w-]+\.\w")
_RULE_SIGNS = frozenset("_=*-")
_LINK_SIGNS = ("@", "://", "www.", "<mailto:")
_RULE = re.compile(r"^(?:[_=*-]{10,}|--~--~-.*|(?:-=)+-?)$")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_STEMS = tuple(phrases.NOTICE_WORDS.split("|"))
_ASCII_STEMS = tuple(stem for stem in _STEMS if stem.isascii())

_LONGEST_TAGLINE = 100
_SENT = re.compile(rf"(?<!\w)(?:{phrases.SENT})")
_DEVICE = re.compile(rf"(?<![^\W_])(?:{phrases.DEVICE})")
_SENT_FROM = re.compile(rf"^\W*(?:{phrases.SENT_FROM})")
_APP = re.compile(r"(?<![a-z])(?:ios|android|mobile|mac|windows)(?![a-z])")
_SLOGAN = re.compile(r"^\W*yahoo mail\W+search, organi[sz]e, conquer")


def cut_footers(lines: list[str]) -> list[str]:
    """The lines before the first notice or list footer at the end of a message."""
    cut = len(lines)
    for start, end in _paragraphs_from_below(lines):
        text = " ".join(lines[start:end])[:_LONGEST].lower()
        at = _footer_at(lines, start, end, text)
        if at is not None:
            cut = at
        elif len(text) >= _PROSE and not _has_link(text):
            break
    return lines[:cut] if cut < len(lines) else lines


def drop_taglines(lines: list[str]) -> list[str]:
    """The lines without those on their own such as 'Sent from my iPhone'."""
    found: set[int] = set()
    last = True  # whether what stands below is blank or another tagline
    for index in reversed(range(len(lines))):
        line = lines[index]
        if not line.strip():
            last = True
        elif last:
            last = _is_tagline(line)
            if last:
                found.add(index)
    if not found:
        return lines
    alone = {index for index in found if _stands_alone(lines, index, found)}
    if not alone:
        return lines
    return [line for index, line in enumerate(lines) if index not in alone]


def _stands_alone(lines: list[str], index: int, found: set[int]) -> bool:
    """Between blank lines or others of its kind; the last one may follow a name."""
    below = index + 1
    while below in found:
        below += 1
    if below < len(lines) and lines[below].strip():
        return False
    above = index - 1
    while above in found:
        above -= 1
    if above < 0 or not lines[above].strip():
        return True
    return not any(line.strip() for line in lines[below:])


def _is_tagline(line: str) -> bool:
    if not 5 < len(line) < _LONGEST_TAGLINE or line.endswith(("?", "!")):
        return False
    line = bare_line(line)
    return _names_device(line) or bool(_SLOGAN.match(line))


def _names_device(line: str) -> bool:
    if "outlook" in line and _APP.search(line):
        return len(line.split()) < 9 or "aka.ms" in line
    if _SENT_FROM.match(line):
        return True
    if len(line.split()) >= 13:
        return False
    return bool(_SENT.search(line) and _DEVICE.search(line))


def _paragraphs_from_below(lines: list[str]) -> Iterator[tuple[int, int]]:
    """(start, end) of the last paragraphs, the last one first."""
    found = 0
    end = len(lines)
    while end and found < _LAST:
        if not lines[end - 1].strip():
            end -= 1
            continue
        start = end
        while start and lines[start - 1].strip():
            start -= 1
        yield start, end
        found += 1
        end = start


def _footer_at(lines: list[str], start: int, end: int, text: str) -> int | None:
    """Where in this paragraph a footer begins; None if there is none."""
    for index, line in enumerate(lines[start:end], start):
        if (
            line[:1] in _RULE_SIGNS
            and _RULE.match(line)
            and _LIST.search(" ".join(lines[index:])[:900].lower())
        ):
            return index
    if not any(map(str.strip, islice(lines, start))):
        return None
    linked = _has_link(text)
    if _is_notice(text) or (linked and _LIST.search(text)):
        return start - _has_rule_above(lines, start)
    if linked and len(text) < 400 and _GUARD.search(text):
        return start - _has_rule_above(lines, start)
    if len(text) < _PROSE:
        return None
    for index in range(start + 1, end):  # right below a name or an address
        line = lines[index].lower()
        if _ANY_OPENING.match(line) and _is_notice(
            " ".join(lines[index:end])[:_LONGEST].lower()
        ):
            return index
    return None


def _has_link(text: str) -> bool:
    """The pattern alone is slow where there is none."""
    return any(map(text.__contains__, _LINK_SIGNS)) and bool(_LINK.search(text))


def _has_rule_above(lines: list[str], start: int) -> int:
    return int(start > 0 and bool(_RULE.match(lines[start - 1])))


def _is_notice(text: str) -> bool:
    if _OPENING.match(text):
        return True
    stems = _ASCII_STEMS if text.isascii() else _STEMS
    short = 0 if text.isascii() else len(_CJK.findall(text[:_NOTICE]))
    opened = bool(_WEAK_OPENING.match(text))
    if not opened and len(text) < _NOTICE and short < _NOTICE_CJK:
        return False
    return sum([stem in text for stem in stems]) + 2 * opened >= 4
