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
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

from edge_app.facts.phrases import COMMON, NEGATIONS, Span, WordsOf, forms_of, stem
from edge_app.facts.values import (
    ENGLISH,
    KINDS,
    Language,
    language,
    loose_month,
    words_of,
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
_ORDINAL = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b")
_ADDRESS = re.compile(
    r"[^\s<>()\[\],;:\"']+@[^\s<>()\[\],;:\"'@]+\w|(?:https?://|www\.)[^\s<>\"']*[\w/]"
    r"|\+?\d[\d ()/-]{5,}\d|\b(?=\w*\d)(?=\w*[A-Z])[\w-]{2,}(?: \d[A-Z]{2})?\b"
)
"""Addresses of mail and the web, telephone numbers, and codes such as SW1A 2AA."""
_DATE = re.compile(r"\d\d?([/-])\d\d?\1(?:\d\d)?\d\d")
_NAME = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_GOES_ON = re.compile(r"[^\W_]['’]? (?<!\band )\Z|[,&/] ?\Z")
"""What stands before a word that does not begin a sentence, nor an errand in a list."""
_EVERYDAY = 2_000
"""By frequency: words that get a capital letter within a sentence by courtesy."""
_TABLE = tomllib.loads(Path(__file__).with_name("answers.toml").read_text("utf-8"))
_NO_NAMES, _FUNCTION, _VAGUE, _OF_FORM, _NOT_THIS = (
    frozenset(_TABLE[name].split())
    for name in ("no_names", "function", "vague", "of_form", "not_this")
)
_SUBJECTS, _BEHIND_NO, _DECLINES, _STOPS, _DOES, _ERRANDS = (
    frozenset(_TABLE[name].split())
    for name in ("subjects", "behind_no", "declines", "stops", "does", "errands")
)
_ASSENTS, _DISSENTS, _OTHERS, _BREAKS = (
    frozenset(_TABLE[name].split())
    for name in ("assents", "dissents", "others", "breaks")
)
_NO_NAMES |= WORDS["titles"] | WORDS["greetings"]


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
        """A line for each kind of finding, and for what is `answered`; none if there is
        nothing to say."""
        yes, no = (
            [q for q in self.questions if q.answered is one] for one in (True, False)
        )
        found = (
            ("not from you", self.invented),
            ("missing", self.missing),
            ("not answered", no),
            ("answered", yes if answered else ()),
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
        self.letters = _bare(text)
        self.figures = {word.text for word in self.words if word.text.isdecimal()}
        self.numbers = {number for *_, number in self.values("number")}
        self.dates = {date for *_, date in self.values("date")}
        self.dates |= {(int(day), 0) for day in _ORDINAL.findall(text)}
        self.months = {month for *_, month in (*self.values("month"), *self.dates)}
        loosely = (loose_month(self.words, at) for at in range(len(self.words)))
        self.months |= {month[0] for month in loosely if month}

    def facts(self) -> Iterator[tuple[Fact, Any, Span | None]]:
        """Addresses and values, each with its value and words; none is part of a
        longer one."""
        used: set[int] = set()
        for match in _ADDRESS.finditer(self.raw):
            if _DATE.fullmatch(match[0]):
                continue
            yield Fact("address", match[0], match.span()), _bare(match[0]), None
            used.update(
                at
                for at, word in enumerate(self.words)
                if match.start() <= word.span[0] < match.end()
            )
        for kind in _ORDER:
            for place, length, value in self._read(kind):
                places = range(place, place + length)
                if used.intersection(places):
                    continue
                used.update(places)
                span = Span(place, place + length)
                if kind != "number" or self._counts(span):
                    first, last = self.where(span)
                    named = kind == "date" and self.raw[:first].endswith("the ")
                    said = self.raw[first - 4 * named : last]
                    yield Fact(kind, said, (first, last)), value, span

    def _read(self, kind: str) -> Iterator[tuple[int, int, Any]]:
        yield from self.values(kind)
        if kind == "date":
            for place, word in enumerate(self.words):
                if match := _ORDINAL.fullmatch(word.text):
                    yield place, 1, (int(match[1]), 0)

    def _counts(self, span: Span) -> bool:
        """Whether a number says how many: not "one", "a word or two", "1." in a list,
        "five stars out of five", "in two sentences"."""
        words, first = self.words, span.first
        said = [word.text for word in words[first : span.last]]
        before = [word.text for word in words[max(0, first - 2) : first]]
        after = [word.text for word in words[span.last : span.last + 1]]
        listed = words[first].begins and after in (["."], [")"]) and said[0].isdecimal()
        return not (
            set(said) <= _VAGUE
            or listed
            or before == ["out", "of"]
            or after == ["out"]
            or "thumbs" in [word.text for word in words[span.last : span.last + 3]]
            or (before[-1:] == ["or"] and said[0] in ("two", "three"))
            or _OF_FORM.intersection(after)
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
                money = {amount for *_, amount in self.values("money")}
                days = {day for day, _ in self.dates if self.spoken is not ENGLISH}
                known = value in self.numbers | money | days
                return known or fact.text in self.figures
        same, loosely = KINDS[fact.kind].same, KINDS[fact.kind].loosely
        if any(same(value, other) for *_, other in self.values(fact.kind)):
            return True
        if fact.kind == "time" and value[0] % 60 == 0:
            hour = value[0] // 60
            return bool({hour or 12, hour + 12} & self.numbers)
        if fact.kind == "money" and value in self.numbers:
            return True
        found = (
            (loosely(self.words, at) for at in range(len(self.words)))
            if loosely
            else ()
        )
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
    return re.sub(r"[\W_]", "", text).casefold()


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
        self._known = {stem(w.text) for w in words_of("\n\n".join(given), self._spoken)}
        told = (*given, *self._letters)
        self._stated = _Text(_ASKS.sub(" ", request), self._spoken)
        self._read = _Text("\n\n".join(told), self._spoken)

    def check(self, draft: str) -> Report:
        """What of the draft stands in no source, and what of the request it lacks."""
        text = _Text(draft, self._spoken)
        found = [
            fact for fact, value, _ in text.facts() if not self._read.holds(fact, value)
        ]
        known = self._read.names | (self._known - given_names())
        words = ((one, fold(one.text)) for one in text.named())
        found += [one for one, word in words if known.isdisjoint((word, stem(word)))]
        found += _turned(self._asked, text)
        found += _strange_answers(self._stated, self._known, self._letters, text)
        invented: list[Fact] = []
        for fact in sorted(found, key=lambda one: (one.span[0], -one.span[1])):
            before = invented[-1] if invented else Fact("", "", (-2, -2))
            if (
                fact.kind == before.kind == "name"
                and fact.span[0] == before.span[1] + 1
            ):
                both = before.span[0], fact.span[1]
                invented[-1] = Fact("name", draft[slice(*both)], both)
            elif fact.span[0] >= before.span[1]:
                invented.append(fact)
        named = {fold(fact.text) for fact in self._asked.named()} & text.names
        questions = tuple(_judged(self._questions, text, named))
        return Report(tuple(invented), tuple(self._missing(text)), questions)

    def _missing(self, text: _Text) -> Iterator[Fact]:
        asked = self._asked
        found: list[tuple[str, Any]] = []
        for fact, value, span in asked.facts():
            before = asked.words[max(0, span.first - 2) : span.first] if span else ()
            if any(w.text in _NOT_THIS for w in before) or (fact.kind, value) in found:
                continue
            found.append((fact.kind, value))
            if not text.holds(fact, value):
                yield fact
        known = text.names | self._recipient.names
        for fact in asked.named():
            errand = asked.raw[: fact.span[0]].lower().split()[-1:]
            if not self._recipient.raw and errand and errand[0] in _ERRANDS:
                continue  # who is addressed need not be named
            if fold(fact.text) not in known:
                known.add(fold(fact.text))
                yield fact
        yield from _unanswered(asked, text)


_DENY = NEGATIONS | {"unable"}
_BEHIND_NO |= _SUBJECTS | {",", "."}
_STOPS |= set(".,;:?!")
_ANSWERS = "yes", "no"
_ASKS = re.compile(
    r"\bask(?:s|ed|ing)?\b[^.;:!?\n]{0,60}?\b(?:if|whether|wh\w+|how)\b[^.;:,!?\n]*\??"
    r"|(?:^|[.;:!?,\n]\s*|\band\s+)(?:(?:can|could|would|will|do|does|did|has|have|may"
    r"|shall|should|is|are) (?:s?he|they|it|we)|(?:is|are) (?:there|the|her|his)"
    r"|(?:can|could|does|has) (?:the|her|his))\b[^.;:,!?\n]*\??",
    re.IGNORECASE,
)
"""What a request has asked of somebody: it states nothing."""
_DENIES_ONESELF = re.compile(
    r"(?:[.,;:?!]|\b(?:am|are|but|can|could|i|so|we|will|would)\b[^.,;:?!]{0,60}) "
    r"(?:no|not(?! to\b)|never|unable)\b"
)
"""Not: tell him not to come."""
_REQUESTS = re.compile(
    r"\?|\b(?:please|wonder\w*|ask\w*|hope you|see you|let me know"
    r"|(?:tell|show|send) (?:me|us)|(?:can|could|would|will) you"
    r"|(?:like|love|want|need) (?:you )?to know)\b",
    re.IGNORECASE,
)
_LONGEST_ANSWER = 9  # words that are shown of a missing one
_REACH = 6  # words behind a denial of which it may be said


def _polarities(text: _Text) -> tuple[dict[str, Span], dict[str, Span]]:
    """What is denied and what is not, by stem: the first telling word behind a denial,
    and every one that stands in no clause with a denial before it."""
    denied: dict[str, Span] = {}
    plain: dict[str, Span] = {}
    since = _REACH + 1  # words since the last denial of the clause
    found = True  # whether it is known what that denies
    for at, word in enumerate(text.words):
        after = text.words[at + 1].text if at + 1 < len(text.words) else ""
        new = not at or text.words[at - 1].sentence != word.sentence
        turned = at > 0 and text.words[at - 1].text in _DOES  # "no way am I"
        begun = word.text in _SUBJECTS and since and not turned
        if new or word.text in _STOPS or begun:
            since, found = _REACH + 1, True
        if word.text in _DENY and not (word.text == "no" and after in _BEHIND_NO):
            since, found = 0, False
            continue
        if word.text == "no" and after == "to":
            since = 0  # of what follows it may be said in any way
        since += 1
        if not word.text.isalpha() or word.text in _FUNCTION:
            continue
        key, span = stem(word.text), Span(max(0, at - 1), at + 1)
        if since > _REACH:
            plain.setdefault(key, span)
        elif not found:
            found = True
            denied.setdefault(key, Span(at - since, at + 1))
        if word.text in _DECLINES | {"miss"}:
            since = 0  # what stands behind it is no plain word either
    return denied, plain


def _turned(asked: _Text, text: _Text) -> Iterator[Fact]:
    """Answers and denials that the request turns the other way."""
    denied, plain = _polarities(asked)
    denies, says = _polarities(text)
    spans = [
        span
        for mine, other, theirs, wanted in (
            (denies, says, denied, plain),
            (says, denies, plain, denied),
        )
        for key, span in mine.items()
        if key not in other and key in wanted and key not in theirs
    ]
    (mine, hers), (wanted, theirs) = _by_whom(text), _by_whom(asked)
    spans += [
        mine[key] for key in mine.keys() & theirs.keys() - wanted.keys() - hers.keys()
    ]
    swapped = hers.keys() & wanted.keys() - mine.keys() - theirs.keys()
    lasts = ((hers[key], text.words[hers[key].last - 1]) for key in swapped)
    spans += [span for span, verb in lasts if _tells(verb.text)]
    for span in spans:
        first, last = text.where(span)
        yield Fact("answer", text.raw[first:last], (first, last))


def _strange_answers(
    stated: _Text, known: set[str], letters: Sequence[str], text: _Text
) -> Iterator[Fact]:
    """What a draft accepts or refuses though nothing `stated` does, or of another thing
    than the `known` ones; not a sentence that most letters have."""
    words, (_, plain) = {word.text for word in stated.words}, _polarities(stated)
    foreign = stated.spoken is not ENGLISH
    meant = {_TABLE["meant"].get(word) for word in words}
    accepts = "yes" in meant or "confirm" in words
    accepts = accepts or _says(stated, "yes", "acceptance")
    declines = "no" in meant or _says(stated, "no", "refusal")
    declines = declines or (foreign and "no" in words)
    clauses = " ".join(f". {w.text}" if w.begins else w.text for w in stated.words)
    hints = not words.isdisjoint(_DISSENTS) or bool(_DENIES_ONESELF.search(clauses))
    accepts, declines = (
        accepts or (not declines and not words.isdisjoint(_ASSENTS)),
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
            if [w.text for w in text.words[span.last :][:2]] == ["it", "up"]:
                continue  # "I'll make it up to you"
            same = answer == "acceptance" and stem(text.words[span.last - 1].text)
            behind = takewhile(
                lambda word: word.text not in _STOPS | _BREAKS, text.words[span.last :]
            )
            about = {stem(w.text) for w in islice(behind, _REACH) if _tells(w.text)}
            strange = about and known.isdisjoint(about) and text.raw[last - 1].isalpha()
            if strange or not (given or same in plain):
                yield Fact("answer", text.raw[first:last], (first, last))


def _tells(word: str) -> bool:
    """Whether a word says what a sentence is about."""
    return word.isalpha() and len(word) > 2 and word not in COMMON | _FUNCTION


def _by_whom(text: _Text) -> tuple[dict[str, Span], dict[str, Span]]:
    """What the writer does and what others do, by the stem of the verb."""
    own: dict[str, Span] = {}
    others: dict[str, Span] = {}
    ends = _STOPS | _SUBJECTS | _OTHERS
    for at, word in enumerate(text.words):
        if word.text in _SUBJECTS | _OTHERS:
            behind = text.words[at + 1 : at + 4]
            clause = takewhile(lambda word: word.text not in ends, behind)
            verb = (n for n, w in enumerate(clause, at + 1) if w.text not in _FUNCTION)
            for place in islice(verb, 1):
                said = own if word.text in ("i", "we") else others
                said.setdefault(stem(text.words[place].text), Span(at, place + 1))
    return own, others


def _says(text: _Text, *answers: str) -> bool:
    return any(True for answer in answers for _ in _answers(text, answer))


def _unanswered(asked: _Text, text: _Text) -> Iterator[Fact]:
    """A yes, a no or a question of the request, if the draft has none."""
    for match in _ASKS.finditer(asked.raw) if not _REQUESTS.search(text.raw) else ():
        keys = _keys(_Text(match[0], asked.spoken))
        if 2 * len(keys & _keys(text)) < len(keys):
            yield Fact("question", match[0].strip(" ,.;:!\n"), match.span())
    stated, (denied, plain) = _polarities(asked)[1], _polarities(text)
    for at, word in enumerate(asked.words):
        answer = _TABLE["meant"].get(word.text, word.text)
        if answer not in _ANSWERS or (word.text == "no" and not word.begins):
            continue
        key = stem(word.text)
        if word.text != "no" and (key not in stated or key in plain):
            continue
        given = [*_answers(text, answer)]
        given += _answers(text, "acceptance" if answer == "yes" else "refusal")
        given += _answers(text, "mild yes") if answer == "yes" else ()
        says = denied if answer == "no" else plain
        begin = at + 1 + any(w.text == "," for w in asked.words[at + 1 : at + 2])
        clause = asked.words[begin : at + _REACH]
        behind = takewhile(lambda word: word.text not in _STOPS, asked.words[begin:])
        said = any(stem(w.text) in says for w in clause if w.text not in COMMON)
        # "Yes, the room is free" is said by "The room is free".
        states = begin > at + 1 and any(w.text in _DOES for w in behind)
        own = bool(clause) and (clause[0].text in _SUBJECTS or states) and said
        if own or (answer == "no" and denied) or given:
            continue
        end, limit = at + 1, min(at + _LONGEST_ANSWER, len(asked.words))
        while end < limit and asked.words[end].text not in _STOPS:
            end += 1
        while end > at + 1 and asked.words[end - 1].text in _FUNCTION:
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
    return {
        stem(word.text)
        for word in text.words
        if word.text not in COMMON | _FUNCTION
        and len(word.text) > 2
        and word.text.isalnum()
    }


def _judged(
    questions: Sequence[_Text], text: _Text, named: set[str]
) -> Iterator[Question]:
    """A question is answered if the draft names half of what it is about, or a value
    of the kind that it asks for, or has a yes or a no for it; who, by a name that the
    request gave."""
    given, values = _keys(text), {fact.kind for fact, *_ in text.facts()}
    answers = sum(
        len({text.words[one.first].sentence for one in _answers(text, kind)})
        for kind in _ANSWERS
    )
    for question in questions:
        asks, keys = " ".join(word.text for word in question.words), _keys(question)
        kinds = [
            k for says, some in _TABLE["asks_for"].items() if says in asks for k in some
        ]
        answered = 2 * len(keys & given) >= len(keys)
        if kinds:
            answered = not values.isdisjoint(kinds)
        elif not answered and question.words[0].text in _DOES and answers:
            answered, answers = True, answers - 1
        elif not answered and any(w.text in ("who", "whom") for w in question.words):
            answered = not named <= question.names
        yield Question(question.raw, answered)
