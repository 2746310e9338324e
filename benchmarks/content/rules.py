"""Rules that find a fact in a text: words, and values such as dates."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from operator import eq
from pathlib import Path
from typing import Any

from decoding_core.errors import DecodingError

_WORD = re.compile(
    r"[£$€]\s?\d+(?:[.,]\d+)*|\d+(?:[.:,/]\d+)*[^\W\d_]*|[^\W_]+(?:['’][^\W_]+)*"
    r"|[.,;:!?&]|\n"
)
_ENDS = frozenset(".;!\n")
"""What ends a sentence. A question goes on with its answer: "The 14th? Yes, gladly"."""
_TABLE = tomllib.loads(Path(__file__).with_name("english.toml").read_text("utf-8"))
_SHORT: dict[str, str] = _TABLE["short"]
_ENDINGS: dict[str, str] = _TABLE["endings"]
_MERIDIEM = re.compile(r"\b([ap])\.\s?m\b\.?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Word:
    """A word or mark of a text."""

    text: str  # in small letters
    sentence: int
    capital: bool  # whether it begins with a capital letter
    begins: bool  # whether it is the first of its sentence
    span: tuple[int, int]  # where it stands in the text


def words_of(text: str) -> list[Word]:
    """The words and marks of a text, in order; hyphens and quotes are left out."""
    text = _MERIDIEM.sub(lambda m: f"{m[1]}m".ljust(len(m[0])), text)
    words: list[Word] = []
    sentence, begins = 0, True
    for match in _WORD.finditer(text):
        raw = match.group()
        if raw in _ENDS or raw == "?":
            if raw != "\n":
                words.append(Word(raw, sentence, False, False, match.span()))
            if not begins:
                sentence, begins = sentence + (raw != "?"), True
            continue
        capital = raw[0].isupper()
        words += [
            Word(part, sentence, capital, begins, match.span())
            for part in _written_out(raw.lower().replace("’", "'")).split()
        ]
        begins = begins and not raw[0].isalnum()
    return words


def _written_out(word: str) -> str:
    if word in _SHORT:
        return _SHORT[word]
    for ending, full in _ENDINGS.items():
        if word.endswith(ending) and len(word) > len(ending):
            return f"{word.removesuffix(ending)} {full}"
    return word.removesuffix("'s")


Found = tuple[Any, int]  # a value, and how many words it takes


def _words(name: str) -> list[str]:
    words: str = _TABLE[name]
    return words.split()


_UNITS = {name: number for number, name in enumerate(_words("small"))}
_TENS = {name: 10 * number for number, name in enumerate(_words("tens"), 2)}
_TIMES: dict[str, float] = _TABLE["times"]
_DIGITS = re.compile(r"\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?")
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")
_ORDINALS: dict[str, int] = _TABLE["ordinals"] | {
    f"{name}th": n for name, n in _UNITS.items() if n in (4, 6, 7, 10, 11) or n > 12
}
_MONTHS, _DAYS = _words("months"), _words("days")
_SHORT_DAYS: dict[str, int] = _TABLE["short_days"]
_CLOCK = re.compile(r"(\d{1,2})(?:[.:](\d{2}))?(am|pm)?")
_AT, _FIRMLY_AT = _words("before_times"), _words("before_sure_times")
_NO_DATE, _BEFORE_DATE = _words("behind_ordinals"), _words("before_dates")
_BEHIND_MONEY = ["", *".,;:?!", *_words("behind_money")]
_COINS: dict[str, float] = _TABLE["coins"]
_NOTES = _words("notes")


def number_at(words: Sequence[Word], place: int) -> Found | None:
    """A number: digits, or words such as "twenty four", "a dozen", "half a dozen"."""
    word = words[place].text
    if _DIGITS.fullmatch(word):
        return float(word.replace(",", "")), 1
    if word == "half" and _texts(words, place, 3)[1:] == ["a", "dozen"]:
        return 6.0, 3
    if word in _TIMES:
        return float(_TIMES[word]), 1
    if word in _TENS:
        more = _UNITS.get(_text(words, place + 1), 0)
        both = 0 < more < 10
        return float(_TENS[word] + (more if both else 0)), 2 if both else 1
    if word in _UNITS:
        value, length = float(_UNITS[word]), 1
        if _text(words, place + 1) == "hundred":
            value, length = 100 * value, 2
            if _text(words, place + 2) == "and" and place + 3 < len(words):
                rest = number_at(words, place + 3)
                if rest is not None:
                    return value + rest[0], 3 + rest[1]
        if _texts(words, place + length, 3) == ["and", "a", "half"]:
            return value + 0.5, length + 3
        return value, length
    if word in ("a", "an") and _text(words, place + 1) == "hundred":
        return 100.0, 2
    return None


def date_at(words: Sequence[Word], place: int) -> Found | None:
    """A day of the month, with its month if that is said: (day, month or 0)."""
    word = words[place].text
    if match := re.fullmatch(r"(\d{1,2})/(\d{1,2})(?:/\d+)?", word):
        return (int(match[1]), int(match[2])), 1
    if _month(words, place):
        more = _day(words, place + 1 + (_text(words, place + 1) == "the"))
        if more is not None and 1 <= more[0] <= 31:
            length = 1 + (_text(words, place + 1) == "the") + more[1]
            return (more[0], _month(words, place)), length
        return None
    day = _day(words, place)
    if day is None or not 1 <= day[0] <= 31:
        return None
    after = place + day[1]
    of = _text(words, after) == "of"
    month = _month(words, after + of)
    if month:
        return (day[0], month), day[1] + of + 1
    ordinal = word in _ORDINALS or _ORDINAL.fullmatch(word) or day[1] == 2
    before = words[place - 1].text if place else ""
    if not ordinal or _text(words, after) in _NO_DATE:
        return None
    if not _ORDINAL.fullmatch(word) and before != "the":
        return None
    if word in ("first", "second", "third") and day[1] == 1:
        follows = _text(words, after)
        if before != "the" or follows.isalpha():
            return None
    if before and before[-1].isalpha() and before not in _BEFORE_DATE:
        previous = words[place - 1]
        if previous.sentence == words[place].sentence and not day_at(words, place - 1):
            return None
    return (day[0], 0), day[1]


def _day(words: Sequence[Word], place: int) -> Found | None:
    """A number up to 31 or an ordinal."""
    word = _text(words, place)
    if match := _ORDINAL.fullmatch(word):
        return int(match[1]), 1
    if word in _ORDINALS:
        return _ORDINALS[word], 1
    if word in ("twenty", "thirty") and _text(words, place + 1) in _ORDINALS:
        return _TENS[word] + _ORDINALS[_text(words, place + 1)], 2
    if word.isdigit() and len(word) <= 2:
        return int(word), 1
    return None


def _month(words: Sequence[Word], place: int) -> int:
    """The month at a place; 0 if there is none."""
    word = _text(words, place)
    if len(word) < 3:
        return 0
    found = [n for n, name in enumerate(_MONTHS, 1) if name == word]
    found += [n for n, name in enumerate(_MONTHS, 1) if word in (name[:3], name[:4])]
    if not found or (word in ("may", "march", "mar") and not words[place].capital):
        return 0
    return found[0]


def month_at(words: Sequence[Word], place: int) -> Found | None:
    """A month."""
    month = _month(words, place)
    return (month, 1) if month else None


def day_at(words: Sequence[Word], place: int) -> Found | None:
    """A day of the week, from 0 for Monday."""
    word = words[place].text
    for number, name in enumerate(_DAYS):
        if word in (name, f"{name}s"):
            return number, 1
    if word in _SHORT_DAYS and (words[place].capital or word[-1] == "s"):
        return _SHORT_DAYS[word], 1
    return None


def time_at(words: Sequence[Word], place: int) -> Found | None:
    """A time of day: (minutes from midnight or noon, "am", "pm" or "")."""
    word = words[place].text
    if word in ("noon", "midday"):
        return (0, "pm"), 1
    if word == "midnight":
        return (0, "am"), 1
    spoken = _past_or_to(words, place)
    if spoken is not None:
        return spoken
    match = _CLOCK.fullmatch(word)
    if match and (match[2] or match[3]):
        minutes = 60 * int(match[1]) + int(match[2] or 0)
        if int(match[1]) > 24 or int(match[2] or 0) > 59:
            return None
        if match[3] or int(match[1]) > 12:
            return (minutes % 720, match[3] or "pm"), 1
        return _with_meridiem(words, place, 1, minutes)
    hour = _hour(words, place)
    if hour is None:
        return None
    if _text(words, place + 1) == "oclock":
        return _with_meridiem(words, place, 2, 60 * hour)
    found = _with_meridiem(words, place, 1, 60 * hour)
    return found if found[0][1] or _before(words, place) in _FIRMLY_AT else None


def _past_or_to(words: Sequence[Word], place: int) -> Found | None:
    """Such as "half past six", "half six", "a quarter to two", "ten minutes to five".
    After "from" and "between" two numbers are a span."""
    word = words[place].text
    if word in ("half", "quarter"):
        minutes, length = 30 if word == "half" else 15, 1
    elif word in ("five", "ten", "twenty", "5", "10", "20", "25"):
        found = number_at(words, place)
        assert found is not None
        minutes, length = int(found[0]), found[1]
        length += _text(words, place + length) == "minutes"
    else:
        return None
    link = _text(words, place + length)
    linked = link in ("past", "to", "after")
    hour = _hour(words, place + length + linked)
    if hour is None or (not linked and word != "half"):
        return None
    if link == "to" and _before(words, place) in ("from", "between"):
        return None
    total = 60 * hour + (-minutes if link == "to" else minutes)
    return _with_meridiem(words, place, length + linked + 1, total)


def _hour(words: Sequence[Word], place: int) -> int | None:
    word = _text(words, place)
    if word.isdigit() and 1 <= int(word) <= 12:
        return int(word)
    hour = _UNITS.get(word, 0)
    return hour if 1 <= hour <= 12 else None


def _with_meridiem(
    words: Sequence[Word], place: int, length: int, minutes: int
) -> Found:
    """The time, with what says which half of the day is meant."""
    after = _texts(words, place + length, 3)
    if after[0] in ("am", "pm"):
        return (minutes % 720, after[0]), length + 1
    if after[:2] == ["in", "the"] and after[2] in ("morning", "evening", "afternoon"):
        return (minutes % 720, "am" if after[2] == "morning" else "pm"), length + 3
    if after[:2] == ["at", "night"]:
        return (minutes % 720, "pm"), length + 2
    return (minutes % 720, ""), length


def money_at(words: Sequence[Word], place: int) -> Found | None:
    """A sum of money, in pounds, euros or dollars."""
    word = words[place].text
    if word[0] in "£$€":
        return float(re.sub(r"[^\d.]", "", word).rstrip(".")), 1
    if match := re.fullmatch(r"(\d+)p", word):
        return int(match[1]) / 100, 1
    found = number_at(words, place)
    if found is None:
        return None
    amount, length = found
    unit = _text(words, place + length)
    if unit in _COINS:
        return amount * _COINS[unit], length + 1
    if unit not in _NOTES:
        return None
    length += 1
    if place + length < len(words):
        more = number_at(words, place + length)
        if more is not None and 0 < more[0] < 100:
            return amount + more[0] / 100, length + more[1]
    return amount, length


def _text(words: Sequence[Word], place: int) -> str:
    return words[place].text if 0 <= place < len(words) else ""


def _before(words: Sequence[Word], place: int) -> str:
    return _text(words, place - 1)


def _texts(words: Sequence[Word], place: int, count: int) -> list[str]:
    return [_text(words, place + i) for i in range(count)]


def _same_date(one: Any, other: Any) -> bool:
    return bool(one[0] == other[0] and (one[1] == other[1] or not one[1] * other[1]))


def _same_time(one: Any, other: Any) -> bool:
    halves = {one[1], other[1]} - {""}
    return bool(one[0] == other[0] and len(halves) < 2)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of value."""

    read: Callable[[Sequence[Word], int], Found | None]
    same: Callable[[Any, Any], bool]
    loosely: Callable[[Sequence[Word], int], Found | None] | None = None
    """Forms that stand for a value which is looked for, and for none otherwise."""


def _loose_date(words: Sequence[Word], place: int) -> Found | None:
    match = _ORDINAL.fullmatch(words[place].text)
    return ((int(match[1]), 0), 1) if match else None


def _loose_month(words: Sequence[Word], place: int) -> Found | None:
    word = words[place].text
    return (_MONTHS.index(word) + 1, 1) if word in _MONTHS else None


def _loose_time(words: Sequence[Word], place: int) -> Found | None:
    hour = _hour(words, place)
    before = _before(words, place)
    follows_day = before == "," or bool(place and day_at(words, place - 1))
    if hour is None or not (before in _AT or follows_day):
        return None
    return (60 * hour % 720, ""), 1


def _loose_money(words: Sequence[Word], place: int) -> Found | None:
    found = number_at(words, place)
    if found is None or _text(words, place + found[1]) not in _BEHIND_MONEY:
        return None
    return found


def _loose_number(words: Sequence[Word], place: int) -> Found | None:
    return (1.0, 1) if words[place].text in ("a", "an", "single") else None


KINDS: dict[str, Kind] = {
    "date": Kind(date_at, _same_date, _loose_date),
    "day": Kind(day_at, eq),
    "month": Kind(month_at, eq, _loose_month),
    "time": Kind(time_at, _same_time, _loose_time),
    "number": Kind(number_at, eq, _loose_number),
    "money": Kind(money_at, eq, _loose_money),
}
"""What can stand in braces, with a value behind its name."""


def values(kind: str, words: Sequence[Word]) -> Iterator[tuple[int, int, Any]]:
    """Every value of a kind in a text: its place, its length and itself. A value within
    a longer one is left out."""
    end = 0
    for place in range(len(words)):
        if place < end:
            continue
        found = KINDS[kind].read(words, place)
        if found is not None:
            yield place, found[1], found[0]
            end = place + found[1]


def value_of(kind: str, text: str) -> Any:
    """The value that a text is, such as "14 November"; None if it is not one."""
    context = {"date": "the ", "time": "at "}.get(kind, "")
    words = words_of(f"{context}{text}")
    place = 1 if context else 0
    if kind == "date" and len(words) == 2 and words[1].text.isdigit():
        return int(words[1].text), 0
    for read in (KINDS[kind].read, KINDS[kind].loosely):
        found = read(words, place) if read is not None and place < len(words) else None
        if found is not None and place + found[1] == len(words):
            return found[0]
    return None


_PLAIN = ("word", "gap")
_PIECE = re.compile(r"\{[^{}]*\}|\S+")


class RuleError(DecodingError):
    """A rule is invalid; the message is shown."""


@dataclass(frozen=True, slots=True)
class Element:
    """One part of a rule."""

    kind: str  # `word`, `gap`, `name`, `answer`, or one of `KINDS`
    value: Any = None  # of a word: what it may be, as patterns
    other: bool = False
    """Whether any other value of the kind is meant; of a name, one nearly like it."""


Part = tuple[Element, ...]  # elements that follow each other


@dataclass(frozen=True, slots=True)
class Rule:
    """Parts that must all be found."""

    line: str
    groups: tuple[tuple[Part, ...], ...]
    """The parts of a group stand in one sentence, the groups anywhere."""

    @property
    def values(self) -> list[Element]:
        """Its values, names and answers."""
        return [
            element
            for group in self.groups
            for part in group
            for element in part
            if element.kind not in _PLAIN
        ]

    def with_instead(self, element: Element, wanted: Element) -> Rule:
        """The rule with another element; a group without the element says nothing of
        where the other one stands, and is left out."""
        return Rule(
            self.line,
            tuple(
                tuple(
                    tuple(wanted if one == element else one for one in part)
                    for part in group
                )
                for group in self.groups
                if any(element in part for part in group)
            ),
        )

    @property
    def alone(self) -> bool:
        """Whether it is one value and nothing else."""
        (group, *more) = self.groups
        return not more and len(group) == 1 and len(group[0]) == 1


@cache
def rule_of(line: str) -> Rule:
    """The rule that a line says. Raises RuleError if it says nothing that is known."""
    groups: list[list[list[Element]]] = [[[]]]
    for piece in _PIECE.findall(line):
        if piece == "&":
            groups.append([[]])
        elif piece == "+":
            groups[-1].append([])
        else:
            groups[-1][-1].append(_element(piece, line))
    rule = Rule(line, tuple(tuple(tuple(part) for part in group) for group in groups))
    for group in rule.groups:
        for part in group:
            gaps = [element.kind == "gap" for element in part]
            if not part or gaps[0] or gaps[-1] or (True, True) in pairwise(gaps):
                raise RuleError(
                    f"the rule '{line}' has an empty part, or a '..' that does not "
                    "stand between words"
                )
    return rule


def _element(piece: str, line: str) -> Element:
    if piece == "..":
        return Element("gap")
    if not piece.startswith("{"):
        if "'" in piece or "’" in piece or not piece.strip("|*"):
            raise RuleError(
                f"'{piece}' in the rule '{line}' is no word: contractions are written "
                "out, such as 'can not'"
            )
        return Element("word", tuple(piece.lower().split("|")))
    kind, _, value = piece[1:-1].strip().partition(" ")
    if kind in ("yes", "no") and not value:
        return Element("answer", kind)
    if kind == "name" and value:
        return Element("name", tuple(word.text for word in words_of(value)))
    if kind in KINDS:
        read = value_of(kind, value)
        if read is not None:
            return Element(kind, read)
    raise RuleError(
        f"{piece} in the rule '{line}' is unknown: there are {{yes}}, {{no}}, {{name "
        f"...}} and {', '.join(f'{{{name} ...}}' for name in KINDS)}"
    )
