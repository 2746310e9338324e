"""Spans that their form gives away: addresses, numbers, ids, dates, amounts.

Each recogniser is a regular expression over a stretch of text, and a check of what it
found. A number is taken as a whole, however its digits are set apart; libraries say
what it is: python-stdnum knows cards and bank accounts by their check digits,
phonenumbers which numbers a telephone of a country may have.
"""

# ruff: noqa: E501 (patterns of words)
from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from stdnum import iban, luhn

from edge_app.privacy.guard.words import BIRTH, MONEY, NEAR, common_words, fold

Kind = Literal[
    "person",
    "address",
    "email",
    "phone",
    "card",
    "bank account",
    "id",
    "number",
    "link",
    "date",
    "amount",
    "word",
    "phrase",
]
"""What a span is, in the words that the person reads."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text that must not leave undecided."""

    start: int
    end: int
    kind: Kind
    reason: str  # why, in a few words


class _Level(dict[int, str]):
    """Signs as the recognisers know them: ASCII digits, letters, blanks and hyphens."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        category, form = unicodedata.category(char), unicodedata.normalize("NFKC", char)
        if char.isdecimal():
            self[code] = str(unicodedata.decimal(char))
        elif category in ("Zs", "Cf"):
            self[code] = " "
        elif category == "Pd" or char == "\u2212":
            self[code] = "-"
        else:  # of full width; what has no case ends a number, as it is no word of it
            self[code] = form if form.isascii() and len(form) == 1 else char
        return self[code]


class _Numeric(_Level):
    """The same, but letters without case are no word: numbers may touch them."""

    def __missing__(self, code: int) -> str:
        caseless = (
            unicodedata.category(chr(code)) in ("Lo", "Mn", "Mc") and code > 0x36F
        )
        if caseless:
            self[code] = "\u00b7"
            return self[code]
        return super().__missing__(code)


_LEVEL, _NUMERIC = _Level(), _Numeric()

_MONTH = (
    r"(?:jan(?:uar[yi]?|vier|eiro)?|feb(?:ruar[yi]?|braio)?|f[ée]v(?:rier|ereiro)?"
    r"|m[aä]r(?:ch|z|s|zo|[çc]o)?|a[pvb]r(?:il(?:e|is)?)?|ma[yi](?:o)?|ju[nl](?:e|i|y|io|ho|let)?"
    r"|jui(?:n|llet)|aug(?:ust(?:us)?)?|ao[uû]t|agosto|s[ei]p(?:t(?:ember|iembre|embre)?)?"
    r"|o[ck]t(?:ober|ubre|obre)?|nov(?:ember|iembre|embre)?|d[eé][cz](?:ember|embre)?"
    r"|enero|febrero|diciembre|gennaio|maggio|giugno|luglio|settembre|ottobre|dicembre"
    r"|setembro|outubro|novembro|dezembro|maart|mei|stycznia|lutego|marca|kwietnia|maja"
    r"|czerwca|lipca|sierpnia|wrze[śs]nia|pa[źz]dziernika|listopada|grudnia)"
)
_MONTH_IN_WORDS = rf"(?:(?-i:May|March)|(?!may\b|march\b){_MONTH})"
_NUMBER_WORD = (
    r"(?:\w*(?:(?:hundert|zehn|tausend|honderd|duizend|cento|mila)\w*|teen|ty|hundred|thousand|z?wanzig"
    r"|(?<=\w)[sß]ig|tig|ant[ao]|cientos|centos|dziesi[ąa]t\w*|na[śs]cie|sto|set)|one|two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve|oh|and|ein|eins|zwei|drei|vier|f[üu]nf|sechs|sieben|acht|neun|und|mille|mil|cents?|deux|trois|quatre"
    r"|cinq|sept|huit|neuf|dix|onze|douze|treize|quatorze|quinze|seize|vingts?|trente|quarante|cinquante|soixante|et"
    r"|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|\w+enta|treinta|veint\w+|dieci\w+|y|due|tre|sei|sette|otto|nove"
    r"|dois|tr[êe]s|oito|vinte|trinta|e|dwa|trzy|cztery|pi[ęe][ćc]|sze[śs][ćc]|siedem|osiem|dziewi[ęe][ćc]|tysi[ąa]c\w*"
    r"|\w+(?:tego|szego|ego|stego)|roku)\b"
)
_NUMBER_WORDS = rf"{_NUMBER_WORD}(?:[ \-]{_NUMBER_WORD}){{0,6}}"
_DAY_WORD = (
    rf"(?:{_NUMBER_WORD}|\w*(?:first|second|third|\w\wth)|\w+t(?:en?|er)|\w+(?:ste|de)|premier"
    r"|prim[eo]i?ro|primo)"
)
_DAY_OF_BIRTH = re.compile(
    rf"(?:\b{_DAY_WORD}[ \-](?:(?:of|de|di) )?){{0,3}}\b{_MONTH_IN_WORDS}\b"
    rf"(?:,? (?:(?:of|in|de|del|di|do|van) )?{_NUMBER_WORDS})?"
    r"|(?<!\w)['’]\d\d(?!\d)|\b(?:18|19|20)\d\d\b"
    rf"|\b(?:nineteen|eighteen|two thousand|neunzehn|zweitausend|mil|mille|due?mila|negentien|tysi[ąa]c)"
    rf"\w*(?:[ \-]{_NUMBER_WORD}){{0,6}}",
    re.IGNORECASE,
)
_SEPARATOR = r"[ \t]{0,2}"
_DAY = r"\d{1,2}(?:st|nd|rd|th|\.)?"
_DATE = re.compile(
    # What has no case is a point here, as the signs of year, month and day are.
    rf"\b(?:(?:18|19|20)\d\d[-/.·] ?\d{{1,2}}[-/.·] ?\d{{1,2}}"
    rf"|\d{{1,2}}{_SEPARATOR}[-/.]{_SEPARATOR}\d{{1,2}}"
    rf"(?:{_SEPARATOR}[-/.]{_SEPARATOR}(?:\d{{4}}|\d\d))"
    rf"|{_DAY}[ -](?:of |de )?{_MONTH}\b\.?(?:,?[ -](?:de )?(?:18|19|20)\d\d)?"
    rf"|\b{_MONTH}\.?[ -]{_DAY}(?!\d)(?:,?[ -](?:18|19|20)\d\d)?)",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_YEAR = re.compile(r"(?<!\d)((?:18|19|20)\d\d)(?!\d)")
_SHORT_YEAR = re.compile(r"[-/.]\s*(\d\d)$")
_OLD_YEAR = 2012  # A whole date up to this year is taken for a day of birth
_NEAR_BIRTH = 30
_LONGEST = 200  # characters at the end of a text in which an open span is looked for
_SENTENCE_END = re.compile(r"[!?\n]|\.(?!\d)")

_NUMBER = re.compile(
    r"(?<![\w.,])(?:[+]\d(?:[\s().\-/]{0,3}\d){6,14}(?!\d)"
    r"|[+(]?\d(?:[ \t().\-/]{0,3}\d)*(?!\d))"
)
_GROUPED = re.compile(r"\d{1,3}(?:[., ]\d{3})+(?:[.,]\d{1,2})?\Z")
_DECIMAL = re.compile(r"\d+[.,]\d{1,3}\Z")
_CODE_WORDS = re.compile(
    r"\b(?:pin|pass ?code|pass ?word|passwort|pass ?phrase|code|token|key|log ?in|"
    r"user ?name|i\.?d|reference|ref|booking|order|ticket|membership|member|policy|"
    r"passport|licen[cs]e|ssn|social security|insurance|tax|vat|account|acc|konto|"
    r"kundennummer|customer|client|patient|case|invoice|serial|tracking|sort ?code|"
    r"post ?code|zip|plz|card|number|nummer|no|nr|phone|mobile|tel|telephone|call|"
    r"extension|ext|combination|locker|safe|alarm|gate|door|plate|registration)\b"
    r"[^\w\n]{0,4}(?:\w+[^\w\n]{1,3}){0,3}\Z",
    re.IGNORECASE,
)
_SECRET_WORDS = re.compile(r"pin|pass|code|combination|safe|alarm|lock", re.IGNORECASE)
_MIXED = re.compile(r"(?<![\w@/.])[A-Za-z0-9]+(?:[-_/.:#][A-Za-z0-9]+)*(?![\w@])")
_MEASURE = re.compile(
    r"(?:\d+(?:st|nd|rd|th|s|am|pm|h|hrs?|min|mins|sec|ms|km|kg|g|mg|cm|mm|m|mi|ft|in|"
    r"lbs?|oz|px|pt|gb|mb|kb|tb|ghz|mhz|hz|x|k|c|f|l|ml|v|w|kw|kwh|d|er|ish|bit|fps))\Z",
    re.IGNORECASE,
)
_GAP = r"[\s.\-/>_]{0,3}"
_HEAD = rf"(?<![A-Za-z0-9])[A-Za-z]{{2}}{_GAP}\d{{2}}"
_IBAN = re.compile(rf"(?=({_HEAD}(?:{_GAP}[A-Za-z0-9]){{11,30}})(?![A-Za-z0-9]))")
_GROUPS_OF_IBAN = re.compile(
    r"[A-Za-z]{2}\d{2}(?:[\s\-.]?[A-Za-z0-9]{4}){2,7}(?:[\s\-.]?[A-Za-z0-9]{1,3})?\b"
)
_CARD = re.compile(rf"(?<![\w.,])\d{{4}}(?:{_GAP}\d){{9,15}}(?!\d)")
_PARTS_OF_CARD = re.compile(
    r"\d{4}(?:\D+\d{4}){2,3}(?:\D+\d{1,3})?|\d{4}\D+\d{6}\D+\d{4,5}"
)
_EMAIL = re.compile(
    r"(?<![\w.+'\-])[\w.+'\-]*[\w+\-]@[\w\-]+(?:\.[\w\-]+)*"
    r"|(?<![\w.+'\-])[\w.+'\-]*[\w+\-][ ]?@[ ]?[\w\-]+(?:[ ]?\.[ ]?[A-Za-z][\w\-]+)+"
    r"|(?<![\w.\-])[\w.\-]+ ?(?:\(at\)|\[at\]|\{at\}) ?[\w\-]+"
    r"(?: ?(?:\.|\(dot\)|\[dot\]) ?\w+)*"
    r"|(?<![\w.\-])[\w.\-]+ at [\w\-]+(?: dot \w+)+",
    re.IGNORECASE,
)
_LINK = re.compile(
    r"\b(?:[a-z][a-z0-9+.\-]{1,12}://|www\d?\.)[^\s<>\"]+"
    r"|(?<![a-z0-9\-.])(?:[a-z0-9\-]+\.)+(?:com|org|net|edu|gov|io|co|uk|de|fr|es|it|nl|eu|at|ch|pl|"
    r"se|no|dk|fi|pt|ie|be|info|biz|me|app|dev|ai|ly|xyz|online|site|shop|blog|example|"
    r"test)\b(?:/[^\s<>\"]*)?",
    re.IGNORECASE,
)
_HANDLE = re.compile(r"(?<![\w.])@\w{3,}")
_SIGNS_OF_EMAIL = "(at", "[at", "{at", " dot "
_SIGN_OF_LINK = re.compile(r"\.[^\s<>\"]|://")
_STREET = (
    r"(?:street|str?\.?|road|rd\.?|avenue|ave\.?|lane|ln\.?|drive|dr\.?|court|ct\.?|"
    r"close|way|place|pl\.?|square|sq\.?|terrace|boulevard|blvd\.?|crescent|row|"
    r"gardens?|hill|park|grove|mews|quay|walk|parade|green|rise|view|yard|wharf)\b"
)
_NAME = r"[^\W\d_a-zß-öø-ÿ][\w'’\-]*"
_ADDRESSES = (
    re.compile(
        rf"(?:\b(?:flat|apt\.?|apartment|unit|suite)[ ]\w{{1,4}},?[ ])?"
        rf"\b\d{{1,5}}[a-zA-Z]?,?[ ](?:(?:{_NAME}|St\.|[A-Z]\.)[ ]){{1,4}}?"
        rf"(?i:{_STREET})"
        rf"(?:,?[ ](?:[A-Z][\w\-]+,?[ ]){{0,2}}"
        rf"(?:[A-Z]{{1,2}}\d[A-Z\d]?[ ]?\d[A-Z]{{2}}|\d{{5}})\b)?"
    ),
    re.compile(
        r"\b(?:[\w\-]+(?:stra(?:ß|ss)e|str\.|gasse|allee|straat|laan|gracht|plein|dijk|"
        rf"gatan|vägen|gata|vej|veien)|{_NAME}(?:weg|platz|ring|ufer|damm|kade)"
        rf"|(?:Am|An der|Im|Zum|Zur|Auf dem)[ ]{_NAME})[ ]\d{{1,4}}[a-zA-Z]?\b"
        rf"(?:,?[ ](?:[A-Z]{{1,2}}-)?\d{{4,5}}[ ]{_NAME})?"
    ),
    re.compile(
        r"\b\d{1,4}(?:[ ]?(?:bis|ter))?,?[ ](?i:rue|avenue|boulevard|place|chemin"
        r"|all[ée]e|quai|impasse|cours)[ ]"
        r"(?:(?:de|du|des|la|le|les|l['’]|d['’])[ ]?){0,3}"
        rf"{_NAME}(?:[ \-]{_NAME}){{0,3}}"
    ),
    re.compile(
        r"\b(?i:calle|avenida|av\.|plaza|paseo|carrer|via|viale|piazza|corso|rua|"
        r"travessa|largo|ulica|ul\.)[ ]"
        r"(?:(?:de|del|della|dei|delle|da|do|dos|la|las|los)"
        rf"[ ]){{0,2}}{_NAME}(?:[ ]{_NAME}){{0,3}},?[ ](?:n[º°.]?[ ]?)?\d{{1,4}}\b"
    ),
    re.compile(r"\bp\.?[ ]?o\.?[ ]?box[ ]\d+", re.IGNORECASE),
    re.compile(r"\b[A-Z]{1,2}\d[A-Z\d]?[ ]\d[A-Z]{2}\b"),
)
_TITLED = re.compile(
    r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Herr|Frau|Mme|Monsieur|Madame|Señora?|Sra?|"
    rf"Signora?|Sir|Lady|Pastor|Father|Sister)\.?[ ](?:{_NAME}\.?[ ])?{_NAME}"
)
_DIGIT_WORDS = (
    r"zero|oh|one|two|three|four|five|six|seven|eight|nine|double|triple|"
    r"null|eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun"
)
_DIGIT_WORD = f"(?:{_DIGIT_WORDS})"
_SPELLED = re.compile(
    rf"\b{_DIGIT_WORD}(?:[ ,\-]{{1,3}}{_DIGIT_WORD}){{3,}}\b", re.IGNORECASE
)
_UNIT = (
    r"(?:k|m|bn|mio|mln|mrd|mld|tsd|tys|thousand|grand|millions?|billions?|tausend|millionen"
    r"|mille|mil|millones|mill[óo]n|mila|milion[ei]|milh[õo]es|milh[ãa]o|duizend|miljoen|miljard"
    r"|tysi[ąa]c[ey]?|miliona|milion[óo]w|тыс|млн|млрд|тысяч|миллионов)\b"
)
_MONEY = re.compile(
    rf"(?:[$€£¥₹]|\b(?:USD|EUR|GBP|CHF|PLN|Rs)\b\.?) ?\d(?:[\d.,'’ ]{{0,20}}\d)?(?: ?{_UNIT})?"
    rf"|\b\d(?:[\d.,'’ ]{{0,20}}\d)?(?: ?{_UNIT})?\.? ?"
    r"(?:[€$£¥₽]|(?:euros?|dollars?|pounds?|quid|eur|usd|gbp|chf|pln|libras?|d[óo]lares|reais|"
    r"francs?|franken|kroner|kronor|zł(?:otych)?|yen|rupees|руб\w*)\b)"
    rf"|\b\d+(?:[.,]\d+)? ?{_UNIT}"
    r"|\b\d{1,3}(?:[.,'’ ]\d{3})+(?:[.,]\d\d)?\b|\b\d{3,}(?:[.,]\d\d)?\b",
    re.IGNORECASE,
)
_IN_UNITS = re.compile(rf"(\d+)(?:[.,](\d+))? ?({_UNIT})", re.IGNORECASE)
_THOUSANDS = re.compile(
    r"k|thousand|grand|tsd|tys|tausend|mille?|mila|duizend|tysi[ąa]c[ey]?|тыс|тысяч",
    re.IGNORECASE,
)
_BILLIONS = re.compile(r"bn|billions?|mrd|mld|miljard|млрд", re.IGNORECASE)


def digits_of(text: str) -> str:
    """The digits of a text."""
    return "".join(char for char in fold(text) if char.isdigit())


def spans_of(text: str, region: str = "", *, eager: bool = False) -> list[Span]:
    """The spans of a text that their form gives away, by their start; they may overlap.

    With `eager`, whatever could be one: for texts that are known to be private, where
    more is found by taking too much. `region` is the country (ISO 3166) whose national
    telephone numbers are known.
    """
    found: list[Span] = []
    numbers = text
    if not text.isascii():
        numbers, text = text.translate(_NUMERIC), text.translate(_LEVEL)
    # Most text holds neither a digit nor a sign of these.
    numeric = _DIGIT.search(text) is not None
    lower = text.lower()
    found += _plain(text, _TITLED, "person", "a name behind a title")
    if not text.isascii() or sum(map(lower.count, _DIGIT_WORDS.split("|"))) > 3:
        found += _plain(text, _SPELLED, "number", "digits in words")
    found += _births(text)
    at = "@" in text or "(at" in text or "[at" in text
    if at or (" at " in text and any(sign in lower for sign in _SIGNS_OF_EMAIL)):
        found += _plain(text, _EMAIL, "email", "an email address")
        found += _plain(text, _HANDLE, "id", "a handle")
    if _SIGN_OF_LINK.search(text):
        found += _links(text)
    if numeric:
        for pattern in _ADDRESSES:
            found += _plain(text, pattern, "address", "a street address")
        found += _dates(numbers, eager)
        found += _ibans(numbers, eager)
        found += _cards(numbers)
        found += _numbers(numbers, region, eager)
        found += _mixed(numbers, eager)
        found += _amounts(numbers, eager)
    return sorted(found, key=lambda span: (span.start, -span.end))


def _plain(
    text: str, pattern: re.Pattern[str], kind: Kind, reason: str
) -> Iterator[Span]:
    """Whatever a pattern finds."""
    for found in pattern.finditer(text):
        yield Span(*found.span(), kind, reason)


def _links(text: str) -> Iterator[Span]:
    for found in _LINK.finditer(text):
        end = found.start() + len(found[0].rstrip(".,;:!?)'\""))
        yield Span(found.start(), end, "link", "a link")


def _dates(text: str, eager: bool) -> Iterator[Span]:
    for found in _DATE.finditer(text):
        year = _YEAR.search(found[0])
        short = _SHORT_YEAR.search(found[0])
        around = text[max(0, found.start() - NEAR) : found.end() + NEAR // 2]
        if _match(BIRTH, around):
            yield Span(*found.span(), "date", "a date of birth")
        elif (year and int(year[1]) <= _OLD_YEAR) or (
            short and not year and int(short[1]) > _OLD_YEAR % 100 + 15
        ):
            yield Span(*found.span(), "date", "may be a date of birth")
        elif eager and (year or short):
            yield Span(*found.span(), "date", "a date")


def _ibans(text: str, eager: bool) -> Iterator[Span]:
    for found in _IBAN.finditer(text):
        shown = found[1]
        if size := _valid_iban(shown):
            end = found.start() + size
            yield Span(found.start(), end, "bank account", "a valid IBAN")
        elif (groups := _GROUPS_OF_IBAN.match(shown)) and (
            eager or len(digits_of(groups[0])) >= 10
        ):
            end = found.start() + groups.end()
            yield Span(found.start(), end, "bank account", "has the form of an IBAN")


@lru_cache(1000)
def _valid_iban(shown: str) -> int:
    """How many characters from the beginning on are a valid IBAN; 0 if none are."""
    ends = [at + 1 for at, char in enumerate(shown) if char.isalnum()]
    compact = "".join(char for char in shown if char.isalnum())
    # As many letters and digits as the country's have; what follows may be words.
    sizes = (n for n in range(len(ends), 14, -1) if iban.is_valid(compact[:n]))
    size = next(sizes, 0)
    return ends[size - 1] if size else 0


@lru_cache(1000)
def _match(pattern: re.Pattern[str], around: str) -> str:
    """What a pattern matches around a find, asked again and again as a text grows."""
    found = pattern.search(around)
    return found[0] if found else ""


def _cards(text: str) -> Iterator[Span]:
    """Those that are set in groups, with whatever blanks and ends of lines."""
    for found in _CARD.finditer(text):
        if _PARTS_OF_CARD.fullmatch(found[0]) and luhn.is_valid(digits_of(found[0])):
            parts = re.findall(r"\d+", found[0])
            if not all(map(_YEAR.fullmatch, parts)):
                yield Span(*found.span(), "card", "a valid card number")


def _numbers(text: str, region: str, eager: bool) -> Iterator[Span]:
    for found in _NUMBER.finditer(text):
        shown, digits = found[0], digits_of(found[0])
        count = len(digits)
        behind = text[found.end() : found.end() + 1]
        if behind.isalpha() or count < 3 or _DATE.fullmatch(shown.strip("( ")):
            continue
        before = text[max(0, found.start() - 60) : found.start()]
        coded = _match(_CODE_WORDS, before)
        grouped = _GROUPED.match(shown) or _DECIMAL.match(shown)
        years = all(_YEAR.fullmatch(part) for part in re.split(r"\D+", shown) if part)
        if coded and years and not _SECRET_WORDS.search(coded):
            coded = ""
        if re.fullmatch(r"\d+[.,]\d+(?:\s+\d+[.,]\d+)+", shown) and not eager:
            continue  # figures of a table
        if count >= 13 and luhn.is_valid(digits):
            yield Span(*found.span(), "card", "a valid card number")
        elif years and not coded and not eager:
            continue
        elif count >= 7 and not (grouped and " " not in shown and not coded):
            phone = shown[0] in "+(0" or may_be_phone(digits, region)
            reason = "a telephone number" if phone else "a long number"
            yield Span(*found.span(), "phone" if phone else "number", reason)
        elif coded:
            yield Span(*found.span(), "id", "a number behind a word such as 'code'")
        elif eager and count >= 4:
            yield Span(*found.span(), "number", "a number")


@lru_cache(1000)
def may_be_phone(digits: str, region: str) -> bool:
    """Whether these digits are a number that a telephone of the region may have."""
    import phonenumbers  # takes 50 ms to load, which most texts do without

    try:
        number = phonenumbers.parse(digits, region or None)
    except phonenumbers.NumberParseException:
        return False
    return bool(phonenumbers.is_possible_number(number))


def _mixed(text: str, eager: bool) -> Iterator[Span]:
    for found in _MIXED.finditer(text):
        shown = found[0]
        if shown.isalpha() or _MEASURE.match(shown):
            continue
        figures = sum(char.isdigit() for char in shown)
        letters = sum(char.isalpha() for char in shown)
        if not figures or not letters:
            continue
        parts = re.findall(r"[A-Za-z]+", shown)
        plain = (
            all(len(part) > 2 and fold(part) in common_words() for part in parts)
            and figures <= 4
        )
        before = text[max(0, found.start() - 60) : found.start()]
        coded = _match(_CODE_WORDS, before)
        if (
            (eager and figures + letters >= 4)
            or coded
            or (not plain and figures >= 2 and figures + letters >= 6)
        ):
            yield Span(*found.span(), "id", "letters mixed with digits")


def _amounts(text: str, eager: bool) -> Iterator[Span]:
    for found in _MONEY.finditer(text):
        around = text[max(0, found.start() - NEAR) : found.end() + NEAR]
        shown = found[0]
        if not _YEAR.fullmatch(shown) and _match(MONEY, around):
            yield Span(*found.span(), "amount", "an amount beside a word of accounts")
        elif eager and not shown.isdigit() and len("".join(amounts_like(shown))) >= 4:
            yield Span(*found.span(), "amount", "an amount")


def amounts_like(shown: str) -> list[str]:
    """An amount in its forms, words joined: `287k`, `287000`."""
    if units := _IN_UNITS.search(shown):
        whole, rest, unit = units.groups(default="")
        power = (
            3 if _THOUSANDS.fullmatch(unit) else 9 if _BILLIONS.fullmatch(unit) else 6
        )
        if len(rest) > power:
            return []
        digits = (whole + rest.ljust(power, "0")).lstrip("0")
    else:
        digits = digits_of(re.sub(r"[.,]\d\d?\b(?![.,\d])", "", shown))
    forms = [digits]
    for power, names in (
        (3, ("k", "thousand", "grand")),
        (6, ("m", "million", "mio", "mln")),
    ):
        short = f"{digits[:-power]}{digits[-power:].rstrip('0')}"
        if len(digits) > power and len(short) <= len(digits) - 2 and len(short) < 5:
            forms += [short + name for name in names]
    return [form for form in forms if len(form) >= 4]


def _births(text: str) -> Iterator[Span]:
    """Days and years, in words too, behind a word of birth in the same sentence."""
    for born in _born(text):
        behind = _SENTENCE_END.split(text[born.end() : born.end() + 150], maxsplit=1)[0]
        for found in _DAY_OF_BIRTH.finditer(behind):
            if found.start() <= _NEAR_BIRTH:
                begin = born.end() + found.start()
                yield Span(begin, born.end() + found.end(), "date", "a date of birth")


_OF_BIRTH = (
    *("born", "birth", "bday", "b day", "b-day", "dob", "d.o.b"),
    *("into the world", "gebo", "gebu", "geb.", "née", "né ", "né\n"),
    *("ne le", "nee le", "ne en", "nee en", "naiss", "nivers"),
    *("naci", "cumple", "nato il", "nata il", "nato nel", "nata nel"),
    *("nasc", "complean", "verjaar", "jarig", "urodz"),
)
"""One of these stands in each match of `BIRTH`, and is sooner found."""


def _born(text: str, start: int = 0) -> Iterator[re.Match[str]]:
    """Words of birth."""
    lower = text.lower()
    if any(part in lower for part in _OF_BIRTH):
        yield from BIRTH.finditer(text, start)


_OPEN = tuple(
    re.compile(pattern)
    for pattern in (
        # A street that a number may follow.
        r"(?<![\w\-])[\w\-]+(?:stra(?:ß|ss)e|str\.|gasse|allee|straat|laan|gracht|plein|weg|platz)"
        r"[ ]*\d*\Z",
        rf"\b(?:Calle|Avenida|Plaza|Paseo|Via|Viale|Piazza|Corso|Rua|Am|Zum|Zur|Im)"
        rf"(?:[ ](?:de|del|della|la|{_NAME})){{0,5}},?[ ]*\d*\Z",
        # Groups of a bank account.
        rf"(?<![A-Za-z0-9])[A-Z]{{2}}{_GAP}\d?\Z",
        # A title, and a name of which only the first part stands there.
        r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Herr|Frau|Mme|Monsieur|Madame|Señora?|"
        rf"Sra?|Signora?|Sir|Lady|Pastor)\.?(?:[ ]{_NAME}\.?)?[ ]*\Z",
        rf"(?i)\b{_DIGIT_WORD}(?:[ ,\-]{{1,3}}{_DIGIT_WORD})*[ ,\-]*\Z",
    )
)
_OPEN_WITH_DIGIT = tuple(
    re.compile(pattern)
    for pattern in (
        # A number that may go on, and one that a street may follow.
        rf"(?<![\w.,])[+(]?\d[\d\s().\-/>]*\Z|\b\d{{1,5}}[a-zA-Z]{{0,2}},?"
        rf"(?:[ ]{_NAME}\.?){{0,4}}[ ]*\S*\Z",
        r"\b\d{1,4},?[ ](?i:rue|avenue|boulevard|place|chemin|quai|cours)"
        r"(?:[ ][\w'’\-]+){0,4}[ ]*\Z",
        # A date that may be one of birth, and an amount that may be an account's.
        rf"(?i)\b{_DAY}[ -](?:of |de )?{_MONTH}\b[., -]*\d{{0,4}}[^.!?\n]{{0,22}}\Z",
        rf"(?i)\b{_MONTH}\.?[ -]{_DAY}[, -]*\d{{0,4}}[^.!?\n]{{0,22}}\Z",
        rf"(?i)(?:[$€£¥]|\b(?:EUR|USD|GBP|CHF)\b) ?\d[\d.,']*(?: ?{_UNIT}\.?)?[^.!?\n]{{0,45}}\Z",
        rf"(?i)\d[\d.,']* ?(?:{_UNIT}\.?|[€$£]|euros?|dollars?|pounds?|EUR|GBP)[^.!?\n]{{0,45}}\Z",
        # Groups of a bank account or a postcode.
        rf"{_HEAD}(?:(?:{_GAP}[A-Za-z0-9]{{4}}){{0,7}}{_GAP}[A-Za-z0-9]{{0,4}}|(?:{_GAP}\d)*){_GAP}\Z",
        r"\b[A-Z]{1,2}\d[A-Z\d]?[ ]?\d?[A-Z]{0,2}\Z",
    )
)
_OPEN_WITH_AT = re.compile(
    # An address with blanks beside its sign.
    r"(?<![\w.+'\-])[\w.+'\-]*[\w+\-] ?@ ?[\w\-]*(?: ?\. ?[\w\-]+)*(?: ?\. ?)?\Z"
)


def open_start(text: str) -> int:
    """Where the stretch at the end of a text begins that more text may make a span."""
    forms, start = [text], max(0, len(text) - _LONGEST)
    if not text.isascii():
        forms = [text.translate(_LEVEL), text.translate(_NUMERIC)]
    opened = len(text)
    for form in forms:
        patterns = _OPEN
        if _DIGIT.search(form, start):
            patterns += _OPEN_WITH_DIGIT
        if "@" in form:
            patterns += (_OPEN_WITH_AT,)
        found = (pattern.search(form, start) for pattern in patterns)
        opened = min([opened, *(one.start() for one in found if one)])
    for born in _born(text, start):
        behind = text[born.end() :]
        day = _DAY_OF_BIRTH.search(behind)
        open_ = len(behind) <= _NEAR_BIRTH + 8 or (day and len(behind) - day.end() < 12)
        if open_ and not _SENTENCE_END.search(behind):
            opened = min(opened, born.end())
    return opened
