"""Writers whom no model has met: each has habits for life, drawn at random.

Greetings, sign-offs and pet phrases are composed from parts, so that hardly any two
writers share one: how a writer sounds can be read from their texts alone."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Literal

_SLOT = re.compile(r"\{(\w+)\}")
_CHOICE = re.compile(r"\(([^()|]*(?:\|[^()|]*)+)\)")
_ON = re.compile(r"\bon (tomorrow|next|this)\b")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeiouAEIOU])")
_SENTENCE_START = re.compile(r"(^|[.!?]\s+)([a-z])")
_STAYS = re.compile(r"I\b|[A-Z]{2}|God")
"""Words of a habit that keep their capital within a sentence."""

NOT_NAMED = frozenset(("name", "them", "interjection"))
"""Slots of a request that no sentence has to name again, besides the habits."""


def grammar() -> dict[str, Any]:
    """What is written about: `grammar.toml`."""
    return _read("grammar.toml")


def habits() -> dict[str, Any]:
    """How it is written: `habits.toml`."""
    return _read("habits.toml")


@cache
def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))


class Filling:
    """What the slots of one act stand for; the first use of a slot decides."""

    def __init__(self, rng: Random, known: dict[str, str]) -> None:
        self.rng = rng
        self.values = dict(known)

    def fill(self, template: str) -> str:
        """The template with every slot and choice filled."""
        chosen = _CHOICE.sub(lambda m: self.rng.choice(m[1].split("|")), template)
        return tidy(_SLOT.sub(self._filled, chosen))

    def pick(self, templates: Sequence[str]) -> str:
        """One of the templates, filled."""
        return self.fill(self.rng.choice(templates))

    def _filled(self, match: re.Match[str]) -> str:
        value = self._value(match[1])
        within = match.string[: match.start()].endswith((", ", ": "))
        if within and match[1] in habits()["words"] and not _STAYS.match(value):
            return value[:1].lower() + value[1:]
        return value

    def _value(self, slot: str) -> str:
        if slot == "invented":
            return invented_name(self.rng)
        if slot not in self.values:
            lists = grammar()["slots"]
            self.values[slot] = self.pick(lists.get(slot) or grammar()["pronoun"][slot])
        return self.values[slot]


def composed(template: str, rng: Random, known: dict[str, str]) -> str:
    """A template of `habits.toml`, filled with parts that are drawn each time; slots
    with a capital begin with one. `known` is what stays, such as `{name}`."""

    if "{" not in template:
        return template

    def part(match: re.Match[str]) -> str:
        slot, kind = match[1], match[1].lower()
        if slot in known:
            return known[slot]
        if kind == "invented":
            word = invented_name(rng).lower()
        else:
            lists = habits()["parts"].get(kind) or grammar()["slots"][kind]
            word = composed(rng.choice(lists), rng, known)
        return word[:1].upper() + word[1:] if slot[0].isupper() else word

    return tidy(_SLOT.sub(part, template))


def named_slots(template: str) -> frozenset[str]:
    """The slots of a request or a sentence that say what it is about."""
    found = set(_SLOT.findall(template))
    return frozenset(found - NOT_NAMED - set(habits()["words"]))


def tidy(text: str) -> str:
    """Grammar that depends on the words filled in."""
    text = _ON.sub(r"\1", text)  # nobody writes "on tomorrow"
    return _ARTICLE.sub(r"\1n ", text)


def capitalised(text: str) -> str:
    """The text with a capital after each full stop, as most people write."""
    return _SENTENCE_START.sub(lambda m: m[1] + m[2].upper(), text)


def invented_name(rng: Random) -> str:
    """A name nobody has, so that names must be copied and cannot be known."""
    starts, vowels, ends = habits()["invented"].values()
    syllables = range(rng.randint(1, 2))
    stem = "".join(rng.choice(starts) + rng.choice(vowels) for _ in syllables)
    return (stem + str(rng.choice(ends))).capitalize()


_INVENTED = 0.25  # share of names that are made up on the spot
_COMMON = 0.15  # share of greetings and sign-offs that many people share
_CONTRACTIONS = ((" I am ", " I'm "), (" it is ", " it's "), (" I will ", " I'll "))


@dataclass(frozen=True, slots=True)
class Writer:
    """Someone with habits; `words` are what their slots stand for."""

    words: dict[str, str]
    greeting: str  # with `{name}` for whom it greets
    signoff: str
    name: str = ""  # how they sign; empty for somebody unknown
    pet: str = ""  # A sentence that stands in every text but notes
    pet_place: Literal["first", "middle", "last"] = "last"
    hail: str = ""  # how a post begins
    hashtag: str = ""
    heading: str = ""  # how a note begins
    opens: float = 0.0
    closes: float = 0.0
    lower: bool = False
    ampersand: bool = False
    contracts: bool = True
    dashes: bool = False
    trails: bool = False  # whether sentences end in three dots
    exclaims: float = 0.0
    emoji: str = ""
    paragraphs: bool = False
    run_on: bool = False
    postscript: bool = False
    circle: list[str] = field(default_factory=list)
    """People they write to again and again."""

    def cased(self, text: str) -> str:
        """The text in the writer's letters, small or both."""
        return text.lower() if self.lower else text


def new_writer(rng: Random) -> Writer:
    """A writer with habits of their own."""
    known = {"name": "{name}", "partner": _person(rng)}
    for slot in ("home", "animal", "elder", "drink"):  # one life each
        known[slot] = composed(f"{{{slot}}}", rng, {})
    words = {"partner": known["partner"]}
    for word, choices in habits()["words"].items():
        words[word] = composed(rng.choice(choices), rng, known)
    for habit in ("tag", "verdict_good", "verdict_bad"):
        slot = "interjection" if habit == "tag" else habit
        words[slot] = composed(rng.choice(habits()[habit]["own"]), rng, known)
    style = {
        "pet_place": rng.choice(("first", "middle", "last", "last")),
        "opens": rng.choice((0.0, 0.0, 0.4, 1.0)),
        "closes": rng.choice((0.0, 0.0, 0.4, 1.0)),
        "lower": rng.random() < 0.12,
        "ampersand": rng.random() < 0.1,
        "contracts": rng.random() < 0.7,
        "dashes": rng.random() < 0.12,
        "trails": rng.random() < 0.08,
        "shouts": rng.random() < 0.08,
        "exclaims": rng.choice((0.0, 0.0, 0.0, 0.15, 0.4, 0.8)),
        "emoji": words["emoji"] if rng.random() < 0.25 else "",
        "paragraphs": rng.random() < 0.4,
        "run_on": rng.random() < 0.08,
        "postscript": rng.random() < 0.08,
        "circle": [_person(rng) for _ in range(4)],
    }
    if style.pop("shouts"):
        words["very"] = words["very"].upper()

    def drawn(habit: str, common: float = 0.0, none: float = 0.0) -> str:
        if rng.random() < none:
            return ""
        kind = "common" if rng.random() < common else "own"
        phrase = composed(rng.choice(habits()[habit][kind]), rng, known)
        return phrase[:1].upper() + phrase[1:]

    phrases = {
        "greeting": drawn("greeting", _COMMON),
        "signoff": drawn("signoff", _COMMON),
        "pet": drawn("pet", none=0.2),
        "hail": drawn("hail", none=0.3),
        "hashtag": drawn("hashtag", none=0.5).replace(" ", "").replace("'", ""),
        "heading": drawn("heading", none=0.3),
        "name": _signature(rng),
    }
    return Writer(words, **phrases, **style)  # type: ignore[arg-type]


def common_writer(rng: Random) -> Writer:
    """Somebody nothing is known about: common words and no name."""
    common = habits()["common"]
    words = {word: rng.choice(choices) for word, choices in common.items()}
    words["interjection"] = words["tag"]
    return Writer(
        words,
        words["greeting"],
        words["signoff"],
        opens=0.15,
        closes=0.15,
        paragraphs=rng.random() < 0.4,
    )


def styled(writer: Writer, rng: Random, text: str) -> str:
    """The text as this writer would put it: casing, dashes, emoji and the like."""
    text = capitalised(text[:1].upper() + text[1:])
    if writer.contracts:
        for long, short in _CONTRACTIONS:
            text = text.replace(long, short)
    if writer.ampersand:
        text = text.replace(" and ", " & ")
    if writer.dashes:
        text = text.replace(", ", " - ")
    if writer.trails:
        text = re.sub(r"(?<=\w)\.(?=\s|$)", "...", text)
    if text.endswith(".") and rng.random() < writer.exclaims:
        text = text.rstrip(".") + "!"
    if writer.emoji and rng.random() < 0.5:
        text = f"{text} {writer.emoji}"
    return writer.cased(text)


def recipient(writer: Writer, rng: Random) -> str:
    """Whom the writer writes to: often somebody they know well."""
    if writer.circle and rng.random() < 0.4:
        return rng.choice(writer.circle)
    if rng.random() < 0.1:
        return str(rng.choice(grammar()["slots"]["kin"]))
    return _person(rng)


def _person(rng: Random) -> str:
    if rng.random() < _INVENTED:
        return invented_name(rng)
    return str(rng.choice(grammar()["slots"]["first"]))


def _signature(rng: Random) -> str:
    name = _person(rng)
    form = rng.random()
    if form < 0.6:
        return name
    if form < 0.68:
        return name[0]
    if form < 0.8:
        return f"{name} {invented_name(rng)}"
    if form < 0.9:
        return composed(f"{name} the {{Noun}}", rng, {})
    return f"{name} {rng.choice(('x', 'xx', ':)', '(and the dog)', '& co'))}"
