"""Lines that introduce a quote, as in 'On Monday Ann wrote:'.

Such a line carries a date or an address besides looking like one. It is broken over
lines at any place; a line belongs to the next if that one's first word did not fit.
"""

import re

from personal_store.cleaning import phrases

LONGEST = 300
"""Characters of a line that the rules look at."""
SOFT = "\ufdd0"
"""Before a line that HTML indents: it is a quote if something introduces it as one."""
HARD = "\ufdd1"
"""Stands where HTML marks a quote."""
_MANY_WORDS = 14  # more are prose
_NARROWEST = 28  # columns to which programs wrap
_END = 100  # characters at the end of a line in which such a verb stands
_MOST_LINES = 5  # of an introduction that was wrapped
_INVISIBLE: dict[int, str | None] = {
    ord(char): None for char in "\u0307\u200b\u200e\u200f\u2060\u2063\ufeff" + SOFT
}
_INVISIBLE |= dict.fromkeys((*range(8234, 8239), *range(8294, 8298)))
_INVISIBLE |= {0xA0: " ", 0x202F: " ", 0x3000: " "}
_ODD = re.compile("[" + "".join(map(chr, _INVISIBLE)) + "]")
_ADDRESS = r"[\w.+%'-]+@[\w-]+(?:\.[\w-]+)+"
MAIL = re.compile(_ADDRESS)
DATE = re.compile(r"\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}|(?<!\d)\d{4}(?!\d)|\d{4}[年년]")
_NUMERIC = re.compile(r"\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}")  # as programs write dates
TIME = re.compile(r"\d{1,2}[:：.h]\d{2}")
_WROTE_AT_END = re.compile(rf"(?:{phrases.WROTE})(?:(?<=wrote)|.{{0,60}}[:：])?\W*$")
_COLON_AT_END = re.compile(r"[:：]\W{0,3}$")
_OLD_GMAIL = re.compile(
    rf"^(?:19|20)\d\d[/-]\d{{1,2}}[/-]\d{{1,2}}(?: \d{{1,2}}:\d{{2}}.{{0,12}})? "
    rf".{{2,80}}<{_ADDRESS}>$"
)
_START = re.compile(rf"^\W*(?:{phrases.ATTRIBUTION_STARTS})\b[^:：]*\d.*[^.!?]$")
_BEGINS = re.compile(
    rf"^\W*(?:(?:{phrases.ATTRIBUTION_STARTS})\b|[^\W\d]{{2,10}}\W{{1,3}}\d|\d)"
)
_WROTE = re.compile(rf"(?<!\w)(?:{phrases.WROTE})(?!\w)")
_ENDS_IN_DATE = re.compile(r"\d\.$|(?<!\w)[^\W\d]{1,5}\.$")  # '12.', '12 mar.'
_PROSE = re.compile(  # a sentence before the introduction
    r"[^\W\d]{5,}[.!?] [^\W\d]|[^\W\d]{2}[.!?] (?:on|am|le|el|il|em|op|den|dne|w) "
)
_SAID = re.compile(rf"(?:{phrases.WROTE}).{{0,25}}?[:：]\s+\S")
_COLON_BEHIND = re.compile(r"\W{1,3}[:：]\s+\S")
TORN_END = re.compile(rf"^>\s*(?:\w{{1,5}} )?(?:{phrases.WROTE})\s*[:：]$")
_FIRST_PERSON = re.compile(  # 'je' is a verb in the introductions of some languages
    rf"(?<![\w<])(?!je\b)(?:{phrases.FIRST_PERSON})(?![\w@])"
)
QUOTED = re.compile(r"^\s{0,3}(?:>|\ufdd1|[|｜]\s?>)")


def is_said_inline(line: str) -> bool:
    """An introduction with the words of the other behind its colon.

    So Yahoo's apps put it: a date, a time, an address, and a verb or a colon.
    """
    mail = MAIL.search(line) if "@" in line else None
    if mail is None or not (DATE.search(line) and TIME.search(line)):
        return False
    said = _SAID.search(line, mail.end(), mail.end() + 80)
    if said is None:
        said = _COLON_BEHIND.match(line, mail.end())
        if said is None or not _WROTE.search(line, 0, mail.start()):
            return False
    head = line[: mail.start()]
    if _PROSE.search(head) or _FIRST_PERSON.search(head):
        return False
    return bool(DATE.search(head)) and _BEGINS.match(line) is not None


def bare_line(line: str) -> str:
    """What the rules look at: not too much, in lower case, and nothing invisible.

    Patterns that know the case are several times faster than those that ignore it.
    """
    line = line[:LONGEST].lower()
    if line.isascii() or not _ODD.search(line):
        return line
    return line.translate(_INVISIBLE).rstrip()


def introduction(lines: list[str], end: int) -> int:
    """How many lines up to this one introduce a quote, as in 'On Monday Ann wrote:'."""
    if not _may_end(lines[end]):
        return 0
    widths: list[int] = []
    told: list[int] = []  # of which a date or an address tells
    full: list[int] = []  # and both
    torn = TORN_END.match(lines[end]) is not None
    for width in range(1, _MOST_LINES + 1 + torn):
        start = end - width + 1
        if start < 0 or not (lines[start].strip() or torn):
            break
        if QUOTED.match(lines[start]) and not (torn and start == end):
            break
        joined = " ".join(line.strip() for line in lines[start : end + 1])
        if introduces(joined):
            widths.append(width)
            if MAIL.search(joined) or is_dated(joined):
                told.append(width)
            if MAIL.search(joined) and is_dated(joined):
                full.append(width)
    said = [width for width in widths if _START.match(lines[end - width + 1])]
    width = max(said) if said else min(full or told or widths, default=0)
    while width and width + 1 in widths and _was_wrapped(lines, end - width, end):
        width += 1
    return width


def _was_wrapped(lines: list[str], index: int, end: int) -> bool:
    """Whether the first word of the next line did not fit into this one any more.

    What fits is told by the longest of the lines below it, up to `end`.
    """
    line, below = lines[index].rstrip(), lines[index + 1]
    dated = _ENDS_IN_DATE.search(line, max(0, len(line) - 8)) and DATE.search(line)
    if line.endswith((".", "!", "?", ":", "：")) and not dated:
        return False
    longest = max(map(len, lines[index + 1 : end + 1]))
    return len(line) + len(below.split(maxsplit=1)[0]) >= max(longest, _NARROWEST)


def _may_end(line: str) -> bool:
    line = line.rstrip()
    if len(line) < LONGEST and _COLON_AT_END.search(line):
        return True
    if line.endswith(">"):
        return True
    mail = "@" in line and MAIL.search(line) is not None
    dated = DATE.search(line) is not None
    if mail and dated and TIME.search(line):
        return True
    return (mail or dated) and _wrote(line)


def _wrote(line: str) -> bool:
    """Whether the line ends with a verb like 'wrote', or nearly."""
    return _WROTE_AT_END.search(line, max(0, len(line) - _END)) is not None


def introduces(line: str) -> bool:
    """Whether it may be an introduction, if a quote follows."""
    if not 6 <= len(line) <= LONGEST:
        return False
    if line.endswith(">"):
        return bool(_OLD_GMAIL.match(line))
    wrote = _wrote(line)
    dated, timed = DATE.search(line), TIME.search(line)
    if wrote:
        return bool(dated or timed or MAIL.search(line)) or len(line.split()) < 6
    return bool(MAIL.search(line) or (dated and timed))


def is_dated(line: str) -> bool:
    """Whether a date or a time of day stands in a line."""
    return bool(DATE.search(line) or TIME.search(line))


def quote_follows(lines: list[str], index: int) -> bool:
    """Whether the next line with words, from `index` on, is marked as a quote."""
    following = next((line for line in lines[index:] if line.strip(f" {SOFT}")), "")
    return following.startswith(SOFT) or QUOTED.match(following) is not None


def is_sure(lines: list[str], end: int, width: int) -> bool:
    """An introduction sure enough to cut all that follows, unmarked as it is."""
    start = end - width + 1
    line = " ".join(line.strip() for line in lines[start : end + 1])
    mail, wrote = MAIL.search(line), _wrote(line)
    dated, timed = DATE.search(line), TIME.search(line)
    if not (wrote or _OLD_GMAIL.match(line) or _COLON_AT_END.search(line)):
        return False
    if _FIRST_PERSON.search(line):
        return False
    if _OLD_GMAIL.match(line) or (mail and dated and timed):
        return True
    before = lines[start - 1] if start else ""
    after = lines[end + 1] if end + 1 < len(lines) else ""
    alone = not before.strip() or bool(QUOTED.match(before))
    if alone and wrote and timed and _NUMERIC.search(line):
        return not _PROSE.search(line) and len(line.split()) < _MANY_WORDS
    if alone and mail and wrote and "<" in line and not _PROSE.search(line):
        return True
    alone = alone and not after.strip()
    if not alone or _PROSE.search(line):
        return False
    return bool((mail and (wrote or dated)) or (wrote and dated and timed))
