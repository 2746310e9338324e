"""Which lines of a message are somebody else's: quotes and forwarded mail.

Works on lines. A line only counts as the introduction of a quote, as in "On Monday Ann
wrote:", if it carries a date or an address besides looking like one: a lost quote
teaches somebody else's style, but so does prose that was cut because it said "he
wrote:". Words of a language decide as little as can be; shape decides where it can, so
that it works in languages that phrases.toml does not list.

Three parts follow each other here: introductions of quotes, headings of forwarded
messages (blocks of headers, bars, what Lotus Notes writes), and `drop_quotes`, which
walks through the lines and asks both.
"""

from collections.abc import Callable
from itertools import takewhile

from personal_store.cleaning import phrases
from personal_store.cleaning.phrases import pattern

LONGEST = 300  # characters of a line that the rules look at
SOFT = "\ufdd0"
"""Before a line that HTML indents: it is a quote if something introduces it as one."""
HARD = "\ufdd1"  # stands where HTML marks a quote

# Introductions of quotes.
_MANY_WORDS = 14  # more are prose
_NARROWEST = 28  # columns to which programs wrap
_END = 100  # characters at the end of a line in which such a verb stands
_MOST_LINES = 5  # of an introduction that was wrapped
_INVISIBLE: dict[int, str | None] = {
    ord(char): None for char in "\u0307\u200b\u200e\u200f\u2060\u2063\ufeff" + SOFT
}
_INVISIBLE |= dict.fromkeys((*range(8234, 8239), *range(8294, 8298)))
_INVISIBLE |= {0xA0: " ", 0x202F: " ", 0x3000: " "}
_ODD = pattern("[" + "".join(map(chr, _INVISIBLE)) + "]")
_ADDRESS = r"[\w.+%'-]+@[\w-]+(?:\.[\w-]+)+"
MAIL = pattern(_ADDRESS)
DATE = pattern(r"\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}|(?<!\d)\d{4}(?!\d)|\d{4}[年년]")
_NUMERIC = pattern(r"\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}")  # as programs write dates
TIME = pattern(r"\d{1,2}[:：.h]\d{2}")
_WROTE_AT_END = pattern(rf"(?:{phrases.WROTE})(?:(?<=wrote)|.{{0,60}}[:：])?\W*$")
_COLON_AT_END = pattern(r"[:：]\W{0,3}$")
_OLD_GMAIL = pattern(
    rf"^(?:19|20)\d\d[/-]\d{{1,2}}[/-]\d{{1,2}}(?: \d{{1,2}}:\d{{2}}.{{0,12}})? "
    rf".{{2,80}}< ?{_ADDRESS}>$"
)
_START = pattern(rf"^\W*(?:{phrases.ATTRIBUTION_STARTS})\b[^:：]*\d.*[^.!?]$")
_BEGINS = pattern(
    rf"^\W*(?:(?:{phrases.ATTRIBUTION_STARTS})\b|[^\W\d]{{2,10}}\W{{1,3}}\d|\d)"
)
_WROTE = pattern(rf"(?<!\w)(?:{phrases.WROTE})(?!\w)")
_ENDS_IN_DATE = pattern(r"\d\.$|(?<!\w)[^\W\d]{1,5}\.$")  # '12.', '12 mar.'
_PROSE = pattern(  # a sentence before the introduction
    r"[^\W\d]{5,}[.!?] [^\W\d]|[^\W\d]{2}[.!?] (?:on|am|le|el|il|em|op|den|dne|w) "
)
_SAID = pattern(rf"(?:{phrases.WROTE}).{{0,25}}?[:：]\s+\S")
_COLON_BEHIND = pattern(r"\W{1,3}[:：]\s+\S")
TORN_END = pattern(rf"^>\s*(?:\w{{1,5}} )?(?:{phrases.WROTE})\s*[:：]$")
_FIRST_PERSON = pattern(  # 'je' is a verb in the introductions of some languages
    rf"(?<![\w<])(?!je\b)(?:{phrases.FIRST_PERSON})(?![\w@])"
)
_STAMPED = pattern(  # 'On Mon, 3', 'Le mar. 30', '2024-05-03 12:30'
    rf"^\W*(?:(?:{phrases.ATTRIBUTION_STARTS})\W+)?(?:[^\W\d]{{2,10}}\W{{1,3}}){{0,2}}\d"
)
_ONLY_STAMP = pattern(  # 'On Mon, 4 Mar 2024 18:05:10 +0100'
    rf"^\W*(?:{phrases.ATTRIBUTION_STARTS})\W(?=.{{4,40}}\d[:.]\d\d)"
    r"(?:[^\W\d]{1,12}[\W\d]{1,30}){1,4}(?:[^\W\d]{1,5})?\W*$"
)
_WROTE_ON = pattern(  # 'Ann wrote on Mon. 3 May 2024 at 12:30:'
    rf"^[^:：]{{2,60}}?\s(?:{phrases.WROTE})\s(?:{phrases.ATTRIBUTION_STARTS})\W"
    rf".{{4,40}}\d[:：.h]\d{{2}}[^:：]{{0,12}}[:：]\W*$"
)
_PRONOUN = pattern(  # a subject that no program writes
    rf"(?<!\w)(?:{phrases.PRONOUNS}) (?:{phrases.WROTE})(?!\w)"
    rf"|(?<!\w)(?:{phrases.WROTE}) (?:{phrases.PRONOUNS})(?!\w)"
    rf"|(?<!\w)(?:{phrases.ARTICLES}) [\w-]+ (?:{phrases.WROTE})(?!\w)"
    rf"|(?<!\w)(?:{phrases.WROTE}) (?:{phrases.ARTICLES}) "
    r"(?!(?:[^\W\d]{2,10}\W{1,3})?\d)"  # 'escribió el lun. 4'
)
_NO_SPACE = pattern(r"[^\W\d][:：][^\W\d]")
_GLUED_TO_VERB = pattern(
    rf"{_STAMPED.pattern}[^:：]{{2,30}}{TIME.pattern}[^:：]{{2,80}}(?:{phrases.WROTE})[:：](?=[^\W\d])"
)
QUOTED = pattern(r"^\s{0,3}(?:>|\ufdd1|[|｜]\s?>)")

# Headings of forwarded messages.
_DASHES = r"[-_=*~\u2010-\u2015]"
_NO_DASH = r"[^-_=*~\u2010-\u2015\s]"
_BAR = pattern(rf"^\W*{_DASHES}{{2,}}\s*({_NO_DASH}.*?)\s*{_DASHES}{{2,}}\s*$")
_BAR_AND_MORE = pattern(rf"^\W*-{{3,}} ?({_NO_DASH}[^-]*?) ?-{{3,}} ?(\S.*)$")
_HALF_BAR = pattern(rf"^\W*-{{5,}}\s*{_NO_DASH}")
_TAGS = pattern(r"(?:\s*</?(?:div|br|p)\s?/?>)+\s*")
_BAR_LINES = 3  # over which a bar with a name and a date is broken
_ORIGINAL = pattern(rf"^(?:{phrases.ORIGINAL})\W*$")
_FORWARDED = pattern(phrases.FORWARD_STEMS)
_BEGIN = pattern(rf"^.{{0,40}}(?:{phrases.FORWARD_STEMS}).{{0,40}}[:：]$")
_RULE = pattern(rf"^\s*{_DASHES}{{5,}}\s*$")
_LABEL_WIDTH = 30
_LABEL_END = r"\s?\**\s?[:：]\s*\**\s*"
_FROM = pattern(rf"^[\s*_]*(?:{phrases.FROM}){_LABEL_END}(?=\S)")
_HEADER = pattern(rf"^[\s*_]*(?:{phrases.FROM}|{phrases.HEADER}){_LABEL_END}")
_SUBJECT = pattern(rf"^[\s*_]*(?:{phrases.SUBJECT}){_LABEL_END}")
_SENT = pattern(rf"^[\s*_]*(?:{phrases.SENT})(?: \w{{2,3}})?{_LABEL_END}")
_INLINE = pattern(rf"(?<!\w)(?:{phrases.FROM}|{phrases.HEADER})\**\s?[:：]")
_GLUED = pattern(rf"(?:{phrases.FROM}|{phrases.HEADER})\s?[:：] ?(?=\S)")
_STAMP = pattern(
    r"^(.*?)\d{1,4}[./-]\d{1,2}[./-]\d{1,4},? +\d{1,2}[:.]\d{2}(?:[:.]\d{2})?"
    r"(?: ?[ap]\.?m\.?)?(?: [a-z]{2,5})?\W*$"
)
_ENDS_WITH_TIME = pattern(r"\d[:.]\d{2}(?: ?[ap]\.?m\.?)?(?: [a-z]{2,5})?\W*$")
_STAMP_WORDS = 9  # before the date: a name, an address, a word for 'on'
_STAMP_LINE = 120  # characters of a line that says who wrote, and when
_ABOVE = 6  # lines from the date of such a heading to its headers
_ABOVE_WORDS = phrases.ABOVE.split("|")
_REPLY_ABOVE = pattern(rf"^\W*\w?.{{0,60}}(?:{phrases.REPLY_ABOVE})\W*$")
_GROUPWISE = pattern(r"^>>> ?[^>\s]")
_NOTES_TABLE = pattern(r"^\W*\|-{3,}\+-{3,}>$")
_MARKED = pattern(r"^(?:\s{0,3}[>|｜])+\s?")
_RECIPIENT = pattern(r"[@/,;]")
_ANY_LABEL = pattern(r"^[\s*_]*[^\W\d][^:：<>@]{0,24}[:：]\s*\**\s*\S")
_NOTES = pattern(r"^.{2,60}\s?-{3}\d{1,4}[./-]\d{1,2}[./-]\d{1,4} .{0,20}-{3}\S")

# Lines that are quoted.
_HINTS = (">", ":", "：", "*", SOFT, HARD, "--", "__", "==", "‐‐", "––", "——", "##")
_VERB = pattern(r"\bwrote\b")
_TORN_LINES = 12  # that lost their marks one below the other
_LINK_PIECE = pattern(r"[=%/]\S")
_ARROW = pattern(r"^\s{0,3}>(?=[=\d])")


def is_said_inline(line: str) -> bool:
    """An introduction with the words of the other behind its colon.

    So Yahoo's apps put it: a date, a time, an address, and a verb or a colon.
    """
    mail = MAIL.search(line) if "@" in line else None
    if mail is None and not _NO_SPACE.search(line):
        return False
    if not (DATE.search(line) and TIME.search(line)):
        return False
    if mail is None:
        glued = _GLUED_TO_VERB.match(line)
        return glued is not None and not _PRONOUN.search(glued.group())
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


def next_line(lines: list[str], index: int) -> int | None:
    """The index of the first line with words from `index` on, or None."""
    return next((i for i in range(index, len(lines)) if lines[i].strip()), None)


def introduction(lines: list[str], end: int) -> int:
    """How many lines up to this one introduce a quote, as in 'On Monday Ann wrote:'."""
    if not _may_end(lines[end]):
        return 0
    found: dict[int, int] = {}  # by width: 1 for a date or an address, 2 for both
    torn = TORN_END.match(lines[end]) is not None
    for width in range(1, _MOST_LINES + 1 + torn):
        start = end - width + 1
        if start < 0 or not (lines[start].strip() or torn):
            break
        if QUOTED.match(lines[start]) and not (torn and start == end):
            break
        joined = " ".join(line.strip() for line in lines[start : end + 1])
        if introduces(joined):
            found[width] = (MAIL.search(joined) is not None) + is_dated(joined)
    best = min(found, key=lambda width: (-found[width], width), default=0)
    said = [width for width in found if _START.match(lines[end - width + 1])]
    width = max(said, default=best)
    while width and width + 1 in found and _was_wrapped(lines, end - width, end):
        width += 1
    return width


def _was_wrapped(lines: list[str], index: int, end: int) -> bool:
    """Whether the first word of the next line did not fit into this one any more.

    What fits is measured by the longest of the lines below it, up to `end`.
    """
    line, below = lines[index].rstrip(), lines[index + 1]
    dated = _ENDS_IN_DATE.search(line, max(0, len(line) - 8)) and DATE.search(line)
    if line.endswith((".", "!", "?", ":", "：")) and not dated:
        return False
    longest = max(map(len, lines[index + 1 : end + 1]))
    return len(line) + len(below.split(maxsplit=1)[0]) >= max(longest, _NARROWEST)


def _may_end(line: str) -> bool:
    line = line.rstrip()
    if line.endswith(">") or (len(line) < LONGEST and _COLON_AT_END.search(line)):
        return True
    mail = "@" in line and MAIL.search(line) is not None
    dated = DATE.search(line) is not None
    if dated and TIME.search(line) and (mail or _ONLY_STAMP.match(line)):
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


def _as_programs_write(line: str) -> bool:
    """A date, a time, a name and a verb, in an order in which programs put them."""
    if not (DATE.search(line) and TIME.search(line)) or len(line.split()) > _MANY_WORDS:
        return False
    if not _COLON_AT_END.search(line) or _PROSE.search(line) or _PRONOUN.search(line):
        return False
    stamped = _STAMPED.match(line) is not None and _wrote(line)
    return stamped or _WROTE_ON.search(line) is not None


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
    if not alone and not after.strip() and _as_programs_write(line):
        return True
    if alone and wrote and timed and _NUMERIC.search(line):
        return not _PROSE.search(line) and len(line.split()) < _MANY_WORDS
    if alone and mail and wrote and "<" in line and not _PROSE.search(line):
        return True
    if not alone or after.strip() or _PROSE.search(line):
        return False
    return bool((mail and (wrote or dated)) or (wrote and dated and timed))


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
        said = above == index - 1 and _tells_who_wrote(lines, above)
        sent = _SENT.match(line) and is_dated(line)  # 'Sent: Monday, 3 May 2024 12:30'
        short = line.endswith((":", "：")) and len(line.split()) < 6
        wrote = short and introduces(line)  # 'Ann Berg wrote:' and nothing else
        if letterhead or said or sent or wrote or _ORIGINAL.match(line.strip()):
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
    below = next_line(lines, index + 1)
    if below is None or not QUOTED.match(lines[below]):
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
    if _is_stamp(lines[index]) and _names_labels(lines[index + 1 : index + 16]):
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


def _names_labels(lines: list[str]) -> bool:
    """Whether labels stand alone in two lines, one of them that of the subject."""
    labels = [x for x in (f"{line.strip()}:" for line in lines) if _HEADER.fullmatch(x)]
    return len(labels) > 1 and any(map(_SUBJECT.fullmatch, labels))


def _starts_foreign_tail(lines: list[str], index: int) -> bool:
    """Whether this line says that the rest is another message."""
    line = lines[index]
    if any(map(line.__contains__, _ABOVE_WORDS)) and _REPLY_ABOVE.match(line):
        return True
    if line.endswith("->") and _NOTES_TABLE.match(line):
        return True
    if _RULE.match(line):
        return _headers_below(lines, index + 1) >= 3
    bar = _BAR.match(line)
    if bar:
        return _is_foreign_bar(lines, index, bar.group(1))
    if "---" in line:
        if _starts_open_bar(lines, index):
            return True
        if "</div>" in line:  # an app that sends its HTML as plain text
            return _starts_open_bar([_TAGS.sub(" ", line).strip()], 0)
        if _NOTES.match(line):
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
    if _headers_below(lines, index + 1) >= 2:
        return True
    below = next_line(lines, index + 1)
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
        below = next_line(lines, index + 1)
        if below is not None and _headers_below(lines, below) > 1:
            return True
    if len(first.split()) > 5 and first[-1:] in ".!?" and not MAIL.search(first):
        return False  # 'From: the beginning, I thought so.'
    block = _block(lines, index)
    known = [line for line in block if _is_header(line)]
    if len(known) == 2 and any(map(MAIL.search, block)) and any(map(is_dated, block)):
        return quote_follows(lines, index + 2) and _FROM.match(first) is not None
    if len(known) > 1 and _FROM.match(first) and _tells_who_wrote(lines, index - 1):
        return True
    if len(known) < 3 or not any(map(_FROM.match, known)):
        return False
    if any(map(MAIL.search, block)) or any(map(_SUBJECT.match, known)):
        return True
    return any(_SENT.match(line) and is_dated(line) for line in known)


def _tells_who_wrote(lines: list[str], index: int) -> bool:
    """'On 3 May 2024 at 12:30 Ann wrote', without a colon, above a block of headers."""
    line = lines[index] if index >= 0 else ""
    if len(line) >= _STAMP_LINE or not introduces(f"{line}:"):
        return False
    return all(pattern.search(line) for pattern in (DATE, TIME, _WROTE))


def _is_unknown_block(lines: list[str], index: int) -> bool:
    """Headers in a language without a list: an address and a date show them."""
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


def drop_quotes(lines: list[str], is_tagline: Callable[[str], bool]) -> list[str]:
    """The lines without quotes, their introductions and everything forwarded.

    `is_tagline` recognises lines such as 'Sent from my iPhone': an introduction below
    one of them needs no other sign.
    """
    text = "\n".join(lines)
    # Lines that hold something without which no rule matches. One search of the whole
    # text, and `in` for each line, take a tenth of a pattern.
    hints = [hint for hint in _HINTS if hint in text]
    hinted = {i for hint in hints for i, line in enumerate(lines) if hint in line}
    if "wrote" in text:
        hinted.update([i for i, line in enumerate(lines) if _VERB.search(line)])
    if not hinted:
        return lines
    bare = [line if line[:1] == ">" else bare_line(line) for line in lines]
    kept: list[int] = []
    soft = False  # whether indented lines are known to be quotes
    forwarded = False  # whether marked lines are: nobody answers between those
    for index in range(len(bare)):
        if forwarded and _is_between_marks(bare, index, kept):
            continue
        if index not in hinted:
            if not (index - 1 in hinted and _is_torn_off(bare, index)):
                kept.append(index)
            continue
        if _is_quoted(bare, index) or (soft and lines[index].startswith(SOFT)):
            continue
        found = _foreign_from(lines, bare, index, is_tagline)
        if found is None:
            kept.append(index)
            continue
        start, to_the_end = found
        while kept and kept[-1] >= start:
            kept.pop()
        if to_the_end:
            break
        soft = True
        forwarded = forwarded or introduces_marked_headers(bare, index)
    while len(kept) > 1 and _is_indented_end(lines, kept):
        kept.pop()
    return [lines[index] for index in kept] if len(kept) < len(lines) else lines


def _foreign_from(
    lines: list[str], bare: list[str], index: int, is_tagline: Callable[[str], bool]
) -> tuple[int, bool] | None:
    """Where the words of others begin that this line announces, and whether they go
    on to the end; None if it announces nothing."""
    if introduces_marked_headers(bare, index):
        return index, False
    start = tail_start(bare, index)
    if start is not None:
        return start, True
    width = introduction(bare, index)
    followed = bool(width) and quote_follows(lines, index + 1)
    sure = bool(width) and not followed and is_sure(bare, index, width)
    sure = sure or (width == 1 and is_tagline(_alone_above(lines, index)))
    return (index - width + 1, sure) if followed or sure else None


def _alone_above(lines: list[str], index: int) -> str:
    """The next line with words above this one, if it is alone between blank ones."""
    above = index - 1
    while above >= 0 and not lines[above].strip():
        above -= 1
    alone = above < index - 1 and (above < 1 or not lines[above - 1].strip())
    return lines[above] if alone and above >= 0 else ""


def _is_between_marks(lines: list[str], index: int, kept: list[int]) -> bool:
    """A line that lost its mark: it hangs between marked ones, without a gap."""
    if not lines[index].strip() or not index or index - 1 in kept[-1:]:
        return False
    if not lines[index - 1].strip() or QUOTED.match(lines[index]):
        return False
    ahead = lines[index : index + _TORN_LINES]
    below = next((x for x in ahead if not x.strip() or QUOTED.match(x)), "")
    return bool(below.strip())


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
    return bool(piece) and QUOTED.match(below) is not None


def _is_quoted(lines: list[str], index: int) -> bool:
    """Marked by '>', unless it stands alone and says that something is larger."""
    if not QUOTED.match(lines[index]):
        torn = index > 0 and lines[index].strip() in (":", "：")
        return torn and lines[index - 1].strip() == ">"  # of '<address', '>', ':'
    if TORN_END.match(bare_line(lines[index])) and MAIL.search(lines[index - 1]):
        return False  # of an address in brackets, broken before its '> wrote:'
    if is_groupwise(lines, index):
        return False
    if not _ARROW.match(lines[index]):
        return True
    around = lines[max(0, index - 1) : index] + lines[index + 1 : index + 2]
    return any(QUOTED.match(line) for line in around)
