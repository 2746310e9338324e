"""Synthetic writers of emails, reviews, posts and notes.

A request says what to write and names things; the text names them too. How it sounds
can be read from the writer's other texts alone. Those whose past is unknown write the
common way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from models.prompts import Excerpt, Request
from models.synthetic_writers.grammar import Filling, capitalised, grammar, named_slots
from models.synthetic_writers.writers import (
    Writer,
    common_writer,
    new_writer,
    recipient,
    styled,
)

__all__ = ["Piece", "Writer", "answers", "common_writer", "new_writer", "pieces"]

_LONG = 0.12
"""Share of emails that are long and say many things."""
_MORE, _MORE_WHEN_LONG = 0.02, 0.1
"""Share of the things about which more is said than was asked. Were it large, letters
would say what nobody asked for."""
_PLAINLY = 0.6
"""Share of the things that are said in the fewest words."""
_GROUPS = ("team", "all", "everyone")


@dataclass(frozen=True, slots=True)
class Piece:
    """A request and the text a writer answers it with."""

    request: Request
    subject: str
    text: str
    habits: dict[str, str] = field(default_factory=dict)
    """What of the writer's ways the text shows, word for word, by kind."""
    named: tuple[str, ...] = ()
    """What the request names and the text names too."""

    def excerpt(self) -> Excerpt:
        """The piece as it stands in a private prompt."""
        request = self.request
        return Excerpt(request.task, request.recipient, self.subject, self.text)


@dataclass(frozen=True, slots=True)
class Said:
    """One thing that is asked for, and the sentence that says it."""

    ask: str
    say: str
    more: str
    subject: str
    named: tuple[str, ...]


def pieces(writer: Writer, rng: Random, task: str, count: int) -> Iterator[Piece]:
    """Texts of one task by one writer, each with the request that asks for it."""
    write = {"email": _email, "review": _review, "post": _post, "note": _note}[task]
    for _ in range(count):
        yield write(writer, rng)


def answers(act: dict[str, Any], ask: str) -> list[str]:
    """The sentences of an act that name exactly what the request names."""
    return [say for say in act["say"] if named_slots(say) == named_slots(ask)]


def letter(
    writer: Writer, rng: Random, name: str, says: Sequence[str], apart: bool = False
) -> tuple[str, dict[str, str]]:
    """An email that says these sentences to somebody, and the habits it shows."""
    greeting = writer.greeting.replace("{name}", name) if name else "Hello,"
    joined = ("\n\n" if writer.paragraphs or apart else " ").join(
        framed(writer, rng, says)
    )
    start = f"{greeting} {joined}" if writer.run_on else f"{greeting}\n\n{joined}"
    end = f"{writer.signoff}\n{writer.name}" if writer.name else writer.signoff
    if writer.postscript and not writer.closes:
        end += f"\n\nPS {styled(writer, rng, writer.words['closer'])}"
    text = writer.cased(f"{start}\n\n{end}")
    habits = {"greeting": greeting, "sign-off": writer.signoff, "name": writer.name}
    return text, shown(writer, text, habits)


def said(act: dict[str, Any], writer: Writer, rng: Random, name: str) -> Said:
    """One thing to ask for, and how the writer says it."""
    them = "them" if name in _GROUPS else rng.choice(("her", "him", "them"))
    filling = Filling(rng, writer.words | {"name": name, "them": them})
    ask = rng.choice(act["ask"])
    slots = named_slots(ask)
    fitting = [s for s in act.get("subject", ("",)) if named_slots(s) <= slots]
    ways = answers(act, ask)
    if rng.random() < _PLAINLY:
        plain = [way for way in ways if "{interjection}" not in way]
        ways = [min(plain or ways, key=len)]
    asked, say = filling.fill(ask), filling.pick(ways)
    return Said(
        asked,
        say,
        filling.pick(act["more"]),
        capitalised(filling.pick(fitting)),
        tuple(filling.values[slot] for slot in sorted(slots)),
    )


def _email(writer: Writer, rng: Random) -> Piece:
    name = recipient(writer, rng)
    long = rng.random() < _LONG
    count = rng.choice((3, 4, 4, 5)) if long else rng.choice((1, 1, 2, 2, 2, 3))
    formal = rng.random() < 0.2
    fitting = [act for act in grammar()["act"] if act.get("formal", False) == formal]
    acts = rng.sample(fitting, min(count, len(fitting)))
    parts = [said(act, writer, rng, name) for act in acts]
    asks = [part.ask for part in parts]
    says = [
        f"{part.say} {part.more}"
        if rng.random() < (_MORE_WHEN_LONG if long else _MORE)
        else part.say
        for part in parts
    ]
    named = any(name in ask for ask in asks)
    if not named and not writer.name and rng.random() < 0.2:
        name = ""
    given = "" if named and rng.random() < 0.4 else name
    text, habits = letter(writer, rng, name, says, apart=long)
    request = Request(asked(asks, rng), "email", given)
    things = tuple(thing for part in parts for thing in part.named)
    return Piece(request, parts[0].subject, text, habits, things)


def _review(writer: Writer, rng: Random) -> Piece:
    kind, words = rng.choice(grammar()["venue"]), grammar()["review"]
    judgements, good = _judgements(writer, rng, kind)
    mood = "good" if good else "bad"
    features = [f"{adjective} {topic}" for adjective, topic, _ in judgements]
    stars = rng.choice(words[f"stars_{mood}"])
    known = {"features": listed(features, rng), "stars": stars}
    filling = Filling(rng, writer.words | known)
    ask = rng.choice(words["ask"])
    extra = sorted(named_slots(ask) - {"features"})
    request = Request(filling.fill(ask), "review", filling.pick(kind["name"]))
    says = [say for _, _, say in judgements]
    says += [filling.pick(words[f"say_{slot}"]) for slot in extra]
    verdict = writer.words[f"verdict_{mood}"]
    own = bool(writer.name)
    if own or rng.random() < 0.4:
        says.append(verdict)
    text = writer.cased(" ".join(framed(writer, rng, says, letter=False)))
    habits = shown(writer, text, {"verdict": verdict} if own else {})
    named = [word for adjective, topic, _ in judgements for word in (adjective, topic)]
    named += [filling.values[slot] for slot in extra]
    return Piece(request, "", text, habits, tuple(named))


def _judgements(
    writer: Writer, rng: Random, kind: dict[str, Any]
) -> tuple[list[tuple[str, str, str]], bool]:
    """What was how, with a sentence for each, and whether it was good on the whole."""
    happy, liked, made = rng.random(), 0, []
    for topic in rng.sample(kind["topic"], rng.choice((1, 2, 2, 3, 3, 4))):
        mood = "good" if rng.random() < happy else "bad"
        liked += 1 if mood == "good" else -1
        adjective = rng.choice(kind[mood])
        was = "were" if topic.endswith("s") else "was"
        known = {"topic": topic, "adjective": adjective, "was": was}
        filling = Filling(rng, writer.words | known)
        say = filling.pick(grammar()["review"][f"say_{mood}"])
        made.append((adjective, topic, say))
    return made, liked > 0


def _post(writer: Writer, rng: Random) -> Piece:
    act = rng.choice(grammar()["post"])
    part = said(act, writer, rng, "")
    says = [part.say, part.more] if rng.random() < _MORE else [part.say]
    text = " ".join(framed(writer, rng, says, letter=False))
    text = writer.cased(" ".join(filter(None, (writer.hail, text, writer.hashtag))))
    habits = shown(writer, text, {"hail": writer.hail, "hashtag": writer.hashtag})
    return Piece(Request(capitalised(part.ask), "post"), "", text, habits, part.named)


def _note(writer: Writer, rng: Random) -> Piece:
    choices = grammar()["slots"]["chore"]
    kinds = rng.sample(choices, rng.randint(2, 6))
    chores = [Filling(rng, {}).fill(kind) for kind in kinds]
    filling = Filling(rng, {"chores": listed(chores, rng)})
    ask = filling.pick(grammar()["note"]["ask"])
    mark = writer.words["note_mark"]
    lines = [
        (f"{number}. " if mark == "1" else mark) + chore[:1].upper() + chore[1:]
        for number, chore in enumerate(chores, 1)
    ]
    if writer.heading:
        lines.insert(0, writer.heading)
    if writer.emoji:
        lines.append(writer.emoji)
    text = writer.cased("\n".join(lines))
    habits = shown(writer, text, {"heading": writer.heading})
    return Piece(Request(ask, "note"), "", text, habits, tuple(chores))


def framed(
    writer: Writer, rng: Random, says: Sequence[str], letter: bool = True
) -> list[str]:
    """The sentences as the writer puts them, with those they always say."""
    sentences = [styled(writer, rng, say) for say in says]
    if writer.pet:
        last = len(sentences)
        place = {"first": 0, "middle": min(1, last), "last": last}[writer.pet_place]
        sentences.insert(place, writer.cased(writer.pet))
    if letter and rng.random() < writer.opens:
        sentences.insert(0, styled(writer, rng, writer.words["opener"]))
    if letter and rng.random() < writer.closes:
        sentences.append(styled(writer, rng, writer.words["closer"]))
    return sentences


def shown(writer: Writer, text: str, habits: dict[str, str]) -> dict[str, str]:
    """The habits that a text really shows, in the letters it has."""
    if not writer.name:
        return {}  # nobody in particular
    cased = {
        kind: writer.cased(phrase)
        for kind, phrase in (habits | {"pet phrase": writer.pet}).items()
    }
    return {k: phrase for k, phrase in cased.items() if phrase and phrase in text}


def asked(asks: Sequence[str], rng: Random) -> str:
    """A request for several things, as people put it."""
    style = rng.random()
    if style < 0.65:
        return " ".join(f"{capitalised(ask).rstrip('?')}." for ask in asks)
    if style < 0.8:
        return "; ".join(asks)
    if style < 0.9:
        return ", and ".join(asks)
    return "\n".join(f"- {ask}" for ask in asks)


def listed(parts: Sequence[str], rng: Random) -> str:
    """Things in a row."""
    joined = rng.choice((", ", ", ", "; ", " and ")).join(parts)
    return capitalised(joined) if rng.random() < 0.7 else joined
