"""Everyday requests as people type them, and texts that say each thing in them.

The request names things in everyday words: abbreviated, in small letters, joined by
commas. The text says every one of them, in the words of the request, and nothing else:
a reader learns to carry names, figures, yes and no over. What is named is composed
anew each time, or taken from a bank of phrases of real texts.

Most requests are scenes, which people wrote by hand. A file of `scenes/` holds one
after the other, parted by empty lines:

    email: Mr {surname}
    boiler man came, part is {sum} => The boiler man came, and the part costs {sum}.
    ask if he wants the old one => Do you want the old one?

First the kind of text, with whom a mail is for or what a review is of; then a line for
each thing that is asked for, and behind `=>` how it is said; a note says things as they
were asked. Slots and free choices are those of `everyday.toml`; `[a|b]` is a choice
that stays the same throughout a scene.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from random import Random
from typing import Any

from models.prompts import Request
from models.synthetic_writers.examples import Piece, framed, letter, shown
from models.synthetic_writers.writers import (
    Writer,
    capitalised,
    grammar,
    habits,
    invented_name,
    named_slots,
    recipient,
    tidy,
)

TASKS = "email", "review", "post", "note"


@dataclass(frozen=True)
class Scene:
    """A request written by hand: its things in their order."""

    task: str
    of: str
    """Template: whom a mail is for or what a review is of; empty if that is free."""
    things: tuple[tuple[str, str], ...]
    """Templates: what asks for each thing, and the sentence that says it."""

    @cached_property
    def easily_lost(self) -> bool:
        """Whether something is denied or costs money: what a weak reader gets wrong."""
        return any(_DENIED.search(ask) for ask, _ in self.things)


@cache
def scenes() -> Mapping[str, Sequence[Scene]]:
    """All scenes by the kind of text."""
    files = sorted(Path(__file__).with_name("scenes").glob("*.txt"))
    every = [scene for file in files for scene in read_scenes(file)]
    return {task: [one for one in every if one.task == task] for task in TASKS}


def read_scenes(file: Path) -> Iterator[Scene]:
    """The scenes of one file.

    Raises:
        ValueError: a scene begins with no kind or holds nothing, or a line has no
            sentence; it names file and line.
    """
    task, of, things, begun = "", "", list[tuple[str, str]](), 0
    for number, line in enumerate([*file.read_text("utf-8").splitlines(), ""], 1):
        line = line.strip()
        if line.startswith("#"):
            continue
        if not line:
            if task and not things:
                raise ValueError(f"{file.name}:{begun}: nothing is asked for")
            if task:
                yield Scene(task, of, tuple(things))
            task, things = "", []
        elif not task:
            task, _, of = (part.strip() for part in line.partition(":"))
            begun = number
            if task not in TASKS:
                raise ValueError(f"{file.name}:{number}: {task!r} is no kind of text")
            if task == "review" and not of:
                raise ValueError(f"{file.name}:{number}: a review of what?")
        else:
            ask, arrow, say = (part.strip() for part in line.partition("=>"))
            if not arrow and task != "note":
                raise ValueError(f"{file.name}:{number}: nothing says {ask!r}")
            things.append((ask, say or ask))


Bank = Mapping[str, Sequence[str]]
"""Phrases of real texts by slot: `np`, `vp`, `i_bank`, `s_bank`; and sentences that
stand in a row, a line each: `told`, and of reviews `reviewed`; and words: `word`."""

_SLOT = re.compile(r"\{(\w+)\}")
_CHOICE = re.compile(r"\(([^()|]*(?:\|[^()|]*)+)\)")
_FIGURE = re.compile(r"digit\d+b?")
_SAME_CHOICE = re.compile(r"\[([^\[\]|]*(?:\|[^\[\]|]*)+)\]")
_PRONOUN_SLOTS = "them", "they", "their", "theyre", "have", "want", "need", "like"
_PRONOUNS = (
    ("her", "she", "her", "she is", "has", "wants", "needs", "likes"),
    ("him", "he", "his", "he is", "has", "wants", "needs", "likes"),
    ("them", "they", "their", "they are", "have", "want", "need", "like"),
)
_REAL = {"mine1": "i_bank", "theirs": "s_bank", "deed": "vp", "the": "np"}
"""Kinds of things, and where real phrases of the kind are found."""
_REAL_SHARE = 0.15
_TOLD_SHARE = 0.4
"""Share of the texts that say sentences of a real one, if the bank has some."""
_DENIED = re.compile(
    r"\b(?:no|not|never|nobody|none|neither|without|nothing|(?:do|does|did|is|are|was"
    r"|wo|ca|could|would|should|have|has|need)n'?t)\b|\{sum",
    re.IGNORECASE,
)
_GOOD = re.compile(
    r"\b(?:good|great|lovely|nice|best|kind|friendly|warm|clean|fast|quick|happy|fresh"
    r"|perfect|patient|excellent|delicious|comfy|easy|helpful|love\w*|worth|again)\b",
    re.IGNORECASE,
)
_BAD = re.compile(
    r"\b(?:bad|cold|slow|rude|dirty|late|broke\w*|never|not|no|too|stale|wrong|noisy"
    r"|poor|worst|waited|refund\w*|stopped|leak\w*|overpriced|disappoint\w*)\b",
    re.IGNORECASE,
)
_LOST_SHARE = 0.35  # share of the scenes that hold such a thing in any case
_SCENE_SHARE = 0.9  # share of the requests that are scenes written by hand
_WHOLE_SHARE = 0.75  # share of the scenes that are asked for to their end
_TWO_SHARE = 0.25  # share of the scenes of mails and notes that a short one follows
_FEW = 4  # things of a short scene, at most
_DROPPED = (
    (r"\b(?:the|a|an) ", 0.75),
    (r"\b(?:is|are|was|were|am) ", 0.5),
    (r"\b(?:very|really|just|so|quite|that) ", 0.5),
    (r"^(?:I|We|It|This|They|There)(?: have| had| am| was)? ", 0.6),
    (r"^(?:I'm|It's|They're|We're|I've) ", 0.6),
)
"""Words that people in a hurry leave out, and how often."""
_SWAPPED_SHARE = 0.2
"""Share of the scenes in which words that are asked for and said are swapped for words
that make no sense there: such a word cannot be known, and has to be copied."""
_SWAPPED = 0.35  # share of such a scene's words that are swapped
_WORD = re.compile(r"[A-Za-z]{4,}")
_USUAL = 40  # scenes from which on a word is too common to be swapped
_APOSTROPHE = re.compile(r"(?<=[A-Za-z])'(?=(?:t|s|re|ve|ll|d|m)\b)")
_COUNTS = (1, 2, 2, 3, 3, 4, 4, 5, 5, 6)  # how many things a request holds


@cache
def table() -> dict[str, Any]:
    """What everyday requests are about: `everyday.toml`."""
    path = Path(__file__).with_name("everyday.toml")
    return tomllib.loads(path.read_text("utf-8"))


@cache
def _slots() -> Mapping[str, Sequence[str]]:
    return {**grammar()["slots"], **table()["review"], **table()["slots"]}


class Facts:
    """What the slots of one thing that is said stand for. The same slot is the same
    thing; a slot with another figure at its end is another thing of its kind."""

    def __init__(self, rng: Random, known: Mapping[str, str], bank: Bank) -> None:
        self._rng, self._bank = rng, bank
        self.values = dict(known)  # what each slot stands for
        self._known = frozenset(known)
        self._decided: dict[str, str] = {}

    def fill(self, template: str) -> str:
        """The template with every slot and choice filled. The choices of `[a|b]` are
        the same in each template."""
        decided = _SAME_CHOICE.sub(lambda m: self._decision(m[1]), template)
        return tidy(_SLOT.sub(lambda m: self._value(m[1]), self._chosen(decided)))

    @property
    def named(self) -> tuple[str, ...]:
        """What was named, but for the words of the writer."""
        return tuple(v for slot, v in self.values.items() if slot not in self._known)

    def _decision(self, choices: str) -> str:
        if choices not in self._decided:
            self._decided[choices] = self._rng.choice(choices.split("|"))
        return self._decided[choices]

    def _chosen(self, template: str) -> str:
        return _CHOICE.sub(lambda m: self._rng.choice(m[1].split("|")), template)

    def _value(self, slot: str) -> str:
        if slot not in self.values:
            others = set(self.values.values())
            drawn = self._drawn(slot)
            while drawn in others:
                drawn = self._drawn(slot)
            self.values[slot] = drawn
        return self.values[slot]

    def _drawn(self, slot: str) -> str:
        """A thing of this kind; the things in it are drawn anew. `digitN`, or `digitNb`
        for another one, is a number in figures up to about N; above 50 it has as many
        figures as N."""
        if _FIGURE.fullmatch(slot):
            most = int(slot.removeprefix("digit").rstrip("b"))
            least = most // 9 if most > 50 else min(2, most - 1)
            return str(
                self._rng.randint(least, most + most // 10 if most > 50 else most)
            )
        if slot.rstrip("0123456789") == "invented":
            return invented_name(self._rng)
        real = self._bank.get(_REAL.get(slot.rstrip("0123456789"), slot))
        if real and (slot in self._bank or self._rng.random() < _REAL_SHARE):
            return self._rng.choice(real)
        kinds = _slots().get(slot) or _slots()[slot.rstrip("0123456789")]
        template = self._chosen(self._rng.choice(kinds))
        inner = Facts(self._rng, {}, self._bank)
        return tidy(_SLOT.sub(lambda m: inner._value(m[1]), template))


@dataclass(slots=True)
class Things:
    """What asks for each thing, the sentence that says it, and what both name."""

    asks: list[str] = field(default_factory=list)
    says: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)

    def add(self, facts: Facts, ask: str, say: str, place: int | None = None) -> None:
        """One more thing, at a place or as the last."""
        place = len(self.asks) if place is None else place
        self.asks.insert(place, facts.fill(ask))
        self.says.insert(place, _sentence(facts.fill(say)))


class Everyday:
    """Writes pieces of everyday requests; with a bank, some of its phrases are real."""

    def __init__(self, bank: Bank | None = None) -> None:
        self._bank: Bank = bank or {}

    def piece(self, writer: Writer, rng: Random, task: str) -> Piece:
        """A request of this task, and what the writer answers."""
        write = {
            "email": self._email,
            "review": self._review,
            "post": self._post,
            "note": self._note,
        }[task]
        return write(writer, rng)

    def _email(self, writer: Writer, rng: Random) -> Piece:
        played = _played(rng, "email")
        whom = self._facts(rng, {})
        name = whom.fill(played[0].of) if played and played[0].of else ""
        name = name or recipient(writer, rng)
        plural = name in ("team", "all", "everyone") or " and " in name
        pronouns = rng.choice(_PRONOUNS[2:] if plural else _PRONOUNS)
        spoken_of = dict(zip(_PRONOUN_SLOTS, pronouns, strict=True))
        known = writer.words | spoken_of | {"name": name}
        if played:
            things = self._scenes(rng, played, known | whom.values)
        else:
            things = self._told(rng, "told", ("say", "tell {name}", "mention"))
        asks = things.asks = [ask.replace("{name}", name) for ask in things.asks]
        few = (0, 0, 0, 1) if played else (0, 0, 1, 2) if asks else _COUNTS
        place = rng.choice((0, len(asks)))
        for ask, say in _chosen(rng, "email", rng.choice(few)):
            if any(name in one for one in asks):
                # Once named, most people say "her".
                ask = ask.replace("{name}", rng.choice(("{them}", "{them}", "{name}")))
            facts = self._facts(rng, known)
            things.add(facts, ask, say, place)
            things.named += facts.named
        # Nobody greets "the council".
        greeted = "" if name.startswith(("the ", "my ")) else name
        text, habits_shown = letter(writer, rng, greeted, things.says)
        given = name
        if any(name in ask for ask in asks):
            given = name if rng.random() < 0.4 else ""
        elif rng.random() < 0.5:
            given, how = "", rng.choice(table()["to"])
            asks[0] = how.replace("{name}", name).replace("{ask}", asks[0])
        request = Request(asked(asks, rng), "email", given)
        return Piece(request, "", text, habits_shown, tuple(things.named))

    def _post(self, writer: Writer, rng: Random) -> Piece:
        known = writer.words | {"name": "everyone", "them": "people"}
        played = _played(rng, "post")
        if played:
            things = self._scenes(rng, played, known)
        else:
            things = self._told(rng, "told", ("say", "post that", "tell people"))
        few = (0,) if played else (0, 1, 1, 2) if things.asks else (1, 2, 3, 3, 4, 5)
        self._add(rng, things, _chosen(rng, "post", rng.choice(few)), known)
        text = " ".join(framed(writer, rng, things.says, letter=False))
        text = writer.cased(" ".join(filter(None, (writer.hail, text, writer.hashtag))))
        kept = shown(writer, text, {"hail": writer.hail, "hashtag": writer.hashtag})
        request = Request(asked(things.asks, rng), "post")
        return Piece(request, "", text, kept, tuple(things.named))

    def _review(self, writer: Writer, rng: Random) -> Piece:
        played = _played(rng, "review")
        of = self._facts(rng, {})
        name = of.fill(played[0].of if played else "{of}")
        if played:
            things = self._scenes(rng, played, writer.words | of.values)
        else:
            things = self._told(rng, "reviewed", ("say", "say that"))
        asks = things.asks
        few = (0,) if played else (0, 1, 2, 3) if asks else (1, 2, 3, 4, 4, 5, 6, 7)
        parts = rng.sample(table()["review"]["part"], rng.choice(few))
        self._add(rng, things, parts, writer.words)
        given = name if rng.random() < 0.6 else ""
        opens = writer.words.get("review_opens", "")
        if not given:
            how = rng.choice(("review of {of}: {ask}", "{of}: {ask}", "{of}, {ask}"))
            asks[0] = how.replace("{of}", name).replace("{ask}", asks[0])
        if opens or not given:
            opens = (opens or "This is about {of}.").replace("{of}", name)
            things.says.insert(0, _sentence(opens))
        if ends := writer.words.get("review_ends", ""):
            said = " ".join(asks)
            liked = len(_BAD.findall(said)) <= len(_GOOD.findall(said))
            yes = rng.choice(table()["dry"]["review_yes" if liked else "review_no"])
            things.says.append(_sentence(ends.replace("{yes}", yes)))
        text = writer.cased(" ".join(framed(writer, rng, things.says, letter=False)))
        request = Request(asked(asks, rng), "review", given)
        return Piece(request, "", text, shown(writer, text, {}), tuple(things.named))

    def _note(self, writer: Writer, rng: Random) -> Piece:
        known = writer.words | {"name": "me", "them": "them"}
        played = _played(rng, "note")
        things = self._scenes(rng, played, known)
        for _ in range(0 if played else rng.choice((1, 2, 3, 4, 5, 5, 6, 7))):
            kind = rng.choice(table()["note"])
            facts = self._facts(rng, known)
            things.asks.append(facts.fill(rng.choice(kind["ask"])))
            things.says.append(_sentence(things.asks[-1]))
            things.named += facts.named
        mark = writer.words["note_mark"]
        written = [
            (f"{number}. " if mark == "1" else mark) + say
            for number, say in enumerate(things.says, 1)
        ]
        if writer.heading:
            written.insert(0, writer.heading)
        text = writer.cased("\n".join(written))
        lead = rng.choice(("", "", "", "note: ", "remember: ", "to do: ", "list: "))
        request = Request(lead + asked(things.asks, rng), "note")
        kept = shown(writer, text, {"heading": writer.heading})
        return Piece(request, "", text, kept, tuple(things.named))

    def _facts(self, rng: Random, known: Mapping[str, str]) -> Facts:
        return Facts(rng, known, self._bank)

    def _add(
        self,
        rng: Random,
        things: Things,
        templates: Sequence[tuple[str, str]],
        known: Mapping[str, str],
    ) -> None:
        """Things of their own, each with what it names."""
        for ask, say in templates:
            facts = self._facts(rng, known)
            things.add(facts, ask, say)
            things.named += facts.named

    def _scenes(
        self, rng: Random, played: Sequence[Scene], known: Mapping[str, str]
    ) -> Things:
        """The things of these scenes."""
        found = Things()
        for scene in played:
            facts = self._facts(rng, known)
            count = len(scene.things)
            if rng.random() >= _WHOLE_SHARE:
                count = rng.randint(1, count)
            for ask, say in scene.things[:count]:
                found.add(facts, ask, say)
            found.named += facts.named
        words = self._bank.get("word")
        if words and rng.random() < _SWAPPED_SHARE:
            return swapped(found, words, known, rng)
        return found

    def _told(self, rng: Random, slot: str, ways: Sequence[str]) -> Things:
        """Sentences of a real text, sometimes: what asks for each, and they themselves.
        Nothing of them is counted as named."""
        if not self._bank.get(slot) or rng.random() >= _TOLD_SHARE:
            return Things()
        says = rng.choice(self._bank[slot]).split("\n")
        asks = []
        for say in says:
            ask = say.rstrip(".!")
            if rng.random() < 0.75:
                for words, share in _DROPPED:
                    if rng.random() < share:
                        ask = re.sub(words, "", ask, flags=re.IGNORECASE)
            if not re.match(r"I\b|I'", ask):
                ask = ask[:1].lower() + ask[1:]
            if rng.random() < 0.3:
                ask = f"{rng.choice(ways)} {ask}"
            asks.append(ask)
        return Things(asks, says)


def asked(asks: Sequence[str], rng: Random) -> str:
    """Several things to say, as somebody in a hurry or at leisure types them."""
    style = rng.random()
    if style < 0.3:
        request = " ".join(f"{capitalised(ask).rstrip('?.')}." for ask in asks)
    elif style < 0.6:
        request = ", ".join(asks)
    elif style < 0.7:
        request = "; ".join(asks)
    elif style < 0.8:
        request = ", ".join(asks[:-1]) + (" and " if asks[1:] else "") + asks[-1]
    elif style < 0.86:
        request = " and ".join(asks)
    elif style < 0.93:
        request = ". ".join(asks)
    else:
        request = "\n".join(f"- {ask}" for ask in asks)
    if rng.random() < 0.5:
        request = request[:1].upper() + request[1:]
    if rng.random() < 0.25:
        request = _hurried(request, rng)
    if rng.random() < 0.2:
        request = _APOSTROPHE.sub("", request)
    if rng.random() < 0.12:
        request = request.lower()
    if rng.random() < 0.1:
        request += rng.choice(
            (" thanks", " keep it short", " be friendly", ". be polite")
        )
    return request


def _played(rng: Random, task: str) -> list[Scene]:
    """The scenes of one request: none, one, or two that are short."""
    if rng.random() >= _SCENE_SHARE:
        return []
    every = scenes()[task]
    easily_lost = [scene for scene in every if scene.easily_lost]
    played = [rng.choice(easily_lost if rng.random() < _LOST_SHARE else every)]
    if task in ("email", "note") and rng.random() < _TWO_SHARE:
        short = [scene for scene in rng.sample(every, 8) if not scene.of]
        played += [one for one in short if len(one.things) <= _FEW][:1]
    return played


@cache
def _usual_words() -> frozenset[str]:
    """Words that stand in many scenes, and the names of days and months."""
    found: Counter[str] = Counter()
    for scene in (one for task in scenes().values() for one in task):
        said = " ".join(say for _, say in scene.things)
        found.update(set(_WORD.findall(said.lower())))
    common = {word for word, count in found.items() if count >= _USUAL}
    calendar = {word.lower() for word in table()["short"]}
    return frozenset(common | calendar | {"march", "april", "june", "july"})


def swapped(
    things: Things, words: Sequence[str], known: Mapping[str, str], rng: Random
) -> Things:
    """These things with some of the words that are both asked for and said swapped for
    others, the same all through; those of `known` values stay."""

    def words_in(texts: Iterable[str]) -> set[str]:
        return {word.lower() for text in texts for word in _WORD.findall(text)}

    both = words_in(things.asks) & words_in(things.says)
    others = {
        word: rng.choice(words)
        for word in sorted(both - words_in(known.values()) - _usual_words())
        if rng.random() < _SWAPPED
    }

    def other(match: re.Match[str]) -> str:
        made = others.get(match[0].lower(), match[0])
        return capitalised(made) if match[0][0].isupper() else made

    parts = (things.asks, things.says, things.named)
    return Things(*([_WORD.sub(other, one) for one in some] for some in parts))


def _chosen(rng: Random, task: str, count: int) -> list[tuple[str, str]]:
    """Things to say: what asks for each, and a sentence that says it."""
    kinds = table()[task]
    weights = [kind["weight"] for kind in kinds]
    made = []
    for kind in rng.choices(kinds, weights, k=count):
        asks, fits = kind.get("ask", []), kind.get("fits", [])
        ask = rng.choice([*asks, *(one for one, _ in fits)])
        exactly = [say for one, say in fits if one == ask]
        alike = [say for say in kind.get("say", ()) if _named(say) == _named(ask)]
        say = rng.choice(exactly or alike)
        made.append((ask, say))
    return made


def _named(template: str) -> frozenset[str]:
    return (
        named_slots(template) - frozenset(_PRONOUN_SLOTS) - frozenset(habits()["words"])
    )


def _hurried(request: str, rng: Random) -> str:
    shortened = table()["short"]

    def short(match: re.Match[str]) -> str:
        word = match[0]
        return str(rng.choice(shortened[word])) if rng.random() < 0.7 else word

    return re.sub(rf"(?<![\w'])(?:{'|'.join(shortened)})(?![\w'])", short, request)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
