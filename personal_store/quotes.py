"""Which lines of a plain message are somebody else's: quotes and forwarded mail.

Works on lines. A line only counts as the introduction of a quote if it carries a date
or an address besides looking like one: a lost quote teaches somebody else's style, but
so does prose that was cut because it said "he wrote:".
"""

import re

from personal_store import phrases

LONGEST = 300
"""Characters of a line that the rules look at."""

_ADDRESS = (
    r"[<\[(]?\s*(?:mailto:)?[\w.+%-]+@[\w-]+(?:\.[\w-]+)+(?:<mailto:[^>]*>)?\s*[>\])]*"
)
_MAIL = re.compile(_ADDRESS)
_DATE = re.compile(
    r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|\b(?:19|20)\d{2}\b|(?:19|20)\d{2}年"
)
_TIME = re.compile(r"\d{1,2}[:.h]\d{2}")
_MARK = re.compile(r"[\d@]")  # a date or an address has one: a cheap first look
_WROTE_AT_END = re.compile(
    rf"(?:{phrases.WROTE})(?:.{{0,60}}\s*[:：])?\s*$", re.IGNORECASE
)
_ADDRESS_AT_END = re.compile(rf"{_ADDRESS}\s*[,)]*\s*[:：]\s*$")
_OLD_GMAIL = re.compile(
    rf"^(?:19|20)\d\d[/-]\d{{1,2}}[/-]\d{{1,2}}(?: \d{{1,2}}:\d{{2}}.{{0,12}})? "
    rf".{{2,80}}{_ADDRESS}$"
)
_START = re.compile(
    rf"^\s*(?:{phrases.ATTRIBUTION_STARTS})\b.*\d|^\s*.{{0,20}}\d{{4}}",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(
    rf"^\s*[-_*=]{{2,}}\s*(?:{phrases.ORIGINAL})\s*[-_*=]{{2,}}\s*$"
    rf"|^\s*(?:{phrases.BEGIN_FORWARD})\s*:\s*$",
    re.IGNORECASE,
)
_RULE = re.compile(r"^\s*_{20,}\s*$")
_HEADER = re.compile(
    rf"^[\s*]*(?:{phrases.FROM}|{phrases.HEADER})\**\s*[:：]\s*\**\s*\S",
    re.IGNORECASE,
)
_FROM = re.compile(rf"^[\s*]*(?:{phrases.FROM})\**\s*[:：]\s*\**\s*\S", re.IGNORECASE)
_QUOTED = re.compile(r"^\s{0,3}>")


def drop_quotes(lines: list[str]) -> list[str]:
    """The lines without quotes, their introductions and everything forwarded."""
    kept: list[str] = []
    index = 0
    while index < len(lines):
        if _QUOTED.match(lines[index]):
            index += 1
            continue
        if _starts_foreign_tail(lines, index):
            break
        width = _introduction(lines, index)
        if width and _quote_follows(lines, index + width):
            index += width
        elif width and _is_unmarked_quote(lines, index, width):
            break
        else:
            kept.append(lines[index])
            index += 1
    return kept


def _starts_foreign_tail(lines: list[str], index: int) -> bool:
    """Whether this line says that the rest is another message."""
    line = lines[index][:LONGEST]
    if _RULE.match(line):
        following = lines[index + 1 : index + 3]
        return any(_FROM.match(later[:LONGEST]) for later in following)
    return _SEPARATOR.match(line) is not None or _is_header_block(lines, index)


def _is_header_block(lines: list[str], index: int) -> bool:
    """Three or more lines like From:, Sent:, To:, the first of them From."""
    if not _FROM.match(lines[index][:LONGEST]):
        return False
    following = lines[index : index + 3]
    return len(following) == 3 and all(_HEADER.match(x[:LONGEST]) for x in following)


def _introduction(lines: list[str], index: int) -> int:
    """How many lines from here introduce a quote, as in 'On Monday Ann wrote:'."""
    for width in (1, 2, 3):
        wrapped = lines[index : index + width]
        if len(wrapped) < width or not _could_be_wrapped(wrapped):
            return 0
        if _introduces(" ".join(line.strip() for line in wrapped)):
            return width
    return 0


def _could_be_wrapped(lines: list[str]) -> bool:
    """Whether these lines may be one: none is blank or quoted, the first looks it."""
    if not lines[-1].strip() or _QUOTED.match(lines[-1]):
        return False
    if len(lines) == 1:
        return True
    first = lines[0][:LONGEST]
    return bool(_MARK.search(first) and (_MAIL.search(first) or _START.match(first)))


def _introduces(line: str) -> bool:
    if not 8 <= len(line) <= LONGEST or not _MARK.search(line):
        return False
    if len(line) < 140 and _OLD_GMAIL.match(line):
        return True
    dated = _DATE.search(line) or _TIME.search(line)
    if not (dated or _MAIL.search(line)):
        return False
    if _WROTE_AT_END.search(line):
        return True
    return bool(dated and _ADDRESS_AT_END.search(line))


def _quote_follows(lines: list[str], index: int) -> bool:
    following = next((line for line in lines[index:] if line.strip()), "")
    return _QUOTED.match(following) is not None


def _is_unmarked_quote(lines: list[str], index: int, width: int) -> bool:
    """An introduction that stands alone, and is sure enough to cut all that follows."""
    before = lines[index - 1] if index else ""
    after = lines[index + width] if index + width < len(lines) else ""
    alone = (not before.strip() or bool(_QUOTED.match(before))) and not after.strip()
    line = " ".join(lines[index : index + width])
    sure = _MAIL.search(line) or (_DATE.search(line) and _TIME.search(line))
    return alone and sure is not None
