"""Values in a text, in all their forms: numbers, dates, days, months, times, amounts.

Readers know the English forms. Of another language a table says its value words in
English (`languages.toml`), so that each is read as if it were English.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from operator import eq
from pathlib import Path
from typing import Any

_WORD = re.compile(
    r"[£$€]\s?\d+(?:[.,]\d+)*|\d+(?:[.,]\d+)*\s?[£$€]"
    r"|\d+(?:[.:,/]\d+)*[^\W\d_]*|[^\W_]+(?:['’][^\W_]+)*|[.,;:!?&]|\n"
)
_SIGNS = "£$€"
_ENDS = frozenset(".;!\n")
"""What ends a sentence. A question goes on with its answer: "The 14th? Yes, gladly"."""
_HERE = Path(__file__).parent
_TABLE = tomllib.loads((_HERE / "english.toml").read_text("utf-8"))
_OTHERS = tomllib.loads((_HERE / "languages.toml").read_text("utf-8"))
_MERIDIEM = re.compile(r"\b([ap])\.\s?m\b\.?", re.IGNORECASE)


def _words(name: str) -> list[str]:
    words: str = _TABLE[name]
    return words.split()


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """How a language writes values."""

    words: Mapping[str, str]  # what its words say in English
    endings: Mapping[str, str] = field(default_factory=dict)
    comma: bool = False  # whether a comma stands before decimals, a dot in thousands
    capital: bool = False  # whether common nouns begin with a capital letter
    halves: bool = False  # whether "half three" is half past two


ENGLISH = Language(_TABLE["short"], _TABLE["endings"])


@cache
def language(code: str | None) -> Language:
    """The language of a code; English if it has no table."""
    if code is None or code not in _OTHERS:
        return ENGLISH
    table = _OTHERS[code]
    words = dict(table["words"])
    tens = zip(_words("tens"), table["tens"].split(), strict=True)
    units = zip(_words("small")[1:], table.get("units", "").split(), strict=False)
    for (ten, name), (unit, one) in product(tens, list(units)):
        for form in table["compound"].split():
            both = form.format(one=one, ten=name.split("|")[0], cut=name[:-1])
            words[both] = f"{ten} {unit}"
    for name in ("small", "tens", "months", "days"):
        for foreign, english in zip(table[name].split(), _words(name), strict=True):
            words |= {one: english for one in foreign.split("|") if one != "-"}
    return Language(
        words,
        table.get("endings", {}),
        comma=True,
        capital=code == "de",
        halves=code in ("de", "nl"),
    )


@dataclass(frozen=True, slots=True)
class Word:
    """A word or mark of a text."""

    text: str  # in small letters, and in English if it is part of a value
    sentence: int
    capital: bool  # whether it begins with a capital letter
    begins: bool  # whether it is the first of its sentence
    span: tuple[int, int]  # where it stands in the text


def words_of(text: str, spoken: Language = ENGLISH) -> list[Word]:
    """The words and marks of a text, in order; hyphens and quotes are left out."""
    text = _MERIDIEM.sub(lambda m: f"{m[1]}m".ljust(len(m[0])), text)
    if spoken is not ENGLISH:
        for pattern, form in _FOREIGN_FORMS:
            text = pattern.sub(form, text)
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
        said = raw.lower().replace("’", "'")
        # Months of other languages have small letters, and "may" must have a capital.
        capital = raw[0].isupper() or (spoken is not ENGLISH and said in spoken.words)
        words += [
            Word(part, sentence, capital, begins, match.span())
            for part in _written_out(said, spoken).split()
        ]
        begins = begins and not raw[0].isalnum()
    return words if spoken is ENGLISH else list(_as_english(words, spoken))


def _written_out(word: str, spoken: Language) -> str:
    if word in spoken.words:
        return spoken.words[word]
    if word[-1] in _SIGNS:
        word = word[-1] + word[:-1]
    if word[0] in _SIGNS:
        word = "".join(word.split())
    if spoken.comma and _FOREIGN_NUMBER.fullmatch(word.lstrip(_SIGNS)):
        word = word.replace(".", "").replace(",", ".")
    if spoken is not ENGLISH and (day := _FOREIGN_ORDINAL.fullmatch(word)):
        return f"{day[1]}th"
    if spoken is not ENGLISH and (hour := _FOREIGN_HOUR.fullmatch(word)):
        return f"{hour[1]} oclock"
    for ending, full in spoken.endings.items():
        if word.endswith(ending) and len(word) > len(ending):
            rest = word.removesuffix(ending)
            return f"{spoken.words.get(rest, rest)} {full}"
    if spoken is not ENGLISH and "'" in word:
        before, _, behind = word.partition("'")  # "l'8", "dell'11"
        return f"{'the' if before[-1] == 'l' else ''} {_written_out(behind, spoken)}"
    return word.removesuffix("'s")


_FOREIGN_NUMBER = re.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+,\d+")
_FOREIGN_ORDINAL = re.compile(r"(\d{1,2})(?:º|ª|er|ère|e|ème|de|ste)")
_FOREIGN_HOUR = re.compile(r"(\d{1,2})(?:hs?|u)")
_FOREIGN_FORMS = [(re.compile(one), form) for one, form in _OTHERS.pop("rewritten")]


_AT_HOUR = [("at", after) for after in ("", *".,;:?!")]
_OF_THE = frozenset(("of", "the", "da", "di", "la", "por", "s"))


def _as_english(words: Sequence[Word], spoken: Language) -> Iterator[Word]:
    """The words with bare days as ordinals, hours after noon as clocks, half hours
    behind the hour before, and no "of the" before "am"; "Mon" is no Monday."""
    for place, word in enumerate(words):
        if word.text in _OF_THE:
            behind = [w.text for w in words[place : place + 4] if w.text not in _OF_THE]
            if behind[:1] in (["am"], ["pm"]):
                continue
        before, after = _text(words, place - 1), _text(words, place + 1)
        if word.text.isdecimal() and int(word.text) <= 31 and before == "the":
            is_hour = after == "oclock" or _month(words, place + 1)
            yield word if is_hour else replace(word, text=f"{word.text}th")
        elif before == "half" and spoken.halves and (hour := _hour(words, place)):
            yield replace(word, text=str((hour - 2) % 12 + 1))
        elif re.fullmatch("1[3-9]|2[0-4]", word.text) and (before, after) in _AT_HOUR:
            yield replace(word, text=f"{word.text}:00")
        elif word.text in _SHORT_DAYS:
            yield replace(word, text=f"{word.text}.")
        else:
            yield word


Found = tuple[Any, int]  # a value, and how many words it takes

_UNITS = {name: number for number, name in enumerate(_words("small"))}
_TENS = {name: 10 * number for number, name in enumerate(_words("tens"), 2)}
_TIMES: dict[str, float] = _TABLE["times"]
_SCALES: dict[str, int] = _TABLE["scales"]
_DIGITS = re.compile(r"\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?")
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")
_ORDINALS: dict[str, int] = _TABLE["ordinals"] | {
    f"{name}th": n for name, n in _UNITS.items() if n in (4, 6, 7, 10, 11) or n > 12
}
_MONTHS, _DAYS = _words("months"), _words("days")
_SHORT_DAYS: dict[str, int] = _TABLE["short_days"]
_CLOCK = re.compile(r"(\d{1,2})(?:[.:](\d{2}))?(am|pm)?")
_AT, _FIRMLY_AT = _words("before_times"), _words("before_sure_times")
_ASKS = _words("behind_may")
NO_DATE, _BEFORE_DATE = {*_words("behind_ordinals")}, _words("before_dates")
_BEHIND_MONEY = ["", *".,;:?!", *_words("behind_money")]
_COINS: dict[str, float] = _TABLE["coins"]
_NOTES = _words("notes")


def number_at(words: Sequence[Word], place: int) -> Found | None:
    """A number: digits, or words such as "twenty four", "two dozen", "half a dozen"."""
    word, value, length = words[place].text, 0.0, 1
    if _DIGITS.fullmatch(word):
        value = float(word.replace(",", ""))
    elif word == "half" and _texts(words, place, 3)[1:] == ["a", "dozen"]:
        return 6.0, 3
    elif word in _TIMES:
        value = float(_TIMES[word])
        length += _text(words, place + 1) == "of" and _text(words, place + 2) in _SCALES
    elif word in _TENS:
        linked = _text(words, place + 1) == "+"  # "treinta y cinco"
        more = _UNITS.get(_text(words, place + 1 + linked), 0)
        both = 0 < more < 10
        value, length = float(_TENS[word] + more * both), 2 + linked if both else 1
    elif word in _UNITS:
        value = float(_UNITS[word])
    elif word in ("a", "an") and _text(words, place + 1) in _SCALES:
        value = 1.0
    else:
        return None
    while (scale := _SCALES.get(_text(words, place + length))) is not None:
        value, length = value * scale, length + 1
        at = place + length + 1
        if scale > 12 and _text(words, at - 1) == "and" and at < len(words):
            rest = number_at(words, at)
            if rest is not None and rest[0] < scale:
                return value + rest[0], length + 1 + rest[1]
    if word in _UNITS and _texts(words, place + length, 3) == ["and", "a", "half"]:
        return value + 0.5, length + 3
    return value, length


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
    if not ordinal or _text(words, after) in NO_DATE:
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
    if word.isdecimal() and len(word) <= 2:
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
    if word == "may" and _text(words, place + 1) in _ASKS:
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
        (minutes, _), length = _with_meridiem(words, place, 1, 0)
        return (minutes, "pm"), length
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
    if _text(words, place + 1) == "oclock":
        hour = int(word) if word.isdecimal() else hour
        if hour is None or hour > 24:
            return None
        past = _text(words, place + 2)
        if len(past) == 2 and past.isdecimal() and int(past) < 60:
            return ((60 * hour + int(past)) % 720, "pm" if hour > 12 else ""), 3
        (minutes, half), length = _with_meridiem(words, place, 2, 60 * hour)
        return (minutes, "pm" if hour > 12 else half), length
    if hour is None:
        return None
    found = _with_meridiem(words, place, 1, 60 * hour)
    return found if found[0][1] or _before(words, place) in _FIRMLY_AT else None


def _past_or_to(words: Sequence[Word], place: int) -> Found | None:
    """Such as "half past six", "half six", "a quarter to two", "ten minutes to five".
    After "from" and "between" two numbers are a span."""
    word = words[place].text
    if word in ("half", "quarter"):
        minutes, length = 30 if word == "half" else 15, 1
    elif found := number_at(words, place):
        minutes, length = int(found[0]), found[1]
        said = _text(words, place + length) == "minutes"
        length += said
        if minutes > 59 or (minutes not in (5, 10, 20, 25) and not said):
            return None
    else:
        return None
    link = _text(words, place + length)
    linked = link in ("past", "to", "after")
    at = place + length + linked
    if linked and _text(words, at) == "half" and (inner := _past_or_to(words, at)):
        (half_past, half), more = inner  # "fünf vor halb acht"
        total = half_past + (-minutes if link == "to" else minutes)
        return (total % 720, half), length + linked + more
    hour = _hour(words, at)
    if hour is None or (not linked and word != "half"):
        return None
    if link == "to" and _before(words, place) in ("from", "between"):
        return None
    total = 60 * hour + (-minutes if link == "to" else minutes)
    return _with_meridiem(words, place, length + linked + 1, total)


def _hour(words: Sequence[Word], place: int) -> int | None:
    word = _text(words, place)
    if word.isdecimal() and 1 <= int(word) <= 12:
        return int(word)
    hour = _UNITS.get(word, 0)
    return hour if 1 <= hour <= 12 else None


def _with_meridiem(
    words: Sequence[Word], place: int, length: int, minutes: int
) -> Found:
    """The time, with what other languages put behind the hour ("y media") and what says
    which half of the day is meant."""
    sign = _text(words, place + length)
    if sign in ("+", "minus"):
        at = place + length + 1
        at += _text(words, at) in ("the", "a")
        found = number_at(words, at) if at < len(words) else None
        part = {"half": 30, "quarter": 15}.get(
            _text(words, at), found[0] if found else 60
        )
        if part < 60:
            minutes += int(part) if sign == "+" else -int(part)
            length = at + 1 - place
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
    if word[0] in _SIGNS:
        amount = word[1:].replace(",", "")
        return (float(amount), 1) if _DIGITS.fullmatch(amount) else None
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
    loosely: Callable[[Sequence[Word], int], Found | None]
    """Forms that stand for a value which is looked for, and for none otherwise."""


def _loose_date(words: Sequence[Word], place: int) -> Found | None:
    match = _ORDINAL.fullmatch(words[place].text)
    return ((int(match[1]), 0), 1) if match else None


def loose_month(words: Sequence[Word], place: int) -> Found | None:
    """A month in any case, "may" and "march" too."""
    word = words[place].text
    return (_MONTHS.index(word) + 1, 1) if word in _MONTHS else None


def _loose_day(words: Sequence[Word], place: int) -> Found | None:
    word = words[place].text
    return (_SHORT_DAYS[word], 1) if word in _SHORT_DAYS else None


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
    "day": Kind(day_at, eq, _loose_day),
    "month": Kind(month_at, eq, loose_month),
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
