"""Whole WhatsApp chats as phones of many languages export them.

The chats are made here: what a message says and when, written with the digits, the
calendar and the words of a language. What comes out must be what went in.
"""

from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from personal_store.files import of_file
from personal_store.importers.whatsapp import (
    Chat,
    day_of,
    is_chat,
    messages,
    own_words,
    stamp_of,
)

ARABIC, PERSIAN = "٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹"
THAI, HINDI = "๐๑๒๓๔๕๖๗๘๙", "०१२३४५६७८९"


def persian(day):
    """(year, month, day) of the Solar Hijri calendar, counted from a known New Year."""
    year, start = 1387, datetime(2008, 3, 20)
    while True:
        # leap years of this time, as the calendar's tables have them
        length = 366 if year in (1387, 1391, 1395, 1399, 1403, 1408) else 365
        if day < start + timedelta(days=length):
            break
        year, start = year + 1, start + timedelta(days=length)
    passed = (day - start).days
    lengths = [31] * 6 + [30] * 6
    month = 0
    while passed >= lengths[month]:
        passed -= lengths[month]
        month += 1
    return year, month + 1, passed + 1


def fields(moment):
    """Everything a template may ask for."""
    year, month, day = persian(moment.replace(hour=0, minute=0, second=0))
    return {
        "t": moment,
        "y": moment.year,
        "yy": moment.year % 100,
        "be": moment.year + 543,
        "bb": (moment.year + 543) % 100,
        "m": moment.month,
        "d": moment.day,
        "py": year,
        "pm": month,
        "pd": day,
        "H": moment.hour,
        "h": moment.hour % 12 or 12,
        "M": f"{moment.minute:02}",
        "S": f"{moment.second:02}",
    }


AM_PM, SMALL, DOTTED = ("AM", "PM"), ("am", "pm"), ("a.m.", "p.m.")
KOREAN, CHINESE, JAPANESE = ("오전", "오후"), ("上午", "下午"), ("午前", "午後")
ARABIAN, IRANIAN, HEBREW = ("ص", "م"), ("ق.ظ.", "ب.ظ."), ("לפנה״צ", "אחה״צ")
GREEK, BULGARIAN, UKRAINIAN = ("π.μ.", "μ.μ."), ("пр.об.", "сл.об."), ("дп", "пп")
NOON = ("ก่อนเที่ยง", "หลังเที่ยง")

# a template, then what it calls the halves of the day, then its digits
LOCALES = {
    "English, US": ("{m}/{d}/{yy}, {h}:{M}\u202f{half} - ", AM_PM),
    "English, US, iOS": ("[{m}/{d}/{yy}, {h}:{M}:{S}\u202f{half}] ", AM_PM),
    "English, India": ("{d:02}/{m:02}/{yy}, {h}:{M}\u202f{half} - ", SMALL),
    "English, old iOS": ("{d:02}/{m:02}/{y} {H:02}:{M}:{S}: ",),
    "English, US, old iOS": ("{m}/{d}/{yy}, {h}:{M}:{S} {half}: ", AM_PM),
    "English, Canada": ("{y}-{m:02}-{d:02}, {h}:{M} {half} - ", DOTTED),
    "French, Canada": ("{y}-{m:02}-{d:02} {H:02} h {M} - ",),
    "French": ("{d:02}/{m:02}/{y} à {H:02}:{M} - ",),
    "German, old iOS": ("{d:02}.{m:02}.{yy} {H:02}:{M}:{S}: ",),
    "German, iOS": ("[{d:02}.{m:02}.{yy}, {H:02}:{M}:{S}] ",),
    "Spanish": ("{d}/{m}/{yy}, {h}:{M}\xa0{half} - ", ("a.\xa0m.", "p.\xa0m.")),
    "Korean": ("{y}. {m}. {d}. {half} {h}:{M} - ", KOREAN),
    "Korean, long": ("{y}년 {m}월 {d}일 {half} {h}:{M} - ", KOREAN),
    "Korean, short years": ("{yy:02}. {m}. {d}. {half} {h}:{M} - ", KOREAN),
    "Korean, iOS": ("[{y}. {m}. {d}. {half} {h}:{M}:{S}] ", KOREAN),
    "Chinese, iOS": ("[{y}/{m}/{d} {half}{h}:{M}:{S}] ", CHINESE),
    "Chinese": ("{y}年{m}月{d}日 {half}{h}:{M} - ", CHINESE),
    "Japanese": ("{y}/{m:02}/{d:02} {H}:{M} - ",),
    "Japanese, halves": ("{y}年{m}月{d}日 {half}{h}:{M} - ", JAPANESE),
    "Arabic": ("{d}\u200f/{m}\u200f/{y}، {h}:{M} {half} - ", ARABIAN, ARABIC),
    "Arabic, iOS": ("[{d}\u200f/{m}\u200f/{y}, {h}:{M}:{S} {half}] ", ARABIAN, ARABIC),
    "Arabic, Latin digits": ("{d}\u200f/{m}\u200f/{y}, {h}:{M} {half} - ", ARABIAN),
    "Persian": ("{py}/{pm}/{pd}،\u200f {H}:{M} - ", (), PERSIAN),
    "Persian, halves": ("{py}/{pm:02}/{pd:02}, {h}:{M} {half} - ", IRANIAN, PERSIAN),
    "Persian, iOS": ("\u200f[{py}/{pm}/{pd}،\u200f {H}:{M}:{S}] ", (), PERSIAN),
    "Hebrew": ("{d}.{m}.{y}, {H}:{M} - ",),
    "Hebrew, halves": ("\u200e{d}.{m}.{y}, {h}:{M} {half} - ", HEBREW),
    "Greek": ("{d}/{m}/{yy}, {h}:{M} {half} - ", GREEK),
    "Greek, iOS": ("[{d}/{m}/{yy}, {h}:{M}:{S}\u202f{half}] ", GREEK),
    "Bulgarian": ("{d}.{m:02}.{yy} г., {H}:{M} ч. - ",),
    "Bulgarian, iOS": ("[{d}.{m:02}.{yy} г., {H}:{M}:{S} ч.] ",),
    "Bulgarian, halves": ("{d}.{m:02}.{y} г., {h}:{M} {half} - ", BULGARIAN),
    "Ukrainian": ("{d:02}.{m:02}.{yy}, {H:02}:{M} - ",),
    "Ukrainian, halves": ("{d:02}.{m:02}.{y}, {h}:{M} {half} - ", UKRAINIAN),
    "Turkish": ("{d}.{m:02}.{y} {H:02}:{M} - ",),
    "Turkish, halves": ("{d}.{m:02}.{y} {half} {h}:{M} - ", ("ÖÖ", "ÖS")),
    "Thai": ("{d}/{m}/{be} {H:02}:{M} - ",),
    "Thai, short years": ("{d}/{m}/{bb} {H:02}:{M} น. - ",),
    "Thai, iOS": ("[{d}/{m}/{be} {H:02}:{M}:{S}] ",),
    "Thai, own digits": ("{d}/{m}/{be} {h}:{M} {half} - ", NOON, THAI),
    "Hindi": ("{d}/{m}/{yy}, {h}:{M} {half} - ", ("पूर्वाह्न", "अपराह्न"), HINDI),
    "Vietnamese": ("{d:02}/{m:02}/{y} {h}:{M} {half} - ", ("SA", "CH")),
    "Finnish": ("{d}.{m}.{y} klo {H}.{M} - ",),
    "Danish": ("{d:02}.{m:02}.{y} {H:02}.{M} - ",),
    "Swedish": ("{y}-{m:02}-{d:02} {H:02}:{M} - ",),
    "Hungarian": ("{y}. {m:02}. {d:02}. {H}:{M} - ",),
    "Hungarian, halves": ("{y}. {m:02}. {d:02}. {half} {h}:{M} - ", ("de.", "du.")),
    "Czech": ("{d:02}.{m:02}.{yy} {H}:{M} - ",),
    "Czech, halves": ("{d}. {m}. {y} {h}:{M} {half} - ", ("dop.", "odp.")),
    "Finnish, halves": ("{d}.{m}.{y} klo {h}.{M} {half} - ", ("ap.", "ip.")),
    "Malay": ("{d:02}/{m:02}/{yy}, {h}:{M} {half} - ", ("PG", "PTG")),
    "Serbian": ("{d}.{m}.{yy}. {H:02}:{M} - ",),
    "Dutch": ("{d:02}-{m:02}-{y} {H:02}:{M} - ",),
    "Indonesian": ("{d:02}/{m:02}/{yy} {H:02}.{M} - ",),
}

NOTICES = (
    "Messages and calls are end-to-end encrypted. Tap to learn more.",
    "Ana changed the subject from “Boats: old” to “Boats: new”",
    'Ана промени темата от "Лодки: стари" на "Лодки"',
    "Ο/Η Ana πρόσθεσε τον χρήστη Ben",
    "Ana님이 그룹을 만들었습니다",
    "أنشأ Ana المجموعة «القوارب: الجديدة»",
)


def chat(locale, count=60, seed=1):
    """(text, what each message says), of a chat over two years; notices between."""
    template, *rest = LOCALES[locale]
    halves, digits = (*rest, *((), "")[len(rest) :])
    rng = Random(f"{seed}{locale}")
    moment = datetime(2022, 3, 2, 0, 5)
    lines, expected = [], []
    for number in range(count):
        moment += timedelta(
            days=rng.choice([0, 0, 3, 17, 25]), minutes=rng.randrange(1440)
        )
        if number < 3:  # midnight, noon, and the first hour after it
            moment = moment.replace(hour=(0, 12, 13)[number])
        known = fields(moment)
        known["half"] = halves[moment.hour >= 12] if halves else ""
        stamp = template.format_map(known)
        if digits:
            stamp = stamp.translate(str.maketrans("0123456789", digits))
        if number % 9 == 4:
            lines.append(f"{stamp}{rng.choice(NOTICES)}")
            continue
        name = rng.choice(["Ana", "Ben Quill", "Ελένη", "أحمد", "+49 170 1234567"])
        said = f"message number {number} says this: much"
        lines += [f"{stamp}{name}: {said}", "and 3.4 more - not less: below"]
        minute = moment.replace(second=0, tzinfo=UTC)
        expected.append(
            (name, f"{said}\nand 3.4 more - not less: below", minute.timestamp())
        )
    return "\n".join(lines) + "\n", expected


def found(file):
    order = Chat.of(file).order
    return [(m.name, m.text, m.sent_at) for m in messages(file, order) if m.name]


@pytest.mark.parametrize("locale", LOCALES)
def test_a_chat_of_every_language_is_read(tmp_path, locale):
    """Names, texts and times; notices are nobody's messages."""
    text, expected = chat(locale)
    path = tmp_path / "_chat.txt"
    path.write_text(text, encoding="utf-8")

    assert is_chat(text.encode()[:4096])
    assert found(of_file(path)) == expected


def test_the_order_is_found_at_the_end_of_a_long_chat(tmp_path):
    """The first day beyond twelve comes after 30,000 messages."""
    lines = ["01/02/23, 10:00 - Ana: one"] * 30_000 + ["01/13/23, 10:00 - Ana: two"]
    path = tmp_path / "_chat.txt"
    path.write_text("\n".join(lines))

    assert Chat.of(of_file(path)).order == "mdy"


@pytest.mark.parametrize(
    ("half", "hour", "read"),
    [("凌晨", 12, 0), ("清晨", 5, 5), ("早上", 6, 6), ("中午", 12, 12), ("中午", 1, 13),
     ("中午", 11, 11), ("傍晚", 6, 18), ("晚上", 8, 20), ("صباحًا", 12, 0),
     ("مساءً", 3, 15), ("قبل‌ازظهر", 9, 9), ("بعدازظهر", 9, 21)],
)  # fmt: skip
def test_other_words_for_parts_of_the_day(half, hour, read):
    stamp = stamp_of(f"2023/2/13 {half}{hour}:05 - 安娜: 你好")

    assert (stamp.hour, stamp.minute) == (read, 5)


def test_two_days_of_a_month_are_likelier_than_two_years(tmp_path):
    """23. 2. 13. and 23. 2. 14. lie one day apart, where years come first."""
    path = tmp_path / "_chat.txt"
    lines = (f"23. 2. {day}. 오후 3:05 - Ana: Hello there\n" for day in (13, 14))
    path.write_text("".join(lines), encoding="utf-8")

    assert Chat.of(of_file(path)).order == "ymd"


@settings(deadline=None, max_examples=30)
@given(st.dates(datetime(2009, 1, 1).date(), datetime(2028, 12, 31).date()))
def test_days_of_other_calendars(day):
    """Written by another rule than they are read."""
    moment = datetime(day.year, day.month, day.day)
    year, month, number = persian(moment)

    assert day_of((year, month, number), "ymd") == day
    assert day_of((day.day, day.month, day.year + 543), "dmy") == day
    assert day_of((day.day, day.month, (day.year + 543) % 100), "dmy") == day


@pytest.mark.parametrize(
    ("numbers", "order"),
    [((31, 2, 2023), "dmy"), ((1, 13, 2023), "dmy"), ((1402, 12, 31), "ymd"),
     ((1402, 13, 1), "ymd"), ((1, 1, 1970), "dmy"), ((0, 0, 0), "ymd"),
     ((9999, 99, 99), "ymd"), ((1300, 1, 1), "ymd")],
)  # fmt: skip
def test_days_that_there_never_were(numbers, order):
    assert day_of(numbers, order) is None


@settings(deadline=None)
@given(st.text(alphabet="0123456789٣۳ ./-:,،[]年월일APMم\u200f\n é", max_size=60))
def test_no_line_stops_the_reader(line):
    stamp = stamp_of(line)

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
    ],
)
def test_other_lines_have_no_stamp(line):
    assert stamp_of(line) is None


@pytest.mark.parametrize(
    "written",
    ["삭제된 메시지입니다.", "تم حذف هذه الرسالة", "این پیام حذف شد",
     "Αυτό το μήνυμα διαγράφηκε", "Това съобщение беше изтрито",
     "Це повідомлення видалено", "Bu mesaj silindi", "ข้อความนี้ถูกลบแล้ว",
     "<Παραλείφθηκαν πολυμέσα>", "<미디어 파일을 제외한 내용>", "<تم استبعاد الوسائط>",
     "<Без медіафайлів>", "<Medya dahil edilmedi>", "<Мултимедията е пропусната>"],
)  # fmt: skip
def test_what_the_program_wrote_in_other_languages_is_cut(written):
    assert own_words(written) == ""


@pytest.mark.parametrize("name", ['Ana "Sunny" Field', "Ana „Sunny“ Field", "Ana «S»"])
def test_names_in_quotes_are_names(tmp_path, name):
    """A colon between two quotation marks is a notice about the name of a group."""
    path = tmp_path / "_chat.txt"
    path.write_text(
        f"13.02.23, 12:05 - {name}: Hello there\n"
        f"13.02.23, 12:06 - {name} changed “old: one” to “new”\n"
        f"13.02.23, 12:07 - {name} hat „alt: eins“ geändert\n",
        encoding="utf-8",
    )

    assert [name for name, *_ in found(of_file(path))] == [name]
