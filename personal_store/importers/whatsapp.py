"""Exported chats of WhatsApp: _chat.txt (iOS) or "WhatsApp Chat with X.txt" (Android).

iOS writes `[31.12.23, 18:05:09] Ana: text`, Android `12/31/23, 6:05 PM - Ana: text`,
with the digits, the order and the calendar of the phone's language. Lines without date
go on with the message before. A line with date and without name is a notice of the
program. What iOS itself says in place of a picture begins with a mark that nobody types
(U+200E); Android writes it in angle brackets or with the name of the file.

Only messages under the owner's own name, which --me says, are own; those of others are
kept as theirs. The export does not mark what was forwarded: forwarded text counts as
written by whoever sent it. Times are the phone's own and count as UTC.
"""

import calendar
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

from personal_store.cleaning.cleaning import tidy
from personal_store.files import Source
from personal_store.importers.exports import (
    FEWEST_WORDS,
    Shape,
    TalkService,
    digest,
    identity,
    placed,
    plain_name,
    written,
)
from personal_store.records import Item, Skipped
from personal_store.text.charset import storable

MARKS = "\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufeff"
"""Characters that nobody sees; for a character class."""

Digits = tuple[int, int, int]
"""The three numbers of a date, in the order in which they stand."""

_BLANK = rf"[\s{MARKS}]"
_NEXT = rf"{_BLANK}?(?:[./-]|年|月|년|월){_BLANK}{{0,2}}"
_DATE = rf"(\d{{1,4}}){_NEXT}(\d{{1,2}}){_NEXT}(\d{{1,4}})[日일]?"
_WORD = r"[^\d\n\[\]:]"
_TIME = rf"(\d{{1,2}})(?:[:.]|{_BLANK}?[h時시]{_BLANK}?)(\d{{2}})분?([:.]\d{{2}})?"
_LINE = re.compile(
    rf"[{MARKS}]*(\[)?[{MARKS}]*{_DATE}({_WORD}{{1,16}}?){_TIME}"
    rf"(?:{_BLANK}?([^\W\d_][^\d\n\[\]:–-]{{0,14}}?))?"
    # the end: a bracket; else a dash; else, behind seconds, a colon
    rf"(?(1){_BLANK}*\]\s?|(?:{_BLANK}+[-–]\s|(?(8):\s|(?!))))"
)
_LONGEST = 100  # characters in which a stamp has to end

_NOON = "中午"
_AMERICAN = re.compile(r"[AP]M")
"""Phones that write the halves of the day as AM and PM mostly write the month first."""

_FIRST_YEAR, _LAST_YEAR = 2009, 2051
"""WhatsApp began in 2009. A number of two digits from 52 on is a Buddhist year."""
_BUDDHIST = 543

_MARK = "\u200e"
_NAMED = re.compile(r"([^:\n]{1,80}):(?:\s|$)(.*)", re.DOTALL)
_FILE = re.compile(rf"\A[{MARKS}]*[^\n]{{1,120}}\.\w{{2,5}} \([^()\n]+\)\s*$", re.M)
_BRACKETS = re.compile(
    rf"\A<[^<>\n]+>|[{MARKS}]+<[^<>\n]+>|\s<[^<>\n]{{8,60}}>\Z"
    # below or behind a caption; where one writes to the left such a mark is common
    rf"|(?<![\u0590-\u08ff] )(?<=\s)\u200e[^\W\d_][^\n<>?!,:]{{3,30}}\Z"
)
_PAGES = re.compile(rf"\A[{MARKS}]*[^\n]{{1,120}}\.\w{{2,5}} • [{MARKS}]*\d+ [^\W\d]+")
"""Name and pages of a document, which iOS writes before it."""
_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def _any(kind: str) -> str:
    return f"(?:{'|'.join(_WORDS[kind])})".replace("{who}", r"[^\n?!]{1,60}")


_NOTICE = re.compile(
    rf"(?:{_any('deleted')}|{_any('calls')}|{_any('locations')}|{_any('others')}"
    rf"|{_any('missed_calls')}(?:[,.·] ?[^\n?!]{{0,20}}{_any('tap')}[^\n?!]{{0,40}})?"
    rf"|{_any('waiting')}(?:[.。،,…][^\n?!]{{0,80}})?"
    rf"|{_any('encrypted')}[^\n]{{0,250}})[.。]?",
    re.IGNORECASE,
)
"""What the program itself says under somebody's name, on Android without a mark."""
_CHOICE = re.compile(
    rf"[{MARKS}]*([^\W\d_]{{2,20}})\s?[:：].*"
    rf"[(（][{MARKS}]*\d+ ?[^()\d\n]{{1,20}}[)）]\s*"
)
_HEADING = re.compile(rf"[{MARKS}]*[^\W\d_]{{2,20}}\s?[:：]\s*")
_QUOTES = (("“", "”"), ("„", "“"), ("«", "»"), ("「", "」"), ("『", "』"))
_HEAD_LINES = 40


def _letters(word: str) -> str:
    """A word without dots, blanks and invisible marks, which phones set differently."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", word).casefold()))


_HALVES = {
    **dict.fromkeys(map(_letters, _WORDS["morning"]), "morning"),
    **dict.fromkeys(map(_letters, _WORDS["afternoon"]), "afternoon"),
    _NOON: _NOON,
}


@dataclass(frozen=True, slots=True)
class Stamp:
    """What stands before a message."""

    numbers: Digits
    hour: int
    minute: int
    is_american: bool
    end: int  # characters of the line up to where the message begins


def stamp_of(line: str) -> Stamp | None:
    """The date and time with which a line begins; None if it does not."""
    match = _LINE.match(line[:_LONGEST])
    if match is None:
        return None
    first, second, third, before, hour, minute, _, after = match.groups()[1:]
    halves = [word for word in (before, after or "") if _letters(word) in _HALVES]
    half, at = _HALVES[_letters(halves[0])] if halves else "", int(hour)
    if half == _NOON:
        at += 12 * (at < 11)
    elif half and at <= 12:
        at = at % 12 + 12 * (half == "afternoon")
    is_american = any(map(_AMERICAN.search, halves))
    numbers = int(first), int(second), int(third)
    return Stamp(numbers, at, int(minute), is_american, match.end())


def order_of(numbers: Sequence[Digits], *, is_american: bool = False) -> str:
    """The order of the numbers in the dates of a chat: the one in which most dates
    exist, then the one in which most of them grow, then the one that the phone's
    language is likely to have."""
    if any(first > 31 for first, *_ in numbers):
        return "ymd"

    def reading(order: str) -> tuple[tuple[int, int], int]:
        """((dates that there never were, dates before the one above), days in all)."""
        found = [day_of(one, order) for one in numbers]
        days = [day for day in found if day is not None]
        back = sum(later < day for day, later in pairwise(days))
        span = abs((days[-1] - days[0]).days) if days else 0
        return (len(found) - len(days), back), span

    readings = {order: reading(order) for order in ("dmy", "mdy", "ymd")}
    usual = ("mdy", "dmy") if is_american else ("dmy", "mdy")
    best = min(usual, key=lambda order: readings[order][0])
    (faults, days), (years, years_days) = readings[best], readings["ymd"]
    # 23.2.13 and 23.2.14 are two days of one month, not of two years
    is_month = years == faults and 4 * years_days < days
    return "ymd" if years < faults or is_month else best


def day_of(numbers: Digits, order: str) -> date | None:
    """The day that a date means; None if there is no such day since WhatsApp began."""
    year, month, day = (numbers[order.index(part)] for part in "ymd")
    if 1300 <= year < 1430:
        # The Solar Hijri calendar, by its cycle of 33 years with 8 leap years.
        if not (1 <= month <= 12 and 1 <= day <= (31 if month <= 6 else 30)):
            return None
        years = year - 979  # which begins on 21 March 1600
        leaps = years // 33 * 8 + (years % 33 + 3) // 4
        months = 31 * (month - 1) if month <= 7 else 186 + 30 * (month - 7)
        days = 79 + 365 * years + leaps + months + day - 1
        found = date(1600, 1, 1) + timedelta(days=days)
        return found if found.year >= _FIRST_YEAR else None
    if year < 100:
        year += 2000 if year <= _LAST_YEAR - 2000 else 2500
    if year > 2400:
        year -= _BUDDHIST
    possible = _FIRST_YEAR <= year <= _LAST_YEAR and 1 <= month <= 12
    if not possible or not 1 <= day <= calendar.monthrange(year, month)[1]:
        return None
    return date(year, month, day)


@dataclass(slots=True)
class Message:
    """One message, or a notice, which has no name; at first only its first line."""

    stamp: Stamp
    name: str
    lines: list[str]
    position: int = 0  # bytes of the file up to its end

    @property
    def text(self) -> str:
        """Its lines, without blanks below them."""
        return "\n".join(self.lines).rstrip()

    def written_at(self) -> tuple[int, ...]:
        """Says when it was written, whatever the order of the date: the numbers of the
        date by size, hour and minute."""
        numbers = sorted(n % 100 if n > 31 else n for n in self.stamp.numbers)
        return (*numbers, self.stamp.hour, self.stamp.minute)

    def sent_at(self, order: str) -> int | None:
        """Seconds since 1970 if the numbers of its date stand in this order; None if
        there was no such moment."""
        day = day_of(self.stamp.numbers, order)
        hour, minute = self.stamp.hour, self.stamp.minute
        if day is None or hour >= 24 or minute >= 60:
            return None
        return calendar.timegm((day.year, day.month, day.day, hour, minute, 0))


@dataclass(slots=True)
class Chat:
    """The writers and the order of dates of a chat."""

    writers: Counter[str] = field(default_factory=Counter)
    names: set[str] = field(default_factory=set)
    """Everybody in it, with those whose pictures and notices are all there is, and in
    a group of iOS the group itself."""
    order: str = "dmy"

    @classmethod
    def of(cls, file: Source) -> "Chat":
        """Who writes in a chat, and which number of its dates is the day."""
        chat, numbers, is_american = cls(), list[Digits](), False
        for _, line in _lines(file):
            found = _parsed(line)
            if found is None:
                continue
            is_american = is_american or found.stamp.is_american
            if numbers[-1:] != [found.stamp.numbers]:
                numbers.append(found.stamp.numbers)
            chat.names |= {found.name} - {""}
            if found.name and not found.text.startswith(_MARK):
                chat.writers[found.name] += 1
        chat.order = order_of(numbers, is_american=is_american)
        return chat


def is_chat(head: bytes) -> bool:
    """Whether a file begins like an exported chat."""
    lines = head.decode("utf-8", "replace").splitlines()[:_HEAD_LINES]
    return any(found and found.name for found in map(_parsed, lines))


def messages(file: Source) -> Iterator[Message]:
    """All messages and notices, several lines joined."""
    message: Message | None = None
    for end, line in _lines(file):
        found = _parsed(line)
        if found is not None:
            if message is not None:
                yield message
            message = found
        elif message is not None:
            message.lines.append(line)
        if message is not None:
            message.position = end
    if message is not None:
        yield message


def own_words(written: str) -> str:
    """A message without what the program put there for pictures, polls, calls, edits
    and the like; of a poll its question is left."""
    attached = _BRACKETS.sub("", _FILE.sub("", written))
    is_caption = attached != written
    written = _PAGES.sub("", attached) if is_caption else written
    if _NOTICE.fullmatch(re.sub(f"[{MARKS}]", "", written).strip()):
        return ""
    lines = _without_choices(written.split("\n"))
    # Lines with the mark are the program's, the others were written below them. What
    # is left beside a file, an edit and the like is somebody's even with the mark.
    said = "\n".join(line for line in lines if is_caption or not line.startswith(_MARK))
    return tidy(re.sub(f"[{MARKS}]", "", said)).strip()


def _without_choices(lines: list[str]) -> list[str]:
    """A poll without its heading and its choices, which have votes in brackets."""
    end = len(lines)
    while end and not lines[end - 1].strip(f"{MARKS} "):
        end -= 1
    start, words = end, set[str]()
    while start and (choice := _CHOICE.fullmatch(lines[start - 1])):
        words.add(choice[1])
        start -= 1
    if end - start < 2 or len(words) > 1:
        return lines
    return lines[bool(_HEADING.fullmatch(lines[0])) : start]


def _lines(file: Source) -> Iterator[tuple[int, str]]:
    """(bytes up to its end, text) of each line."""
    position = 0
    with file.open() as stream:
        for line in stream:
            position += len(line)
            text = storable(line.decode("utf-8", "replace"))
            yield position, text.rstrip("\r\n")


def _parsed(line: str) -> Message | None:
    stamp = stamp_of(line)
    if stamp is None:
        return None
    rest = line[stamp.end :]
    named = _NAMED.match(rest)
    if named is None or _cuts_a_quote(named[1]):
        return Message(stamp, "", [rest])
    return Message(stamp, plain_name(named[1]), [named[2]])


def _cuts_a_quote(name: str) -> bool:
    """Whether a colon stands between quotation marks: a notice about a group's name."""
    name = re.sub("„[^“]*“", "", name)  # whose end is what begins another pair
    return name.count('"') % 2 == 1 or any(
        opens in name and closes not in name.partition(opens)[2]
        for opens, closes in _QUOTES
    )


_TITLE = re.compile(
    r".*whatsapp\W*(?:chat)?\W*(?:(?:with|mit|con|avec|com|met|med|z|s|с)\b)?\W*(.*)",
    re.IGNORECASE,
)


def _read_file(file: Source) -> Iterator[Item]:
    chat = Chat.of(file)
    title = _title(file)
    for message in messages(file):
        if not message.name:
            yield Skipped(message.position, "notices")
            continue
        others = chat.names - {message.name}
        partner = others.pop() if len(chat.names) == 2 and len(others) == 1 else ""
        said, sender = own_words(message.text), identity("whatsapp", message.name)
        found = written(
            digest("whatsapp", sender, message.written_at(), said),
            *("message", said, message.sent_at(chat.order)),
            fewest=FEWEST_WORDS,
            recipient=partner or title,
            sender=sender,
        )
        yield placed(found, message.position)


def _title(file: Source) -> str:
    """What the chat is called, by its file, folder or archive."""
    for name in (file.name, *reversed(file.folders[-1:]), file.path.name):
        match = _TITLE.fullmatch(re.sub(r"\.(?:txt|zip)$", "", name, flags=re.I))
        if match and match.group(1).strip():
            return plain_name(match.group(1))
    return ""


whatsapp = TalkService(
    Shape("exported WhatsApp chat", r".*\.txt", is_chat),
    _read_file,
    name="whatsapp",
    writers=lambda file: Chat.of(file).writers.elements(),
)
