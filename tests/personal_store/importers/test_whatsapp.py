"""WhatsApp chats as phones of many languages export them, and whose words are in them.

The chats are made here: what a message says and when, written with the digits, the
calendar and the words of a language. What comes out must be what went in.
"""

import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from personal_store.files import of_file
from personal_store.importers import whatsapp
from personal_store.text.dates import parse_date

CASES = tomllib.loads(Path(__file__).with_name("whatsapp.toml").read_text("utf-8"))
LOCALES = CASES["locales"]
NEW_YEARS = (1387, 1391, 1395, 1399, 1403, 1408)
"""Leap years of this time, as the tables of the Solar Hijri calendar have them."""
NOTICES = (
    "Messages and calls are end-to-end encrypted. Tap to learn more.",
    "Ana changed the subject from “Boats: old” to “Boats: new”",
    'Ана промени темата от "Лодки: стари" на "Лодки"',
    "Ο/Η Ana πρόσθεσε τον χρήστη Ben",
    "Ana님이 그룹을 만들었습니다",
    "أنشأ Ana المجموعة «القوارب: الجديدة»",
)


def persian(day):
    """(year, month, day) of the Solar Hijri calendar, counted from a known New Year."""
    year, start = 1387, datetime(2008, 3, 20)
    while day >= start + timedelta(days=(length := 365 + (year in NEW_YEARS))):
        year, start = year + 1, start + timedelta(days=length)
    passed, month = (day - start).days, 0
    while passed >= (length := 31 if month < 6 else 30):
        passed, month = passed - length, month + 1
    return year, month + 1, passed + 1


def stamp(moment, template, halves=(), digits=""):
    year, month, day = persian(moment.replace(hour=0, minute=0, second=0))
    known = {"y": moment.year, "yy": moment.year % 100, "m": moment.month}
    known |= {"d": moment.day, "py": year, "pm": month, "pd": day}
    known |= {"be": moment.year + 543, "bb": (moment.year + 543) % 100}
    known |= {"H": moment.hour, "h": moment.hour % 12 or 12, "M": f"{moment.minute:02}"}
    known |= {"S": f"{moment.second:02}"}
    known["half"] = halves[moment.hour >= 12] if halves else ""
    written = template.format_map(known)
    return written.translate(str.maketrans("0123456789", digits)) if digits else written


def chat(locale, count=60, seed=1):
    """(text, what each message says), of a chat over two years; notices between."""
    rng = Random(f"{seed}{locale}")
    moment = datetime(2022, 3, 2, 0, 5)
    lines, expected = [], []
    for number in range(count):
        days = rng.choice([0, 0, 3, 17, 25])
        moment += timedelta(days=days, minutes=rng.randrange(1440))
        if number < 3:  # midnight, noon, and the first hour after it
            moment = moment.replace(hour=(0, 12, 13)[number])
        before = stamp(moment, *LOCALES[locale])
        if number % 9 == 4:
            lines.append(f"{before}{rng.choice(NOTICES)}")
            continue
        name = rng.choice(["Ana", "Ben Quill", "Ελένη", "أحمد", "+49 170 1234567"])
        said = f"message {number} says this: much\nand 3.4 more - not less: below"
        lines.append(f"{before}{name}: {said}")
        minute = moment.replace(second=0, tzinfo=UTC)
        expected.append((name, said, minute.timestamp()))
    return "\n".join(lines) + "\n", expected


@pytest.fixture
def read(tmp_path):
    """(name, text, time, when it was written) of all that is in a chat."""
    path = tmp_path / "_chat.txt"

    def read(text):
        path.write_text(text, encoding="utf-8")
        order = whatsapp.Chat.of(of_file(path)).order
        return [
            (one.name, one.text, one.sent_at(order), one.written_at())
            for one in whatsapp.messages(of_file(path))
        ]

    return read


@pytest.mark.parametrize("locale", LOCALES)
def test_a_chat_of_every_language_is_read(read, locale):
    """Names, texts and times; notices are nobody's messages."""
    text, expected = chat(locale)

    assert whatsapp.is_chat(text.encode()[:4096])
    assert [message[:3] for message in read(text) if message[0]] == expected


def test_marks_around_names_and_dates(read):
    for line in (
        "\u200e[2023-02-13, 12:05:09] Ana: Hello there",
        "13.02.2023, 12:05 – Ana: Hello there",
        "[13.02.23, 12:05:09] ~\u202fAna: Hello there",
    ):
        (message,) = read(line)
        moment = parse_date("2023-02-13 12:05")
        assert message[:3] == ("Ana", "Hello there", moment), line


@pytest.mark.parametrize(
    ("dates", "second"),
    [
        (("01/05/23", "02/04/23"), "2023-02-04"),  # 1 May, 2 April would go back
        (("01/05/23", "02/14/23"), "2023-02-14"),
        (("23. 2. 13.", "23. 2. 14."), "2023-02-14"),  # two days, not two years
        (("01/02/23",) * 3_000 + ("01/13/23",), "2023-01-13"),
    ],
)
def test_the_order_of_unclear_dates_is_found_in_the_whole_chat(read, dates, second):
    """And is no part of the stamp by which a message is known again."""
    lines = [f"{date}, 10:00 - Ana: said" for date in dates]
    (before,) = read(lines[0])

    after, *_, last = read("\n".join(lines))

    assert last[2] == parse_date(f"{second} 10:00")
    assert before[3] == after[3]


@pytest.mark.parametrize(
    ("half", "hour", "read"),
    [("凌晨", 12, 0), ("清晨", 5, 5), ("早上", 6, 6), ("中午", 12, 12), ("中午", 1, 13),
     ("中午", 11, 11), ("傍晚", 6, 18), ("晚上", 8, 20), ("صباحًا", 12, 0),
     ("مساءً", 3, 15), ("قبل‌ازظهر", 9, 9), ("بعدازظهر", 9, 21)],
)  # fmt: skip
def test_other_words_for_parts_of_the_day(half, hour, read):
    stamp = whatsapp.stamp_of(f"2023/2/13 {half}{hour}:05 - 安娜: 你好")

    assert (stamp.hour, stamp.minute) == (read, 5)


@settings(max_examples=30)
@given(st.dates(datetime(2009, 1, 1).date(), datetime(2028, 12, 31).date()))
def test_days_of_other_calendars(day):
    """Written by another rule than they are read."""
    numbers = persian(datetime(day.year, day.month, day.day))

    assert whatsapp.day_of(numbers, "ymd") == day
    assert whatsapp.day_of((day.day, day.month, day.year + 543), "dmy") == day
    assert whatsapp.day_of((day.day, day.month, (day.year + 543) % 100), "dmy") == day


def test_days_that_there_never_were():
    for order, *numbers in (
        ("dmy", 31, 2, 2023), ("dmy", 1, 13, 2023), ("dmy", 1, 1, 1970),
        ("ymd", 1402, 12, 31), ("ymd", 1402, 13, 1), ("ymd", 0, 0, 0),
        ("ymd", 9999, 99, 99), ("ymd", 1300, 1, 1),
    ):  # fmt: skip
        assert whatsapp.day_of(tuple(numbers), order) is None, numbers


@given(st.text(alphabet="0123456789٣۳ ./-:,،[]年월일APMm\u200f\n é", max_size=60))
def test_no_line_stops_the_reader(line):
    stamp = whatsapp.stamp_of(line)

    assert stamp is None or 0 < stamp.end <= len(line)


@pytest.mark.parametrize(
    "line",
    [
        "13.02.2023 a day on which we met at noon - Ana: it rained",
        "2023-02-13 12:05",
        "1/2 cup of flour, 12:30 - Ana: too much",
        "Call me: 13.02.23, 12:05 - or later: fine",
        "13.02.23, 12:05: Ana: neither an old iPhone, as there are no seconds",
        "12:05 - 13.02.23: the other way round",
        "",
        "Dear Ana,\n12:05 is fine: see you.\n",
        "2023-02-13 a diary\n",
    ],
)
def test_other_lines_have_no_stamp(line):
    assert whatsapp.stamp_of(line) is None
    assert not whatsapp.is_chat(line.encode())


@pytest.mark.parametrize("name", ['Ana "Sunny" Field', "Ana „Sunny“ Field", "Ana «S»"])
def test_names_in_quotes_are_names(read, name):
    """A colon between two quotation marks is a notice about the name of a group."""
    found = read(
        f"13.02.23, 12:05 - {name}: Hello there\n"
        f"13.02.23, 12:06 - {name} changed “old: one” to “new”\n"
        f"13.02.23, 12:07 - {name} hat „alt: eins“ geändert\n"
    )

    assert [name for name, *_ in found] == [name, "", ""]


def test_of_a_message_the_own_words_are_left():
    """Of what the program wrote none; words about calls and messages stay."""
    cases = [(notice, "") for notice in CASES["notices"]]
    cases += [(words, words) for words in CASES["words"]]
    for written, own in [*cases, *CASES["parts"]]:
        assert whatsapp.own_words(written) == own, written
