"""Which lines of a message are somebody else's: quotes and forwarded mail.

Works on lines. A line only counts as the introduction of a quote if it carries a date
or an address besides looking like one: a lost quote teaches somebody else's style, but
so does prose that was cut because it said "he wrote:". Words of a language decide as
little as can be; shape decides where it can, so that it works in languages not listed.
"""

import re
from itertools import takewhile

from personal_store import phrases

LONGEST = 300
"""Characters of a line that the rules look at."""

SOFT = "\ufdd0"
"""Before a line that HTML indents: it is a quote if something introduces it as one."""

HARD = "\ufdd1"
"""Stands where HTML marks a quote."""

_MANY_WORDS = 14  # more are prose
_NARROWEST = 58  # columns to which programs wrap
_END = 100  # characters at the end of a line in which such a verb stands
_MOST_LINES = 4  # of an introduction that was wrapped
_HINTS = (">", ":", "：", "*", SOFT, HARD, "--", "__", "==")
_VERB = re.compile(r"\bwrote\b")
_INVISIBLE: dict[int, str | None] = {
    ord(char): None for char in "\u0307\u200b\u200e\u200f\u2060\ufeff" + SOFT
}
_INVISIBLE |= dict.fromkeys((*range(8234, 8239), *range(8294, 8298)))
_INVISIBLE |= {0xA0: " ", 0x202F: " ", 0x3000: " "}
_ODD = re.compile("[" + "".join(map(chr, _INVISIBLE)) + "]")
_ADDRESS = r"[\w.+%'-]+@[\w-]+(?:\.[\w-]+)+"
_MAIL = re.compile(_ADDRESS)
_DATE = re.compile(
    r"\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}|(?<!\d)\d{4}(?!\d)|\d{4}[年년]"
)
_NUMERIC = re.compile(r"\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}")  # as programs write dates
_TIME = re.compile(r"\d{1,2}[:：.h]\d{2}")
_WROTE_AT_END = re.compile(rf"(?:{phrases.WROTE})(?:(?<=wrote)|.{{0,60}}[:：])?\W*$")
_COLON_AT_END = re.compile(r"[:：]\W{0,3}$")
_OLD_GMAIL = re.compile(
    rf"^(?:19|20)\d\d[/-]\d{{1,2}}[/-]\d{{1,2}}(?: \d{{1,2}}:\d{{2}}.{{0,12}})? "
    rf".{{2,80}}<{_ADDRESS}>$"
)
_START = re.compile(rf"^\W*(?:{phrases.ATTRIBUTION_STARTS})\b[^:：]*\d.*[^.!?]$")
_PROSE = re.compile(  # a sentence before the introduction
    r"[^\W\d]{5,}[.!?] [^\W\d]|[^\W\d]{2}[.!?] (?:on|am|le|el|il|em|op|den|dne|w) "
)
_BAR = re.compile(r"^\W*[-_=*~]{2,}\s*([^-_=*~\s].*?)\s*[-_=*~]{2,}\s*$")
_ORIGINAL = re.compile(rf"^(?:{phrases.ORIGINAL})\W*$")
_BEGIN = re.compile(rf"^.{{0,40}}(?:{phrases.FORWARD_STEMS}).{{0,40}}[:：]$")
_RULE = re.compile(r"^\s*[-_=]{5,}\s*$")
_LABEL_END = r"\s?\**\s?[:：]\s*\**\s*"
_FROM = re.compile(rf"^[\s*_]*(?:{phrases.FROM}){_LABEL_END}(?=\S)")
_HEADER = re.compile(rf"^[\s*_]*(?:{phrases.FROM}|{phrases.HEADER}){_LABEL_END}")
_SUBJECT = re.compile(rf"^[\s*_]*(?:{phrases.SUBJECT}){_LABEL_END}")
_INLINE = re.compile(rf"(?<!\w)(?:{phrases.FROM}|{phrases.HEADER})\**\s?[:：]")
_ANY_LABEL = re.compile(r"^[\s*_]*[^\W\d][^:：<>@]{0,24}[:：]\s*\**\s*\S")
_NOTES = re.compile(r"^.{2,60}\s?-{3}\d{1,4}[./-]\d{1,2}[./-]\d{1,4} .{0,20}-{3}\S")
_LINK_PIECE = re.compile(r"[=%/]\S")
_QUOTED = re.compile(r"^\s{0,3}(?:>|\ufdd1|[|｜]\s?>)")
_ARROW = re.compile(r"^\s{0,3}>(?=[=\d])")


def drop_quotes(lines: list[str]) -> list[str]:
    """The lines without quotes, their introductions and everything forwarded."""
    text = "\n".join(lines)
    hinted = _hinted(lines, text)
    if not hinted:
        return lines
    return _without_quotes(lines, _bare_lines(lines, text), hinted)


def _without_quotes(lines: list[str], bare: list[str], hinted: set[int]) -> list[str]:
    kept: list[int] = []
    soft = False  # whether indented lines are known to be quotes
    for index in range(len(bare)):
        if index not in hinted:
            if not (index - 1 in hinted and _is_torn_off(bare, index)):
                kept.append(index)
        elif _is_quoted(bare, index) or (soft and lines[index].startswith(SOFT)):
            continue
        elif _starts_foreign_tail(bare, index):
            break
        else:
            width = _introduction(bare, index)
            followed = bool(width) and _quote_follows(lines, index + 1)
            sure = bool(width) and not followed and _is_sure(bare, index, width)
            if not (followed or sure):
                kept.append(index)
                continue
            while kept and kept[-1] > index - width:
                kept.pop()
            soft = True
            if sure:
                break
    while len(kept) > 1 and _is_indented_end(lines, kept):
        kept.pop()
    return [lines[index] for index in kept] if len(kept) < len(lines) else lines


def _hinted(lines: list[str], text: str) -> set[int]:
    """Lines that hold something without which no rule matches; searched word by word.

    One search of the whole text, and `in` for each line, take a tenth of a pattern.
    """
    found: set[int] = set()
    for hint in _HINTS:
        if hint in text:
            found.update([i for i, line in enumerate(lines) if hint in line])
    if "wrote" in text:
        found.update([i for i, line in enumerate(lines) if _VERB.search(line)])
    return found


def _bare_lines(lines: list[str], text: str) -> list[str]:
    """`bare_line` of each, but those that '>' marks."""
    if text.isascii():
        return [x if x[:1] == ">" else x[:LONGEST].lower() for x in lines]
    return [line if line[:1] == ">" else bare_line(line) for line in lines]


def _is_indented_end(lines: list[str], kept: list[int]) -> bool:
    """An indented text below one's own: what is indented among it is a quotation."""
    if lines[kept[-1]].startswith(SOFT):
        return not lines[kept[0]].startswith(SOFT)
    return not lines[kept[-1]].strip()


def _is_torn_off(lines: list[str], index: int) -> bool:
    """A piece of a link that a program broke off a quoted line, between two others."""
    if lines[index - 1][:1] != ">":
        return False
    below = lines[index + 1] if index + 1 < len(lines) else ""
    piece = len(lines[index].split()) < 3 and _LINK_PIECE.search(lines[index])
    return bool(piece) and _QUOTED.match(below) is not None


def bare_line(line: str) -> str:
    """What the rules look at: not too much, in lower case, and nothing invisible.

    Patterns that know the case are several times faster than those that ignore it.
    """
    line = line[:LONGEST].lower()
    if line.isascii() or not _ODD.search(line):
        return line
    return line.translate(_INVISIBLE).rstrip()


def _is_quoted(lines: list[str], index: int) -> bool:
    """Marked by '>', unless it stands alone and says that something is larger."""
    if not _QUOTED.match(lines[index]):
        return False
    if not _ARROW.match(lines[index]):
        return True
    around = lines[max(0, index - 1) : index] + lines[index + 1 : index + 2]
    return any(_QUOTED.match(line) for line in around)


def _starts_foreign_tail(lines: list[str], index: int) -> bool:
    """Whether this line says that the rest is another message."""
    line = lines[index]
    if _RULE.match(line):
        return _headers_below(lines, index + 1) >= 3
    bar = _BAR.match(line)
    if bar:
        return _is_foreign_bar(lines, index, bar.group(1))
    if "---" in line and _NOTES.match(line):
        return True
    if len(line) < 90 and line[-1:] in ":：" and _BEGIN.match(line):
        said = line.lstrip().startswith("begin forwarded")
        return said or _headers_below(lines, index + 1) >= 2
    return _is_header_block(lines, index)


def _is_foreign_bar(lines: list[str], index: int, text: str) -> bool:
    """Words between dashes: known ones, an introduction, or headers below them."""
    if _ORIGINAL.match(text):
        return True
    if _introduces(text + ":") and not _quote_follows(lines, index + 1):
        return True
    below = next((i for i, x in enumerate(lines) if i > index and x.strip()), None)
    if _headers_below(lines, index + 1) >= 2:
        return True
    return below is not None and _is_unknown_block(lines, below)


def _headers_below(lines: list[str], index: int) -> int:
    """How many of the next lines are headers, as far as only headers stand there."""
    count = 0
    for line in lines[index : index + 8]:
        if _HEADER.match(line):
            count += 1
        elif line.strip() and not (_ANY_LABEL.match(line) and _MAIL.search(line)):
            break
    return count


def _is_header_block(lines: list[str], index: int) -> bool:
    """Lines like From:, Sent:, To:, Subject: below each other, or all in one."""
    first = lines[index]
    if not _HEADER.match(first):
        return _is_unknown_block(lines, index)
    if _FROM.match(first) and len(_INLINE.findall(first)) > 2:
        return _is_dated(first) or bool(_MAIL.search(first))
    block = _block(lines, index)
    known = [line for line in block if _HEADER.match(line)]
    if len(known) == 2 and any(map(_MAIL.search, block)) and any(map(_is_dated, block)):
        return _quote_follows(lines, index + 2) and _FROM.match(first) is not None
    if len(known) < 3 or not any(map(_FROM.match, known)):
        return False
    return any(map(_MAIL.search, block)) or any(map(_SUBJECT.match, known))


def _is_unknown_block(lines: list[str], index: int) -> bool:
    """Headers in a language without a list: an address and a date tell them."""
    if not _ANY_LABEL.match(lines[index]):
        return False
    block = list(takewhile(_ANY_LABEL.match, lines[index : index + 8]))
    mails = [i for i, line in enumerate(block) if _MAIL.search(line)]
    dated = any(_DATE.search(line) and _TIME.search(line) for line in block)
    return len(block) > 2 and dated and bool(mails) and mails[0] < 2


def _block(lines: list[str], index: int) -> list[str]:
    """The lines from here that may be headers, with at most one blank between."""
    block: list[str] = []
    blanks = others = 0
    for line in lines[index : index + 14]:
        if not line.strip():
            blanks += 1
        elif _ANY_LABEL.match(line) or _HEADER.match(line):
            block.append(line)
            blanks = others = 0
        else:  # a long list of recipients goes on in the next line
            others += 1
        if blanks > 1 or others > 1 or (blanks and others):
            break
    return block


def _introduction(lines: list[str], end: int) -> int:
    """How many lines up to this one introduce a quote, as in 'On Monday Ann wrote:'."""
    if not _may_end(lines[end]):
        return 0
    widths: list[int] = []
    full: list[int] = []
    for width in range(1, _MOST_LINES + 1):
        start = end - width + 1
        if start < 0 or not lines[start].strip() or _QUOTED.match(lines[start]):
            break
        joined = " ".join(line.strip() for line in lines[start : end + 1])
        if _introduces(joined):
            widths.append(width)
            if _MAIL.search(joined) and _is_dated(joined):
                full.append(width)
    said = [width for width in widths if _START.match(lines[end - width + 1])]
    if said:
        return max(said)
    width = min(full or widths, default=0)
    while width and width + 1 in widths and _was_wrapped(lines, end - width):
        width += 1
    return width


def _was_wrapped(lines: list[str], index: int) -> bool:
    """Whether the first word of the next line did not fit into this one any more."""
    line, word = lines[index].rstrip(), lines[index + 1].split(maxsplit=1)[0]
    return len(line) + len(word) >= _NARROWEST and not line.endswith((".", "!", "?"))


def _may_end(line: str) -> bool:
    line = line.rstrip()
    if len(line) < LONGEST and _COLON_AT_END.search(line):
        return True
    if line.endswith(">"):
        return True
    return bool(_DATE.search(line) or _MAIL.search(line)) and _wrote(line)


def _wrote(line: str) -> bool:
    """Whether the line ends with a verb like 'wrote', or nearly."""
    return _WROTE_AT_END.search(line, max(0, len(line) - _END)) is not None


def _introduces(line: str) -> bool:
    """Whether it may be an introduction, if a quote follows."""
    if not 6 <= len(line) <= LONGEST:
        return False
    if line.endswith(">"):
        return bool(_OLD_GMAIL.match(line))
    wrote = _wrote(line)
    dated, timed = _DATE.search(line), _TIME.search(line)
    if wrote:
        return bool(dated or timed or _MAIL.search(line)) or len(line.split()) < 6
    return bool(_MAIL.search(line) or (dated and timed))


def _is_dated(line: str) -> bool:
    return bool(_DATE.search(line) or _TIME.search(line))


def _quote_follows(lines: list[str], index: int) -> bool:
    following = next((line for line in lines[index:] if line.strip(f" {SOFT}")), "")
    return following.startswith(SOFT) or _QUOTED.match(following) is not None


def _is_sure(lines: list[str], end: int, width: int) -> bool:
    """An introduction sure enough to cut all that follows, unmarked as it is."""
    start = end - width + 1
    line = " ".join(line.strip() for line in lines[start : end + 1])
    mail, wrote = _MAIL.search(line), _wrote(line)
    dated, timed = _DATE.search(line), _TIME.search(line)
    if _OLD_GMAIL.match(line) or (mail and dated and timed):
        return True
    before = lines[start - 1] if start else ""
    after = lines[end + 1] if end + 1 < len(lines) else ""
    alone = not before.strip() or bool(_QUOTED.match(before))
    if alone and wrote and timed and _NUMERIC.search(line):
        return not _PROSE.search(line) and len(line.split()) < _MANY_WORDS
    alone = alone and not after.strip()
    if not alone or _PROSE.search(line):
        return False
    return bool((mail and (wrote or dated)) or (wrote and dated and timed))
