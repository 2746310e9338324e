"""Headings of other messages: blocks of headers, bars, and what Lotus Notes writes.

Shape decides where it can, so that it works in languages that phrases does not list.
"""

import re
from itertools import takewhile

from personal_store.cleaning import phrases
from personal_store.cleaning.introductions import (
    DATE,
    MAIL,
    QUOTED,
    TIME,
    bare_line,
    introduces,
    is_dated,
    is_said_inline,
    quote_follows,
)

_DASHES = r"[-_=*~\u2010-\u2015]"
_NO_DASH = r"[^-_=*~\u2010-\u2015\s]"
_BAR = re.compile(rf"^\W*{_DASHES}{{2,}}\s*({_NO_DASH}.*?)\s*{_DASHES}{{2,}}\s*$")
_BAR_AND_MORE = re.compile(rf"^\W*-{{3,}} ?({_NO_DASH}[^-]*?) ?-{{3,}} ?(\S.*)$")
_HALF_BAR = re.compile(rf"^\W*-{{5,}}\s*{_NO_DASH}")
_BAR_LINES = 3  # over which a bar with a name and a date is broken
_ORIGINAL = re.compile(rf"^(?:{phrases.ORIGINAL})\W*$")
_FORWARDED = re.compile(phrases.FORWARD_STEMS)
_BEGIN = re.compile(rf"^.{{0,40}}(?:{phrases.FORWARD_STEMS}).{{0,40}}[:：]$")
_RULE = re.compile(rf"^\s*{_DASHES}{{5,}}\s*$")
_LABEL_WIDTH = 30
_LABEL_END = r"\s?\**\s?[:：]\s*\**\s*"
_FROM = re.compile(rf"^[\s*_]*(?:{phrases.FROM}){_LABEL_END}(?=\S)")
_HEADER = re.compile(rf"^[\s*_]*(?:{phrases.FROM}|{phrases.HEADER}){_LABEL_END}")
_SUBJECT = re.compile(rf"^[\s*_]*(?:{phrases.SUBJECT}){_LABEL_END}")
_SENT = re.compile(rf"^[\s*_]*(?:{phrases.SENT})(?: \w{{2,3}})?{_LABEL_END}")
_INLINE = re.compile(rf"(?<!\w)(?:{phrases.FROM}|{phrases.HEADER})\**\s?[:：]")
_GLUED = re.compile(rf"(?:{phrases.FROM}|{phrases.HEADER})\s?[:：] ?(?=\S)")
_STAMP = re.compile(
    r"^(.*?)\d{1,4}[./-]\d{1,2}[./-]\d{1,4},? +\d{1,2}[:.]\d{2}(?:[:.]\d{2})?"
    r"(?: ?[ap]\.?m\.?)?(?: [a-z]{2,5})?\W*$"
)
_ENDS_WITH_TIME = re.compile(r"\d[:.]\d{2}(?: ?[ap]\.?m\.?)?(?: [a-z]{2,5})?\W*$")
_STAMP_WORDS = 9  # before the date: a name, an address, a word for 'on'
_ABOVE = 6  # lines from the date of such a heading to its headers
_REPLY_ABOVE = re.compile(rf"^\W*\w?.{{0,60}}(?:{phrases.REPLY_ABOVE})\W*$")
_GROUPWISE = re.compile(r"^>>> ?[^>\s]")
_NOTES_TABLE = re.compile(r"^\W*\|-{3,}\+-{3,}>$")
_MARKED = re.compile(r"^(?:\s{0,3}[>|｜])+\s?")
_RECIPIENT = re.compile(r"[@/,;]")
_ANY_LABEL = re.compile(r"^[\s*_]*[^\W\d][^:：<>@]{0,24}[:：]\s*\**\s*\S")
_NOTES = re.compile(r"^.{2,60}\s?-{3}\d{1,4}[./-]\d{1,2}[./-]\d{1,4} .{0,20}-{3}\S")


def tail_start(lines: list[str], index: int) -> int | None:
    """Where another message begins whose heading stands in this line."""
    if is_groupwise(lines, index) or is_said_inline(lines[index]):
        return index
    if not _starts_foreign_tail(lines, index):
        return _notes_heading(lines, index)
    start = index
    for above in reversed(range(max(0, index - _ABOVE), index)):
        line = lines[above]
        letterhead = line[:1] == "\t" and len(line.split()) < 8
        if letterhead or _ORIGINAL.match(line.strip()):
            start = above
        elif line.strip():
            break
    return start


def is_groupwise(lines: list[str], index: int) -> bool:
    """Three marks before a name and a date, and nothing marked around them."""
    if lines[index][:3] != ">>>":
        return False
    line = bare_line(lines[index])
    if not _GROUPWISE.match(line) or not (DATE.search(line) and TIME.search(line)):
        return False
    around = lines[max(0, index - 1) : index] + lines[index + 1 : index + 2]
    return not any(map(QUOTED.match, around))


def introduces_marked_headers(lines: list[str], index: int) -> bool:
    """A short line with a colon above a quote that begins with From:, To: and so on.

    So Apple Mail and MailMate pass messages on; answers may follow below.
    """
    line = lines[index]
    if line[-1:] not in (":", "：") or len(line) >= 90:
        return False
    below = next((i for i in range(index + 1, len(lines)) if lines[i].strip()), 0)
    if not below or not QUOTED.match(lines[below]):
        return False
    marked = takewhile(QUOTED.match, lines[below : below + 8])
    inner = [bare_line(_MARKED.sub("", line)) for line in marked]
    headers = [line for line in inner if _is_header(line)]
    return len(headers) > 1 and any(map(_FROM.match, headers))


def _notes_heading(lines: list[str], index: int) -> int | None:
    """Where a heading of Lotus Notes begins whose date or headers stand here.

    It writes a name and a date above To:, cc: and Subject:, or above these words alone,
    each in a line.
    """
    if _is_stamp(lines[index]) and _has_bare_labels(lines[index + 1 : index + 16]):
        above = lines[max(0, index - 2) : index]
        near = takewhile(lambda line: 0 < len(line.strip()) < 60, reversed(above))
        return index - sum(1 for _ in near)
    if not _is_header(lines[index]) or _SUBJECT.match(lines[index]):
        return None
    if index and _is_header(lines[index - 1]):
        return None
    labels = subjects = 0
    for below in lines[index : index + 16]:
        labels += bool(_is_header(below))
        subjects += bool(_SUBJECT.match(below))
        known = _is_header(below) or _RECIPIENT.search(below) or not below.strip()
        if subjects or not known:
            break
    if labels < 2 or not subjects:
        return None
    for start in range(index - 1, max(-1, index - 1 - _ABOVE), -1):
        if not _is_stamp(lines[start]):
            continue
        alone = _STAMP.sub(r"\1", lines[start]).strip() == ""
        return start - (alone and start > 0 and 0 < len(lines[start - 1].strip()) < 60)
    return None


def _is_stamp(line: str) -> bool:
    """A date and a time at the end of a line, with a name before them at most."""
    if not _ENDS_WITH_TIME.search(line, max(0, len(line) - 30)):
        return False
    stamp = _STAMP.match(line)
    return stamp is not None and len(stamp.group(1).split()) <= _STAMP_WORDS


def _has_bare_labels(lines: list[str]) -> bool:
    alone = [line for line in (f"{line.strip()}:" for line in lines) if line != ":"]
    labels = [line for line in alone if _HEADER.fullmatch(line)]
    return len(labels) > 1 and any(map(_SUBJECT.fullmatch, labels))


def _starts_foreign_tail(lines: list[str], index: int) -> bool:
    """Whether this line says that the rest is another message."""
    line = lines[index]
    if any(map(line.__contains__, phrases.ABOVE)) and _REPLY_ABOVE.match(line):
        return True
    if line.endswith("->") and _NOTES_TABLE.match(line):
        return True
    if _RULE.match(line):
        return _headers_below(lines, index + 1) >= 3
    bar = _BAR.match(line)
    if bar:
        return _is_foreign_bar(lines, index, bar.group(1))
    if "---" in line and _starts_open_bar(lines, index):
        return True
    if "---" in line and _NOTES.match(line):
        return True
    if len(line) < 90 and line[-1:] in ":：" and _BEGIN.match(line):
        said = line.lstrip().startswith("begin forwarded")
        return said or _headers_below(lines, index + 1) >= 2
    return _is_header_block(lines, index)


def _starts_open_bar(lines: list[str], index: int) -> bool:
    """Words between dashes with headers behind them, or broken over lines."""
    more = _BAR_AND_MORE.match(lines[index])
    if more:
        text, rest = more.groups()
        if _ORIGINAL.match(text) or _FORWARDED.search(text):
            return _FROM.match(rest) is not None or len(_GLUED.findall(rest)) > 1
        return bool(MAIL.search(rest)) and len(_GLUED.findall(rest)) > 2
    if not _HALF_BAR.match(lines[index]):
        return False
    joined = " ".join(line.strip() for line in lines[index : index + _BAR_LINES])
    bar = _BAR_AND_MORE.match(joined) or _BAR.match(joined)
    if bar is None:
        return False
    return bool(_FORWARDED.search(bar.group(1))) and is_dated(bar.group(1))


def _is_foreign_bar(lines: list[str], index: int, text: str) -> bool:
    """Words between dashes: known ones, an introduction, or headers below them."""
    if _ORIGINAL.match(text) or (_FORWARDED.search(text) and is_dated(text)):
        return True
    if introduces(text + ":") and not quote_follows(lines, index + 1):
        return True
    below = next((i for i, x in enumerate(lines) if i > index and x.strip()), None)
    if _headers_below(lines, index + 1) >= 2:
        return True
    return below is not None and _is_unknown_block(lines, below)


def _is_header(line: str) -> bool:
    """A label such as Subject: begins the line; most lines hold no colon so early."""
    start = line[:_LABEL_WIDTH]
    return (":" in start or "：" in start) and _HEADER.match(line) is not None


def _headers_below(lines: list[str], index: int) -> int:
    """How many of the next lines are headers, as far as only headers stand there."""
    count = 0
    for line in lines[index : index + 8]:
        if _is_header(line):
            count += 1
        elif line.strip() and not (_ANY_LABEL.match(line) and MAIL.search(line)):
            break
    return count


def _is_header_block(lines: list[str], index: int) -> bool:
    """Lines like From:, Sent:, To:, Subject: below each other, or all in one."""
    first = lines[index]
    if not _is_header(first):
        return _is_unknown_block(lines, index)
    colons = first.count(":") + first.count("：")
    if colons > 2 and _FROM.match(first) and len(_INLINE.findall(first)) > 2:
        return is_dated(first) or bool(MAIL.search(first))
    if _FROM.match(first) and _is_stamp(first):  # Lotus Notes: To: follows below
        below = (i for i in range(index + 1, len(lines)) if lines[i].strip())
        if _headers_below(lines, next(below, index)) > 1:
            return True
    block = _block(lines, index)
    known = [line for line in block if _is_header(line)]
    if len(known) == 2 and any(map(MAIL.search, block)) and any(map(is_dated, block)):
        return quote_follows(lines, index + 2) and _FROM.match(first) is not None
    if len(known) < 3 or not any(map(_FROM.match, known)):
        return False
    if any(map(MAIL.search, block)) or any(map(_SUBJECT.match, known)):
        return True
    return any(_SENT.match(line) and is_dated(line) for line in known)


def _is_unknown_block(lines: list[str], index: int) -> bool:
    """Headers in a language without a list: an address and a date tell them."""
    if not _ANY_LABEL.match(lines[index]):
        return False
    block = list(takewhile(_ANY_LABEL.match, lines[index : index + 8]))
    mails = [i for i, line in enumerate(block) if MAIL.search(line)]
    dated = any(DATE.search(line) and TIME.search(line) for line in block)
    return len(block) > 2 and dated and bool(mails) and mails[0] < 2


def _block(lines: list[str], index: int) -> list[str]:
    """The lines from here that may be headers, with at most one blank between."""
    block: list[str] = []
    blanks = others = 0
    for line in lines[index : index + 14]:
        if not line.strip():
            blanks += 1
        elif blanks and _FROM.match(line):
            break  # a block of its own
        elif _ANY_LABEL.match(line) or _is_header(line):
            block.append(line)
            blanks = others = 0
        else:  # a long list of recipients goes on in the next line
            others += 1
        if blanks > 1 or others > 1 or (blanks and others):
            break
    return block
