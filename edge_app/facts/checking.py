"""Which facts of a draft nobody asked for, and which of the request it lacks.

A name, number, date, time, amount, address, yes or no of a draft is looked for in the
request, the thread that is answered and the letters that were read. Nothing is
resolved: "tomorrow" is no date.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import dropwhile, islice, takewhile
from pathlib import Path
from typing import Any

from edge_app.facts.phrases import COMMON, NEGATIONS, Span, WordsOf, forms_of, stem
from edge_app.facts.values import (
    ENGLISH,
    KINDS,
    NO_DATE,
    Language,
    Word,
    language,
    loose_month,
)
from edge_app.privacy.guard.words import (
    common_words,
    fold,
    given_names,
    is_in_dictionary,
    known_names,
)
from personal_store.text.greetings import WORDS

_ORDER = "money", "date", "time", "day", "month", "number"
"""Kinds of values; each is looked for in what those before it have left."""
_ORDINAL = re.compile(r"\b([12]?\d|3[01])(?:st|nd|rd|th)\b")
_IN_NUMBERS = re.compile(
    r"\b(\d+(?:\.\d+)?(?=k\b|ish\b)|(?:3[2-9]|[4-9]\d|\d{3,})(?=st|nd|rd|th))(k?)"
)
"""Such as "8ish", "1.5k", "60th"."""
_TABLE = tomllib.loads(Path(__file__).with_name("answers.toml").read_text("utf-8"))
_ADDRESS, _ASKS, _DENIES_ONESELF, _AFFIRMS, _REQUESTS = (
    re.compile(_TABLE["patterns"][name])
    for name in ("address", "asks", "denies_oneself", "affirms", "requests")
)
_DATE = re.compile(r"\d\d?([/-])\d\d?\1(?:\d\d)?\d\d")
_NAME = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_GOES_ON = re.compile(r"[^\W_]['’]? (?<!\band )\Z|[,&/] ?\Z")
"""What stands before a word that does not begin a sentence, nor an errand in a list."""
_EVERYDAY = 2_000
"""By frequency: words that get a capital letter within a sentence by courtesy."""
_OWED = [[re.compile(one, re.IGNORECASE) for one in both] for both in _TABLE["owed"]]
_LISTS = {k: frozenset(v.split()) for k, v in _TABLE.items() if isinstance(v, str)}
_FUNCTION, _SUBJECTS, _DOES = (_LISTS[k] for k in ("function", "subjects", "does"))
_NO_NAMES = _LISTS["no_names"] | WORDS["titles"] | WORDS["greetings"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact as it stands in a draft or a request."""

    kind: str  # of `KINDS`, or `name`, `address`, `answer`, `question`
    text: str
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the text that is answered."""

    text: str
    answered: bool


@dataclass(frozen=True, slots=True)
class Report:
    """What a draft makes of the facts it was given."""

    invented: tuple[Fact, ...]  # of the draft; they stand in no source
    missing: tuple[Fact, ...]  # of the request
    questions: tuple[Question, ...] = ()

    def in_words(self, *, answered: bool = False) -> list[str]:
        """A line for each kind of finding there is, and for what is `answered`."""
        found = (
            ("not from you", self.invented),
            ("missing", self.missing),
            ("not answered", [one for one in self.questions if not one.answered]),
            ("answered", [one for one in self.questions if one.answered and answered]),
        )
        return [
            f"{says}: {', '.join(dict.fromkeys(one.text for one in some))}"
            for says, some in found
            if some
        ]


class _Text(WordsOf):
    """A text with its facts."""

    def __init__(self, text: str, spoken: Language) -> None:
        super().__init__(text, spoken)
        self.raw, self.spoken = text, spoken
        self.names = {fold(match[0]) for match in _NAME.finditer(text)}
        self.names |= {part for name in self.names for part in re.split("['’-]", name)}
        self.names |= {name.removesuffix("s") for name in self.names}
        self.letters = _bare(text)
        self.figures = {word for word in self.texts if word.isdecimal()}
        self.numbers = {number for *_, number in self.values("number")}
        bare = _IN_NUMBERS.findall(text)
        self.numbers |= {float(one) * 1000 ** len(k) for one, k in bare}
        self.dates = {date for *_, date in self.values("date")}
        self.dates |= {(int(day), 0) for day in _ORDINAL.findall(text)}
        self.months = {month for *_, month in (*self.values("month"), *self.dates)}
        loosely = (loose_month(self.words, at) for at in range(len(self.words)))
        self.months |= {month[0] for month in loosely if month}

    def facts(self) -> Iterator[tuple[Fact, Any, Span | None]]:
        """Addresses and values, each with its value and words; none within another."""
        used: set[int] = set()
        for match in _ADDRESS.finditer(self.raw):
            (begin, end), said = match.span(), _bare(match[0])
            if not _DATE.fullmatch(match[0]):
                yield Fact("address", match[0], (begin, end)), said, None
                within = enumerate(self.words)
                used |= {at for at, word in within if begin <= word.span[0] < end}
        for kind in _ORDER:
            for place, length, value in self._read(kind):
                span = Span(place, place + length)
                places = {*range(place, span.last)}
                if not used & places and (kind != "number" or self._counts(span)):
                    first, last = self.where(span)
                    named = kind == "date" and self.raw[:first].endswith("the ")
                    said = self.raw[first - 4 * named : last]
                    yield Fact(kind, said, (first, last)), value, span
                used |= places

    def _read(self, kind: str) -> Iterator[tuple[int, int, Any]]:
        yield from self.values(kind)
        if kind == "date":
            for place, word in enumerate(self.texts):
                match = _ORDINAL.fullmatch(word)
                if match and NO_DATE.isdisjoint(self.texts[place + 1 : place + 2]):
                    yield place, 1, (int(match[1]), 0)

    def _counts(self, span: Span) -> bool:
        """Whether a number says how many: not "one", "a word or two", "1." in a list,
        "five stars out of five", "in two sentences"."""
        words, first, last = self.texts, span.first, span.last
        said, before = words[first:last], words[max(0, first - 2) : first]
        after, begins = words[last : last + 1], self.words[first].begins
        listed = begins and after in (["."], [")"]) and said[0].isdecimal()
        return not (
            set(said) <= _LISTS["vague"]
            or listed
            or before == ["out", "of"]
            or after == ["out"]
            or "thumbs" in words[last : last + 3]
            or (before[-1:] == ["or"] and said[0] in ("two", "three"))
            or _LISTS["of_form"].intersection(after)
        )

    def holds(self, fact: Fact, value: Any) -> bool:
        """Whether the text has a value in any form, also as a bare number."""
        match fact.kind:
            case "address":
                return value in self.letters
            case "date":
                day, month = value
                held = any(day == other for other, _ in self.dates)
                held = held or str(day) in self.figures
                held = held or (self.spoken is not ENGLISH and day in self.numbers)
                named = {of for other, of in self.dates if other == day and of}
                return held and (not month or month in (named or self.months))
            case "month":
                return value in self.months
            case "number":
                known = self.numbers | {amount for *_, amount in self.values("money")}
                if fact.text.isdecimal():
                    hours = (when[0] // 60 for *_, when in self.values("time"))
                    known |= {hour or 12 for hour in hours}
                if fact.text.isdecimal() or self.spoken is not ENGLISH:
                    known |= {day for day, _ in self.dates}
                known |= {n % 100 for n in known if 1900 < n < 2100}  # "class of 94"
                short = value % 100 if 1900 < value < 2100 else value
                return bool({value, short} & known) or fact.text in self.figures
        same, loosely = KINDS[fact.kind].same, KINDS[fact.kind].loosely
        if any(same(value, other) for *_, other in self.values(fact.kind)):
            return True
        if fact.kind == "time" and value[0] % 60 == 0:
            hour = value[0] // 60
            return bool({hour or 12, hour + 12} & self.numbers)
        if fact.kind == "money" and value in self.numbers:
            return True
        found = (loosely(self.words, at) for at in range(len(self.words)))
        return any(same(value, one[0]) for one in found if one is not None)

    def named(self) -> Iterator[Fact]:
        """Names: words with a capital letter that are no everyday words, and if they
        begin a sentence in no dictionary; joined where they follow each other."""
        if self.spoken.capital:
            return
        for match in _NAME.finditer(self.raw):
            word = re.sub(r"['’](?:s|ll|d|re|ve|m)?\Z", "", match[0])
            before = self.raw[max(0, match.start() - 4) : match.start()]
            opens = not _GOES_ON.search(before)
            if opens and self.raw[match.end() : match.end() + 1] == "!":
                continue  # "Ahoy!"
            if word[0].isupper() and _is_name(word, opens, self.spoken):
                yield Fact("name", word, (match.start(), match.start() + len(word)))


@lru_cache(10_000)
def _is_name(word: str, opens: bool, spoken: Language) -> bool:
    folded = fold(word)
    if len(word) < 2 or folded in _NO_NAMES:
        return False
    held = WordsOf(word.capitalize(), spoken)
    if any(held.values(kind) for kind in ("day", "month", "number")):
        return False
    parts = re.split("['’-]", folded)
    if opens or word.isupper():
        return spoken is ENGLISH and not all(map(is_in_dictionary, parts))
    everyday = common_words()
    return (
        any(everyday.get(part, _EVERYDAY) >= _EVERYDAY for part in parts)
        or folded in given_names()
        or folded in known_names()
    )


def _bare(text: str) -> str:
    """Its letters and digits; of a telephone number the last ones."""
    bare = re.sub(r"[\W_]|https?:|\bwww\.", "", text).casefold()
    return bare[-8:] if bare.isdecimal() else bare


def names_fact(text: str) -> bool:
    """Whether a text holds anything that would be looked for in a source."""
    return bool(Checker("").check(text).invented)


class Checker:
    """Compares drafts with a request and what was read for it."""

    def __init__(
        self,
        request: str,
        recipient: str = "",
        notes: Iterable[str] = (),
        letters: Iterable[str] = (),
        spoken: str | None = None,
        answered: str = "",
    ) -> None:
        """`notes` are the thread and what else the person gave; `spoken` is the code of
        the language, if it is known, and `answered` the text that is answered."""
        self._spoken = language(spoken)
        self._asked = _Text(request, self._spoken)
        self._recipient = _Text(recipient, self._spoken)
        self._questions = list(_questions_of(answered, self._spoken))
        self._letters = list(letters)
        given = recipient, request, *notes, answered
        self._stated = _Text(_ASKS.sub(" ", request), self._spoken)
        self._given = _Text("\n\n".join(given), self._spoken)
        self._known = {stem(word) for word in self._given.texts}
        self._read = _Text("\n\n".join((*given, *self._letters)), self._spoken)

    def check(self, draft: str) -> Report:
        """What of the draft stands in no source, and what of the request it lacks."""
        text = _Text(draft, self._spoken)
        found = [
            fact
            for fact, value, span in text.facts()
            if not self._read.holds(fact, value)
            or (span and self._is_copied(text, fact, value, span))
        ]
        counted = {(thing, value) for thing, value, _ in _counted(self._asked)}
        things = {thing for thing, _ in counted}
        found += [
            Fact("number", draft[slice(*where)], where)
            for thing, value, where in _counted(text)
            if thing in things and (thing, value) not in counted
        ]
        known = self._read.names | (self._known - given_names())
        words = ((one, fold(one.text)) for one in text.named())
        forms = ((one, (w, w.removesuffix("s"), stem(w))) for one, w in words)
        found += [one for one, some in forms if known.isdisjoint(some)]
        found += _turned(self._asked, text)
        found += _strange_answers(self._stated, self._known, self._letters, text)
        invented: list[Fact] = []
        for fact in sorted(found, key=lambda one: (one.span[0], -one.span[1])):
            before = invented[-1] if invented else Fact("", "", (-2, -2))
            names = fact.kind == before.kind == "name"
            if names and fact.span[0] == before.span[1] + 1:
                both = before.span[0], fact.span[1]
                invented[-1] = Fact("name", draft[slice(*both)], both)
            elif fact.span[0] >= before.span[1]:
                invented.append(fact)
        named = {fold(fact.text) for fact in self._asked.named()} & text.names
        questions = tuple(_judged(self._questions, text, named))
        return Report(tuple(invented), tuple(self._missing(text)), questions)

    def _is_copied(self, text: _Text, fact: Fact, value: Any, span: Span) -> bool:
        """Whether a day or a time stands only in letters that speak of another thing
        than the sentence of the draft."""
        if fact.kind not in ("date", "day", "time") or self._given.holds(fact, value):
            return False
        said, own = text.words[span.first].sentence, text.words[span.first : span.last]
        rest = (w for w in text.words if w.sentence == said and w not in own)
        about = {stem(word.text) for word in rest if _tells(word.text)}
        told = _SENTENCES.split("\n".join(self._letters))
        parts = (_Text(one, self._spoken) for one in told)
        return not any(about & _keys(one) and one.holds(fact, value) for one in parts)

    def _missing(self, text: _Text) -> Iterator[Fact]:
        asked = self._asked
        found: list[tuple[str, Any]] = []
        for fact, value, span in asked.facts():
            left_out = span is not None and _is_left_out(asked, span)
            if left_out or (fact.kind, value) in found:
                continue
            found.append((fact.kind, value))
            if not text.holds(fact, value):
                yield fact
        known = text.names | self._recipient.names
        for fact in asked.named():
            errand = asked.raw[: fact.span[0]].lower().split()[-1:]
            if not self._recipient.raw and errand and errand[0] in _LISTS["errands"]:
                continue  # who is addressed need not be named
            if fold(fact.text) not in known:
                known.add(fold(fact.text))
                yield fact
        for asks, says in _OWED:
            match = asks.search(asked.raw)
            if match and not says.search(text.raw):
                yield Fact("answer", match[0], match.span())
        yield from _unanswered(asked, text)


def _counted(text: _Text) -> Iterator[tuple[str, float, tuple[int, int]]]:
    """What a text has some of: the stem of the thing, how many, and where it stands."""
    for place, length, value in text.values("number"):
        for thing in text.texts[place + length : place + length + 1]:
            if _tells(thing) and thing[-1] == "s":
                yield stem(thing), value, text.where(Span(place, place + length + 1))


def _is_left_out(asked: _Text, span: Span) -> bool:
    """Whether a value need not be said: "not the 4th", "the 4th, no, the 5th", "moved
    from Friday to Saturday"."""
    before = asked.texts[max(0, span.first - 8) : span.first]
    behind = asked.texts[span.last : span.last + 8]
    moved = "from" in before[-2:] and "to" in behind
    moved &= not _LISTS["moves"].isdisjoint(before)
    instead = ["instead", "of"] in (before[-2:], before[-3:-1])
    moved |= "to" in before[-2:] and "prefer" in before
    if moved or instead or not _LISTS["not_this"].isdisjoint(before[-2:]):
        return True
    mends = [*takewhile(lambda word: word in _MENDING, behind)]
    return mends != behind and not _LISTS["mends"].isdisjoint(mends)


_DENY = NEGATIONS | {"unable", "nothing", "neither"}
_IS = ["is"], ["are"], ["was"], ["were"]
_BEHIND_NO = _LISTS["behind_no"] | _SUBJECTS | {",", "."}
_MUTUAL = {stem(word) for word in _LISTS["mutual"]}
_STOPS = _LISTS["stops"] | set(".,;:?!")
_REASONS = _STOPS | _LISTS["breaks"]  # what a reason or a condition begins with
_MENDING = _LISTS["mends"] | _FUNCTION | {",", ":"}
_ENDS = _STOPS | _SUBJECTS | _LISTS["others"]
_ANSWERS = "yes", "no"
_ENDING = re.compile(r"(?<=\w{3})(?:ed|ing)\Z")
_LONGEST_ANSWER = 9  # words that are shown of a missing one
_REACH = 6  # words behind a denial of which it may be said


def _polarities(text: _Text) -> tuple[dict[str, Span], ...]:
    """What is denied, what is not, and what of that stands in no clause with a denial,
    by stem: the first telling word behind a denial; none that another clause denies
    ("he isn't"), nor what another is told from ("than", "instead of")."""
    denied: dict[str, Span] = {}
    plain: dict[str, Span] = {}
    firm: dict[str, Span] = {}
    since = _REACH + 1  # words since the last denial of the clause
    found = True  # whether it is known what that denies
    keys: list[str] = []  # plain ones of the sentence
    first, last = 0, ""  # the place of the clause's first one, and what it denies
    texts = ["", *text.texts, "", ""]
    for at, word in enumerate((*text.words, Word(".", -1, False, True, (0, 0)))):
        before, after = texts[at], texts[at + 2]
        new = not at or text.words[at - 1].sentence != word.sentence
        # Not: "no way am I", "I don't think I can".
        begun = word.text in _SUBJECTS and since and before not in _LISTS["go_on"]
        apart = word.text == "but" and before[:3] in ("any", "all", "eve", "not")
        soft = word.text in _LISTS["soft"]
        soft |= word.text in ("off", "out") and before in _LISTS["out"]
        soft |= word.text == "free" and before not in _FUNCTION  # "nut free"
        denies = word.text in _DENY
        denies &= word.text != "no" or after not in _BEHIND_NO
        gone: list[str] = []  # what is no longer plain
        if new or begun or (word.text in _STOPS and not apart):
            gone = keys if not found else gone
            since, found, first, last = _REACH + 1, True, len(keys), ""
        elif soft or (denies and word.text != "not"):  # "we need no chairs"
            gone = keys[first:]
        for key in gone:
            plain.pop(key, None)
        for key in keys[first:] if denies else gone:
            firm.pop(key, None)
        if new:
            keys, first = [], 0
        if denies:
            since, found = 0, False
            continue
        since = 1 if word.text == "no" else since + 1  # "no to": it may be said or not
        if word.text in _LISTS["limits"] and last in denied and since < 6:
            plain.setdefault(last, denied.pop(last))  # "not before nine"
        found = found or word.text[0].isdecimal()
        if word.text.isalpha() and word.text not in _FUNCTION:
            key = stem(word.text)
            span = Span(at - (not new and before not in _STOPS), at + 1)
            if since > _REACH and key not in plain:
                plain[key] = firm[key] = span
                keys.append(key)
            elif not found:
                found, once = True, key in denied or texts[at - since + 1] == "no"
                last = "" if once else key
                denied.setdefault(key, Span(at - since, at + 1))
        if soft or apart or word.text in _LISTS["apart"]:
            since = 0  # what stands behind it is no plain word either
    return denied, plain, firm


def _turned(asked: _Text, text: _Text) -> Iterator[Fact]:
    """Answers and denials that the request turns the other way."""
    denied, plain, _ = _polarities(asked)
    denies, says, firm = _polarities(text)
    spans = [
        span
        for mine, other, theirs, wanted in (
            (denies, says, denied, plain),
            (firm, denies, plain, denied),
        )
        for key, span in mine.items()
        if key not in other and key in wanted and key not in theirs
        if mine is denies or not _differs(asked, denied[key], text, span)
    ]
    (mine, hers), (wanted, theirs) = _by_whom(text), _by_whom(asked)
    spans += [
        said[key]
        for said, other, asked_of, not_of in (
            (mine, hers, theirs, wanted),
            (hers, mine, wanted, theirs),
        )
        for key in said.keys() & asked_of.keys() - other.keys() - not_of.keys()
        if key not in _MUTUAL and (said is mine or key not in COMMON)
    ]
    for span in spans:
        first, last = text.where(span)
        yield Fact("answer", text.raw[first:last], (first, last))


def _differs(asked: _Text, denial: Span, text: _Text, span: Span) -> bool:
    """Whether a draft says another thing than the request denies: it tells something of
    it ("the skates are broken"), or what stands behind it is no part of the denial
    ("use the back gate" for "not use the lift")."""
    behind, of = text.texts[span.last :][:_REACH], asked.texts[denial.last :][:_REACH]
    said = [*takewhile(lambda word: word not in _STOPS | _LISTS["apart"], behind)]
    of = [*takewhile(lambda word: word not in _STOPS | _LISTS["listing"], of)]
    wanted, given = (
        {stem(word) for word in some if _tells(word)} for some in (of, said)
    )
    subject = [*dropwhile(lambda word: stem(word) in wanted, said)][:1] in _IS
    apart = bool(wanted and given) and wanted.isdisjoint(given)
    return subject or (apart and said[0] not in _LISTS["others"])


def _strange_answers(
    stated: _Text, known: set[str], letters: Sequence[str], text: _Text
) -> Iterator[Fact]:
    """What a draft accepts or refuses though nothing `stated` does, or of another thing
    than the `known` ones; not a sentence that most letters have."""
    words, (denied, plain, _) = {*stated.texts}, _polarities(stated)
    foreign = stated.spoken is not ENGLISH
    meant = {_TABLE["meant"].get(word) for word in words}
    accepts = "yes" in meant or "confirm" in words
    accepts = accepts or bool(_AFFIRMS.search(stated.raw))
    accepts = accepts or _says(stated, "yes", "acceptance")
    declines = "no" in meant or _says(stated, "no", "refusal")
    declines = declines or (foreign and "no" in words)
    clauses = " ".join(f". {w.text}" if w.begins else w.text for w in stated.words)
    own = _DENIES_ONESELF.search(clauses)
    hints = bool(own or words & _LISTS["dissents"])
    accepts, declines = (
        accepts or (not declines and not words.isdisjoint(_LISTS["assents"])),
        declines or (not accepts and hints),
    )
    answers = ("acceptance", accepts, declines), ("refusal", declines, accepts)
    for answer, given, turned in answers:
        for span in _answers(text, answer):
            # Elsewhere it is not known which reason it follows from.
            if foreign and not turned and span.last > span.first + 2:
                continue
            first, last = text.where(span)
            begin = 1 + max(text.raw.rfind(mark, 0, first) for mark in ".!?\n")
            if 2 * sum(text.raw[begin:last] in one for one in letters) > len(letters):
                continue
            rest = text.texts[span.last :]
            if rest[:2] == ["it", "up"]:
                continue  # "I'll make it up to you"
            same = {stem(text.texts[span.last - 1])}
            behind = takewhile(lambda word: word not in _REASONS, rest)
            about = {stem(word) for word in islice(behind, _REACH) if _tells(word)}
            strange = about and known.isdisjoint(about) and text.raw[last - 1].isalpha()
            told = same & plain.keys()
            if answer == "refusal":
                told = (about | same if own else about) & denied.keys()
            if strange or not (given or told):
                yield Fact("answer", text.raw[first:last], (first, last))


def _tells(word: str) -> bool:
    """Whether a word says what a sentence is about."""
    return word.isalpha() and len(word) > 2 and word not in COMMON | _FUNCTION


def _by_whom(text: _Text) -> tuple[dict[str, Span], dict[str, Span]]:
    """What the writer does and has, and what others do and have, by the stem of the
    verb, behind "=" if it is done to them, and of the thing, behind "'"."""
    own: dict[str, Span] = {}
    others: dict[str, Span] = {}
    names = {fold(one.text) for one in text.named()}
    texts = ["", *text.texts, "", ""]
    for at, word in enumerate(text.words):
        before, after = texts[at], texts[at + 2]
        has = word.text in _LISTS["whose"]
        has &= word.text != "her" or before not in _LISTS["gives"]
        does = word.text in _SUBJECTS | _LISTS["others"] - {"there"}
        does |= word.text in names and before not in ("and", "or", "with")
        does |= word.text in _LISTS["whom"] and after == "to"
        clause = []
        for one in text.words[at + 1 : at + 4] if has or does else ():
            if one.text in _ENDS or one.sentence != word.sentence:
                break
            clause.append(one.text)
        verb = next((one for one in clause if one not in _FUNCTION), "")
        if verb:
            done = not has and not verb.endswith("ing")
            done &= not _LISTS["passive"].isdisjoint((before, *clause))
            key = "'" * has + "=" * done + stem(_ENDING.sub("", verb))
            span = Span(at, at + clause.index(verb) + 2)
            (own if word.text in _LISTS["own"] else others).setdefault(key, span)
            if word.text == "we" and before in _DOES:  # "can we" asks for both
                others.setdefault(key, span)
    return own, others


def _says(text: _Text, *answers: str) -> bool:
    return any(True for answer in answers for _ in _answers(text, answer))


def _unanswered(asked: _Text, text: _Text) -> Iterator[Fact]:
    """A yes, a no or a question of the request, if the draft has none."""
    for match in _ASKS.finditer(asked.raw) if not _REQUESTS.search(text.raw) else ():
        keys = _keys(_Text(match[0], asked.spoken))
        words = {*match[0].lower().split()}
        asks = words & {"if", "whether"} and words & {"is", "are"}
        if asks or 2 * len(keys & _keys(text)) < len(keys):
            yield Fact("question", match[0].strip(" ,.;:!\n"), match.span())
    stated, (denied, plain, _) = _polarities(asked)[1], _polarities(text)
    denies = denied or not (_LISTS["soft"] | {"no", "never"}).isdisjoint(text.texts)
    for at, word in enumerate(asked.words):
        answer = _TABLE["meant"].get(word.text, word.text)
        if answer not in _ANSWERS or (word.text == "no" and not word.begins):
            continue
        key = stem(word.text)
        if word.text != "no" and (key not in stated or key in plain):
            continue
        much = "acceptance" if answer == "yes" else "refusal"
        given = _says(text, answer, much, f"mild {answer}")
        says = denied if answer == "no" else plain
        begin = at + 1 + (asked.texts[at + 1 : at + 2] == [","])
        clause = asked.texts[begin : at + _REACH]
        behind = [*takewhile(lambda word: word not in _STOPS, asked.texts[begin:])]
        said = any(stem(word) in says for word in clause if word not in COMMON)
        # "Yes, the room is free" is said by "The room is free".
        states = begin > at + 1 and not _DOES.isdisjoint(behind)
        own = bool(clause) and (clause[0] in _SUBJECTS or states) and said
        named = word.text == "no" and _tells("".join(clause[:1]))  # "no dogs"
        told = {*map(stem, text.texts), *map(stem, _LISTS["idioms"])}
        known = named and stem(clause[0]) in told
        if own or known or (answer == "no" and denies) or given:
            continue
        end = min(at + 1 + len(behind) * (begin == at + 1), at + _LONGEST_ANSWER)
        while end > at + 1 and asked.texts[end - 1] in _FUNCTION:
            end -= 1
        first, last = asked.where(Span(at, end))
        yield Fact("answer", asked.raw[first:last], (first, last))
        return


def _answers(text: WordsOf, answer: str) -> Iterator[Span]:
    """Where an answer stands."""
    for part in forms_of(answer):
        yield from text.found(part)


_SENTENCES = re.compile(r"(?<=[.!?…])(?!\w)|\n")  # between two


def _questions_of(letter: str, spoken: Language) -> Iterator[_Text]:
    """The questions of a text in its own words, without those of mere courtesy."""
    own = "\n".join(one for one in letter.splitlines() if not one.startswith(">"))
    for said in (one for one in _SENTENCES.split(own) if one.endswith("?")):
        question = _Text(said.strip(" \t,;:-–—*\"'“"), spoken)
        if _keys(question):
            yield question


def _keys(text: _Text) -> set[str]:
    """What a text is about, by stem."""
    told = (word for word in text.texts if word.isalnum() and len(word) > 2)
    return {stem(word) for word in told if word not in COMMON | _FUNCTION}


def _judged(
    questions: Sequence[_Text], text: _Text, named: set[str]
) -> Iterator[Question]:
    """A question is answered if a draft has half of what it is about, a value of its
    kind, for who a name of the request, or a yes or a no for it."""
    given, values = _keys(text), {fact.kind for fact, *_ in text.facts()}
    answers = sum(
        len({text.words[one.first].sentence for one in _answers(text, kind)})
        for kind in _ANSWERS
    )
    for question in questions:
        asks, keys = " ".join(question.texts), _keys(question)
        kinds = [
            k for says, some in _TABLE["asks_for"].items() if says in asks for k in some
        ]
        answered = 2 * len(keys & given) >= len(keys)
        if kinds:
            answered = not values.isdisjoint(kinds)
        elif not answered and question.texts[0] in _DOES and answers:
            answered, answers = True, answers - 1
        elif not answered and {"who", "whom"} & {*question.texts}:
            answered = not named <= question.names
        yield Question(question.raw, answered)
