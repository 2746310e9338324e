"""Which facts of a draft nobody asked for, and which of the request it lacks.

A name, number, date, time, amount, address, yes or no of a draft is looked for in the
request, the thread that is answered and the letters that were read. Nothing is
resolved: "tomorrow" is no date.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

from edge_app.facts.phrases import NEGATIONS, Span, WordsOf, forms_of, stem
from edge_app.facts.values import ENGLISH, KINDS, Language, language
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
_VAGUE = frozenset(("a", "an", "both", "couple", "half", "once", "one", "single"))
"""Number words that say no number by themselves."""
_OF_FORM = frozenset(("lines", "paragraph", "paragraphs", "sentence", "sentences"))
"""Behind a number that says how a text is to be, not what it says."""
_NOT_THIS = frozenset(("not", "than"))  # just before a value that need not be said
_ORDINAL = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b")
_ADDRESS = re.compile(
    r"[^\s<>()\[\],;:\"']+@[^\s<>()\[\],;:\"'@]+\w|(?:https?://|www\.)[^\s<>\"']*[\w/]"
    r"|\+?\d[\d ()/-]{5,}\d|\b(?=\w*\d)(?=\w*[A-Z])[\w-]{2,}(?: \d[A-Z]{2})?\b"
)
"""Addresses of mail and the web, telephone numbers, and codes such as SW1A 2AA."""
_NAME = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_GOES_ON = re.compile(r"[^\W_]['’]? (?<!\band )\Z|[,&/] ?\Z")
"""What stands before a word that does not begin a sentence, nor an errand in a list."""
_EVERYDAY = 2_000
"""By frequency: words that get a capital letter within a sentence by courtesy."""
_TABLE = tomllib.loads(Path(__file__).with_name("answers.toml").read_text("utf-8"))
_NO_NAMES, _FUNCTION = (
    frozenset(_TABLE[name].split()) for name in ("no_names", "function")
)
_NO_NAMES |= WORDS["titles"] | WORDS["greetings"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact as it stands in a draft or a request."""

    kind: str  # of `KINDS`, or `name`, `address`, `answer`
    text: str
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Report:
    """What a draft makes of the facts it was given."""

    invented: tuple[Fact, ...]  # of the draft; they stand in no source
    missing: tuple[Fact, ...]  # of the request

    def in_words(self) -> list[str]:
        """A line for each kind of finding; none if there is nothing to say."""
        found = (("not from you", self.invented), ("missing", self.missing))
        return [
            f"{says}: {', '.join(dict.fromkeys(fact.text for fact in facts))}"
            for says, facts in found
            if facts
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

    def facts(self) -> Iterator[tuple[Fact, Any, Span | None]]:
        """Addresses and values, each with its value and words; none is part of a
        longer one."""
        used: set[int] = set()
        for match in _ADDRESS.finditer(self.raw):
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
                    article = self.raw[max(0, first - 4) : first]
                    said = self.raw[first:last]
                    said = (
                        article + said if (kind, article) == ("date", "the ") else said
                    )
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
                named = {of for other, of in self.dates if other == day and of}
                return held and (not month or month in (named or self.months))
            case "month":
                return value in self.months
            case "number":
                money = {amount for *_, amount in self.values("money")}
                return value in self.numbers | money or fact.text in self.figures
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


class Checker:
    """Compares drafts with a request and what was read for it."""

    def __init__(
        self,
        request: str,
        recipient: str = "",
        notes: Iterable[str] = (),
        letters: Iterable[str] = (),
        spoken: str | None = None,
    ) -> None:
        """`notes` are the thread and what else the person gave; `spoken` is the code of
        the language, if it is known."""
        self._spoken = language(spoken)
        self._asked = _Text(request, self._spoken)
        self._recipient = _Text(recipient, self._spoken)
        told = (recipient, request, *notes, *letters)
        self._read = _Text("\n\n".join(told), self._spoken)

    def check(self, draft: str) -> Report:
        """What of the draft stands in no source, and what of the request it lacks."""
        text = _Text(draft, self._spoken)
        found = [
            fact for fact, value, _ in text.facts() if not self._read.holds(fact, value)
        ]
        found += [one for one in text.named() if fold(one.text) not in self._read.names]
        found += _turned(self._asked, text)
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
        return Report(tuple(invented), tuple(self._missing(text)))

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
            if fold(fact.text) not in known:
                known.add(fold(fact.text))
                yield fact
        yield from _unanswered(asked, text)


_DENY = NEGATIONS | {"unable"}
_SUBJECTS = frozenset(("i", "he", "she", "we", "they"))
_BEHIND_NO = _SUBJECTS | {"to", "it", "thanks", "thank", ",", "."}
"""Behind a "no" that is an answer."""
_DECLINES = frozenset(("cancel", "decline", "refuse"))
_STOPS = frozenset((*".,;:?!", "but", "because", "so"))
_REACH = 4  # words behind a denial among which is what it denies


def _polarities(text: _Text) -> tuple[dict[str, Span], dict[str, Span]]:
    """What is denied and what is not, by stem: the first telling word behind a denial,
    and every other one."""
    denied: dict[str, Span] = {}
    plain: dict[str, Span] = {}
    taken = set()
    for at, word in enumerate(text.words):
        after = text.words[at + 1].text if at + 1 < len(text.words) else ""
        if word.text not in _DENY or (word.text == "no" and after in _BEHIND_NO):
            continue
        for behind in range(at + 1, min(at + 1 + _REACH, len(text.words))):
            other = text.words[behind]
            if other.text in _STOPS | _SUBJECTS or other.sentence != word.sentence:
                break
            if other.text.isalpha() and other.text not in _FUNCTION:
                taken.add(behind)
                denied.setdefault(stem(other.text), Span(at, behind + 1))
                break
    for at, word in enumerate(text.words):
        if at not in taken and word.text.isalpha() and word.text not in _FUNCTION:
            plain.setdefault(stem(word.text), Span(max(0, at - 1), at + 1))
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
    words = {word.text for word in asked.words}
    declines = bool(words & _DECLINES) or any(True for _ in _answers(asked, "no"))
    declines = declines or any(
        one.text == "no" and (other.text in _BEHIND_NO or other.begins)
        for one, other in pairwise(asked.words)
    )
    if not declines and ("yes" in words or not denied):
        spans += _answers(text, "firm no")
    elif declines and "yes" not in words:
        given = (*_answers(text, "clear yes"), *_answers(text, "taking part"))
        spans += [one for one in given if text.words[one.last - 1].text not in plain]
    for span in spans:
        first, last = text.where(span)
        yield Fact("answer", text.raw[first:last], (first, last))


def _unanswered(asked: _Text, text: _Text) -> Iterator[Fact]:
    """A yes or a no that the request names, if the draft has none."""
    for at, word in enumerate(asked.words):
        if word.text not in ("yes", "no") or (word.text == "no" and not word.begins):
            continue
        given = _answers(text, word.text)
        if word.text == "yes":
            given = chain(given, _answers(text, "mild yes"))
        denies = word.text == "no" and _polarities(text)[0]
        if denies or any(True for _ in given):
            continue
        end = at + 1
        while (
            end < min(at + 6, len(asked.words)) and asked.words[end].text not in _STOPS
        ):
            end += 1
        first, last = asked.where(Span(at, end))
        yield Fact("answer", asked.raw[first:last], (first, last))
        return


def _answers(text: WordsOf, answer: str) -> Iterator[Span]:
    """Where an answer stands."""
    for part in forms_of(answer):
        yield from text.found(part)
