"""The lines of an exported WhatsApp chat, in any language and order of the date.

iOS writes `[31.12.23, 18:05:09] Ana: text`, Android `12/31/23, 6:05 PM - Ana: text`.
Lines without date go on with the message before. A line with date and without name is
a notice of the program. What iOS itself says in place of a picture begins with a mark
that nobody types (U+200E); Android writes it in angle brackets or with the name of the
file. Shapes as read by public parsers and found in public samples.
"""

import calendar
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from personal_store.charset import storable
from personal_store.cleaning import tidy
from personal_store.sources import Source
from personal_store.talks import plain_name

_MARK = "\u200e"
_MARKS = "\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"
_DATE = r"(\d{1,4})(?:[./-]|年|\. ?)\s?(\d{1,2})(?:[./-]|月|\. ?)\s?(\d{1,4})(?:日|\.)?"
_HALF = r"[ap]\.?\s?m\.?|上午|下午|午前|午後|오전|오후"
_TIME = rf"(?:({_HALF})\s?)?(\d{{1,2}})[:.](\d{{2}})(?:[:.]\d{{2}})?(?:\s?({_HALF}))?"
_STAMP = rf"{_DATE},?\s(?:(?:klo|um|at|kl\.|a las|à)\s)?{_TIME}"
_LINE = re.compile(
    rf"[{_MARKS}]*(?:\[{_STAMP}\]\s?|{_STAMP}\s[-–]\s)(.*)", re.IGNORECASE | re.DOTALL
)
_NAMED = re.compile(r"([^:\n]{1,80}):(?:\s|$)(.*)", re.DOTALL)
_AFTERNOON = ("p", "下午", "午後", "오후")
_FILE = re.compile(rf"\A[{_MARKS}]*[^\n]{{1,120}}\.\w{{2,5}} \([^()\n]+\)\s*$", re.M)
_BRACKETS = re.compile(rf"\A<[^<>\n]+>|[{_MARKS}]+<[^<>\n]+>|\s<[^<>\n]{{8,60}}>\Z")
_GONE = re.compile(
    r"(?:(?:this message was|you) deleted(?: this message)?|null"
    r"|diese nachricht wurde gelöscht|du hast diese nachricht gelöscht"
    r"|(?:eliminaste este mensaje|se eliminó este mensaje)"
    r"|(?:vous avez supprimé ce message|ce message a été supprimé)"
    r"|(?:hai eliminato questo messaggio|questo messaggio è stato eliminato)"
    r"|(?:você apagou esta mensagem|mensagem apagada)"
    r"|(?:je hebt dit bericht verwijderd|dit bericht is verwijderd))\.?",
    re.IGNORECASE,
)
_HEAD_LINES = 40
_SAMPLE = 20_000
"""Messages from which the order of the date is judged."""

Digits = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Message:
    """One message, or a notice, which has no name."""

    position: int
    """Bytes of the file up to its end."""
    name: str
    text: str
    stamp: tuple[int, ...]
    """Says when it was written, whatever the order of the date: the numbers of the
    date by size, hour and minute."""
    sent_at: int | None


@dataclass(slots=True)
class Chat:
    """What a first look at a chat tells."""

    writers: Counter[str] = field(default_factory=Counter)
    names: set[str] = field(default_factory=set)
    """Everybody in it, with those whose pictures and notices are all there is, and in
    a group of iOS the group itself."""
    order: str = "dmy"

    @classmethod
    def of(cls, file: Source) -> "Chat":
        """Who writes in a chat, and which number of its dates is the day."""
        chat, dates, halves = cls(), list[Digits](), False
        for _, line in _lines(file):
            found = _parsed(line)
            if found is None:
                continue
            halves = halves or found.halves
            if len(dates) < _SAMPLE:
                dates.append(found.date)
            chat.names |= {found.name} - {""}
            if found.name and not found.text.startswith(_MARK):
                chat.writers[found.name] += 1
        chat.order = _order(dates, "mdy" if halves else "dmy")
        return chat


def is_chat(head: bytes) -> bool:
    """Whether a file begins like an exported chat."""
    lines = head.decode("utf-8", "replace").splitlines()[:_HEAD_LINES]
    return any(found and found.name for found in map(_parsed, lines))


def messages(file: Source, order: str) -> Iterator[Message]:
    """All messages and notices, several lines joined."""
    begun: _Begun | None = None
    said: list[str] = []
    position = 0
    for end, line in _lines(file):
        found = _parsed(line)
        if found is not None:
            if begun is not None:
                yield begun.message(said, position, order)
            begun, said = found, [found.text]
        else:
            said.append(line)
        position = end
    if begun is not None:
        yield begun.message(said, position, order)


def own_words(written: str) -> str:
    """A message without what the program put there for pictures, edits and the like."""
    if _GONE.fullmatch(written.strip(f"{_MARK} \n")):
        return ""
    written = _BRACKETS.sub("", _FILE.sub("", written))
    if written.startswith(_MARK):
        # The first line is the program's, what follows is what was written below.
        written = written.partition("\n")[2]
    return tidy(re.sub(f"[{_MARKS}]", "", written)).strip()


@dataclass(frozen=True, slots=True)
class _Begun:
    """The first line of a message."""

    date: Digits
    hour: int
    minute: int
    halves: bool
    name: str
    text: str

    def message(self, said: list[str], position: int, order: str) -> Message:
        text = "\n".join(said).rstrip()
        year, month, day = _sorted(self.date, order)
        stamp = (*sorted((year % 100, month, day)), self.hour, self.minute)
        moment = _seconds(year, month, day, self.hour, self.minute)
        return Message(position, self.name, text, stamp, moment)


def _lines(file: Source) -> Iterator[tuple[int, str]]:
    """(bytes up to its end, text) of each line."""
    position = 0
    with file.open() as stream:
        for line in stream:
            position += len(line)
            text = storable(line.decode("utf-8", "replace"))
            yield position, text.rstrip("\r\n")


def _parsed(line: str) -> _Begun | None:
    match = _LINE.match(line[:400])
    if match is None:
        return None
    groups = match.groups()
    stamp = groups[:7] if groups[0] else groups[7:14]
    first, second, third, before, hours, minutes, after = stamp
    half = (before or after or "").lower()
    hour = int(hours) % 12 if half else int(hours)
    if half.startswith(_AFTERNOON):
        hour += 12
    rest = line[match.start(15) :]
    named = _NAMED.match(rest)
    name, text = named.groups() if named else ("", rest)
    date = (int(first), int(second), int(third))
    return _Begun(date, hour, int(minutes), bool(half), plain_name(name), text)


def _order(dates: list[Digits], usual: str) -> str:
    """Which number is the day: the one that can be, else what keeps the order."""
    if any(first > 31 for first, _, _ in dates):
        return "ymd"
    if any(second > 12 for _, second, _ in dates):
        return "mdy"
    if any(first > 12 for first, _, _ in dates):
        return "dmy"
    steps = {order: _steps_back(dates, order) for order in ("dmy", "mdy")}
    if steps["dmy"] != steps["mdy"]:
        return min(steps, key=steps.__getitem__)
    return usual


def _steps_back(dates: list[Digits], order: str) -> int:
    days = [_sorted(date, order) for date in dates]
    return sum(before > after for before, after in pairwise(days))


def _sorted(date: Digits, order: str) -> Digits:
    """(year, month, day)"""
    first, second, third = date
    year, month, day = {
        "ymd": (first, second, third),
        "mdy": (third, first, second),
        "dmy": (third, second, first),
    }[order]
    return (year + 2000 if year < 100 else year, month, day)


def _seconds(year: int, month: int, day: int, hour: int, minute: int) -> int | None:
    possible = (
        1970 <= year <= 2100 and 1 <= month <= 12 and hour < 24 and minute < 60
    ) and 1 <= day <= calendar.monthrange(year, month)[1]
    return calendar.timegm((year, month, day, hour, minute, 0)) if possible else None
