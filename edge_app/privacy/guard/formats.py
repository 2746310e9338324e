"""Spans that their form gives away: addresses, numbers, ids, dates, amounts.

Each recogniser is a regular expression over a stretch of text, and a check of what it
found. A number is taken as a whole, however its digits are set apart; libraries say
what it is: python-stdnum knows cards and bank accounts by their check digits,
phonenumbers which numbers a telephone of a country may have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from stdnum import iban, luhn

from edge_app.privacy.guard.words import common_words, fold

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
    reason: str
    """Why, in a few words."""


_MONTH = (
    r"(?:jan(?:uar[yi]?|vier)?|feb(?:ruar[yi]?)?|f[ée]v(?:rier)?|m[aä]r(?:ch|z|s|zo)?"
    r"|a[pv]r(?:il)?|ma[yi](?:o)?|ju[nl](?:e|i|y|io|let)?|jui(?:n|llet)"
    r"|aug(?:ust)?|ao[uû]t|agosto|sep(?:t(?:ember|iembre|embre)?)?"
    r"|o[ck]t(?:ober|ubre|obre)?|nov(?:ember|iembre|embre)?|d[eé][cz](?:ember|embre)?"
    r"|enero|febrero|abril|diciembre)"
)
_SEPARATOR = r"[ \t\u00a0\u202f]{0,2}"
_DAY = r"\d{1,2}(?:st|nd|rd|th|\.)?"
_DATE = re.compile(
    rf"\b(?:(?:18|19|20)\d\d[-/.]\d{{1,2}}[-/.]\d{{1,2}}"
    rf"|\d{{1,2}}{_SEPARATOR}[-/.]{_SEPARATOR}\d{{1,2}}"
    rf"(?:{_SEPARATOR}[-/.]{_SEPARATOR}(?:\d{{4}}|\d\d))"
    rf"|{_DAY}[ -](?:of |de )?{_MONTH}\b\.?(?:,?[ -](?:de )?(?:18|19|20)\d\d)?"
    rf"|\b{_MONTH}\.?[ -]{_DAY}(?!\d)(?:,?[ -](?:18|19|20)\d\d)?)",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?<!\d)((?:18|19|20)\d\d)(?!\d)")
_SHORT_YEAR = re.compile(r"[-/.]\s*(\d\d)$")
_BORN = re.compile(
    r"\b(?:born|birth ?day|birth ?date|birth|b ?day|dob|d\.o\.b|geboren|geburtstag|"
    r"geburtsdatum|n[ée]e? le|naissance|nacid[oa]|nacimiento|cumplea[nñ]os|"
    r"nat[oa] il)\b",
    re.IGNORECASE,
)
_OLD_YEAR = 2012
"""A whole date up to this year is taken for a day of birth."""

_NUMBER = re.compile(
    r"(?<![\w.,])[+(]?\d(?:[ \t\u00a0\u202f().\-/\u2010-\u2013]{0,3}\d)*(?![\d])"
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
_IBAN = re.compile(
    r"\b[A-Za-z]{2}\d{2}(?:[ \-.]?[A-Za-z0-9]{4}){2,7}(?:[ \-.]?[A-Za-z0-9]{1,3})?\b"
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
_DIGIT_WORD = (
    r"(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|double|triple|"
    r"null|eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun)"
)
_SPELLED = re.compile(
    rf"\b{_DIGIT_WORD}(?:[ ,\-]{{1,3}}{_DIGIT_WORD}){{3,}}\b", re.IGNORECASE
)
_MONEY = re.compile(
    r"(?:[$€£¥₹]|\b(?:USD|EUR|GBP|CHF|Rs)\b\.?) ?\d(?:[\d.,'’ ]{0,20}\d)?k?"
    r"|\b\d(?:[\d.,'’ ]{0,20}\d)?k? ?"
    r"(?:[€$£¥]|(?:euros?|dollars?|pounds?|eur|usd|gbp|chf|"
    r"francs?|franken|kroner|kronor|zł|yen|rupees)\b)"
    r"|\b\d{1,3}(?:[.,'’ ]\d{3})+(?:[.,]\d\d)?\b|\b\d{3,}(?:[.,]\d\d)?\b",
    re.IGNORECASE,
)
_ACCOUNT = re.compile(
    r"\b(?:account|balance|salary|savings?|loan|mortgage|debts?|pension|overdraft|"
    r"wages?|income|iban|bank|konto|gehalt|kredit|miete|compte|salaire|cuenta|sueldo|"
    r"conto|stipendio|rent|deposit|alimony|inheritance)\b",
    re.IGNORECASE,
)
_NEAR = 45
"""Characters between an amount and the word that makes it one of an account."""


def digits_of(text: str) -> str:
    """The digits of a text."""
    return "".join(char for char in text if char.isdigit())


def spans_of(text: str, region: str = "", *, eager: bool = False) -> list[Span]:
    """The spans of a text that their form gives away, by their start; they may overlap.

    With `eager`, whatever could be one: for texts that are known to be private, where
    more is found by taking too much. `region` is the country (ISO 3166) whose national
    telephone numbers are known.
    """
    found: list[Span] = []
    # Most text holds neither a digit nor a sign of these.
    numeric = any(char.isdigit() for char in text)
    recognisers: list[Callable[[str, str, bool], Iterator[Span]]] = [_titled, _spelled]
    if "@" in text or " at " in text or "(at" in text or "[at" in text:
        recognisers.append(_emails)
    if "." in text or "://" in text:
        recognisers.append(_links)
    if numeric:
        recognisers += [_dates, _ibans, _numbers, _mixed, _addresses, _amounts]
    for recognise in recognisers:
        found += recognise(text, region, eager)
    return sorted(found, key=lambda span: (span.start, -span.end))


def _titled(text: str, region: str, eager: bool) -> Iterator[Span]:
    del region, eager
    for found in _TITLED.finditer(text):
        yield Span(*found.span(), "person", "a name behind a title")


def _spelled(text: str, region: str, eager: bool) -> Iterator[Span]:
    del region, eager
    for found in _SPELLED.finditer(text):
        yield Span(*found.span(), "number", "digits in words")


def _emails(text: str, region: str, eager: bool) -> Iterator[Span]:
    del region, eager
    for found in _EMAIL.finditer(text):
        yield Span(*found.span(), "email", "an email address")
    for found in _HANDLE.finditer(text):
        yield Span(*found.span(), "id", "a handle")


def _links(text: str, region: str, eager: bool) -> Iterator[Span]:
    del region, eager
    for found in _LINK.finditer(text):
        end = found.start() + len(found[0].rstrip(".,;:!?)'\""))
        yield Span(found.start(), end, "link", "a link")


def _dates(text: str, region: str, eager: bool) -> Iterator[Span]:
    del region
    for found in _DATE.finditer(text):
        year = _YEAR.search(found[0])
        short = _SHORT_YEAR.search(found[0])
        around = text[max(0, found.start() - _NEAR) : found.end() + _NEAR // 2]
        if _BORN.search(around):
            yield Span(*found.span(), "date", "a date of birth")
        elif (year and int(year[1]) <= _OLD_YEAR) or (
            short and not year and int(short[1]) > _OLD_YEAR % 100 + 15
        ):
            yield Span(*found.span(), "date", "may be a date of birth")
        elif eager and (year or short):
            yield Span(*found.span(), "date", "a date")


def _ibans(text: str, region: str, eager: bool) -> Iterator[Span]:
    del region
    for found in _IBAN.finditer(text):
        shown = found[0]
        while shown:
            if iban.is_valid(shown):
                end = found.start() + len(shown)
                yield Span(found.start(), end, "bank account", "a valid IBAN")
                break
            shown = shown[:-1].rstrip(" -.")
        else:
            compact = [char for char in found[0] if char.isalnum()]
            if eager or sum(char.isdigit() for char in compact) >= 10:
                yield Span(*found.span(), "bank account", "has the form of an IBAN")


def _numbers(text: str, region: str, eager: bool) -> Iterator[Span]:
    for found in _NUMBER.finditer(text):
        shown, digits = found[0], digits_of(found[0])
        count = len(digits)
        behind = text[found.end() : found.end() + 1]
        if behind.isalpha() or count < 3 or _DATE.fullmatch(shown.strip("( ")):
            continue
        coded = _CODE_WORDS.search(text[max(0, found.start() - 60) : found.start()])
        grouped = _GROUPED.match(shown) or _DECIMAL.match(shown)
        years = all(_YEAR.fullmatch(part) for part in re.split(r"\D+", shown) if part)
        if coded and years and not _SECRET_WORDS.search(coded[0]):
            coded = None
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


def _mixed(text: str, region: str, eager: bool) -> Iterator[Span]:
    del region
    for found in _MIXED.finditer(text):
        shown = found[0]
        figures = sum(char.isdigit() for char in shown)
        letters = sum(char.isalpha() for char in shown)
        if not figures or not letters or _MEASURE.match(shown):
            continue
        parts = re.findall(r"[A-Za-z]+", shown)
        plain = (
            all(len(part) > 2 and fold(part) in common_words() for part in parts)
            and figures <= 4
        )
        coded = _CODE_WORDS.search(text[max(0, found.start() - 60) : found.start()])
        if (
            (eager and figures + letters >= 4)
            or coded
            or (not plain and figures >= 2 and figures + letters >= 6)
        ):
            yield Span(*found.span(), "id", "letters mixed with digits")


def _addresses(text: str, region: str, eager: bool) -> Iterator[Span]:
    del region, eager
    for pattern in _ADDRESSES:
        for found in pattern.finditer(text):
            yield Span(*found.span(), "address", "a street address")


def _amounts(text: str, region: str, eager: bool) -> Iterator[Span]:
    del region
    for found in _MONEY.finditer(text):
        around = text[max(0, found.start() - _NEAR) : found.end() + _NEAR]
        if not _YEAR.fullmatch(found[0]) and _ACCOUNT.search(around):
            yield Span(*found.span(), "amount", "an amount beside a word of accounts")
        elif eager and len(digits_of(found[0])) >= 4 and not found[0].isdigit():
            yield Span(*found.span(), "amount", "an amount")


_OPEN = tuple(
    re.compile(pattern)
    for pattern in (
        # A number that may go on, and one that a street may follow.
        rf"(?<![\w.,])[+(]?\d[\d \t().\-/]*\Z|\b\d{{1,5}}[a-zA-Z]{{0,2}},?"
        rf"(?:[ ]{_NAME}\.?){{0,4}}[ ]*\S*\Z",
        r"\b\d{1,4},?[ ](?i:rue|avenue|boulevard|place|chemin|quai|cours)"
        r"(?:[ ][\w'’\-]+){0,4}[ ]*\Z",
        # A street that a number may follow.
        r"(?<![\w\-])[\w\-]+(?:stra(?:ß|ss)e|str\.|gasse|allee|straat|laan|gracht|plein|weg|platz)"
        r"[ ]*\d*\Z",
        rf"\b(?:Calle|Avenida|Plaza|Paseo|Via|Viale|Piazza|Corso|Rua|Am|Zum|Zur|Im)"
        rf"(?:[ ](?:de|del|della|la|{_NAME})){{0,5}},?[ ]*\d*\Z",
        # A date that may be one of birth, and an amount that may be an account's.
        rf"(?i)\b{_DAY}[ -](?:of |de )?{_MONTH}\b[., -]*\d{{0,4}}[^.!?\n]{{0,22}}\Z",
        rf"(?i)\b{_MONTH}\.?[ -]{_DAY}[, -]*\d{{0,4}}[^.!?\n]{{0,22}}\Z",
        r"(?:[$€£¥]|\b(?:EUR|USD|GBP|CHF)\b) ?\d[\d.,']*k?[^.!?\n]{0,45}\Z",
        r"\d[\d.,']*k? ?(?:[€$£]|euros?|dollars?|pounds?|EUR|GBP)[^.!?\n]{0,45}\Z",
        # Groups of a bank account or a postcode.
        r"\b[A-Za-z]{2}\d{2}(?:[ \-.]?[A-Za-z0-9]{4}){0,7}"
        r"[ \-.]?[A-Za-z0-9]{0,4}[ ]?\Z",
        r"\b[A-Z]{1,2}\d[A-Z\d]?[ ]?\d?[A-Z]{0,2}\Z",
        # A title, and a name of which only the first part stands there.
        r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Herr|Frau|Mme|Monsieur|Madame|Señora?|"
        rf"Sra?|Signora?|Sir|Lady|Pastor)\.?(?:[ ]{_NAME}\.?)?[ ]*\Z",
        rf"(?i)\b{_DIGIT_WORD}(?:[ ,\-]{{1,3}}{_DIGIT_WORD})*[ ,\-]*\Z",
    )
)


def open_start(text: str) -> int:
    """Where the stretch at the end of a text begins that more text may make a span."""
    found = (pattern.search(text) for pattern in _OPEN)
    return min((one.start() for one in found if one is not None), default=len(text))
