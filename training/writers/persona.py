"""Invented people known from notes: who they are, and how they say they write.

What a text tells about its writer stands in the notes and in no request, so that it has
to be read from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from models.prompts import Request
from models.synthetic_writers.grammar import Filling, grammar
from models.synthetic_writers.synthetic import Piece, asked, letter, said
from models.synthetic_writers.writers import (
    Writer,
    common_writer,
    new_writer,
    recipient,
    styled,
)

_STYLED = 0.5
"""Share of the people whose notes say how they write."""
_POSTS = ("Introduce me to the group", "Write a few lines about me", "Say who I am")


@dataclass(frozen=True, slots=True)
class Fact:
    """Something true of somebody."""

    kind: dict[str, Any]
    """One of the grammar's facts: what asks for it and what tells it."""
    value: str
    filling: Filling

    def told(self, rng: Random) -> str:
        """A sentence that tells it."""
        return self.filling.fill(rng.choice(self.kind["say"]))


@dataclass(frozen=True, slots=True)
class Person:
    """A writer, and what the notes say."""

    writer: Writer
    facts: list[Fact]
    notes: str


def new_person(rng: Random, writer: Writer | None = None) -> Person:
    """Somebody with a life; known by the notes alone where no writer is given."""
    from_notes = writer is None
    if writer is None:
        writer = new_writer(rng) if rng.random() < _STYLED else common_writer(rng)
    surname = Filling(rng, {}).fill("{surname}")
    first = writer.name or Filling(rng, {}).fill("{first}")
    describes = from_notes and bool(writer.name)
    writer = replace(writer, name=first)
    kinds = rng.sample(grammar()["fact"], rng.randint(3, 8))
    facts = []
    for kind in kinds:
        filling = Filling(rng, {})
        facts.append(Fact(kind, filling.fill(kind["value"]), filling))
    lines = [("Name", f"{first} {surname}", f"I am {first} {surname}.")]
    lines += [(f.kind["key"], f.value, f.filling.fill(f.kind["prose"])) for f in facts]
    if describes:
        style = _style(writer)
        lines.append(("Writing_style", style, f"How I write: {style}."))
    return Person(writer, facts, _notes(lines, rng))


def piece(person: Person, rng: Random) -> Piece:
    """A text that tells some of the person's facts."""
    chosen = rng.sample(person.facts, min(len(person.facts), rng.choice((1, 1, 2))))
    if rng.random() < 0.25:
        return _post(person, rng)
    writer, name = person.writer, recipient(person.writer, rng)
    asks, says = [], []
    for fact in chosen:
        them = Filling(rng, {"them": rng.choice(("her", "him", "them"))})
        asks.append(them.pick(fact.kind["ask"]))
        says.append(fact.told(rng))
    named: tuple[str, ...] = ()
    if rng.random() < 0.5:
        act = rng.choice([a for a in grammar()["act"] if not a.get("formal")])
        part = said(act, writer, rng, name)
        asks.insert(0, part.ask)
        says.insert(0, part.say)
        named = part.named
    text, habits = letter(writer, rng, name, says)
    request = Request(asked(asks, rng), "email", name)
    return Piece(request, "", text, habits, (*named, *(f.value for f in chosen)))


def _post(person: Person, rng: Random) -> Piece:
    writer = person.writer
    chosen = person.facts[: rng.randint(2, 5)]
    says = [f"I am {writer.name}.", *(fact.told(rng) for fact in chosen)]
    if writer.pet:
        says.append(writer.pet)
    text = " ".join(styled(writer, rng, say) for say in says)
    request = Request(rng.choice(_POSTS), "post")
    return Piece(request, "", text, {}, tuple(fact.value for fact in chosen))


def _notes(lines: Sequence[tuple[str, str, str]], rng: Random) -> str:
    """The facts as people keep them: a profile, a list, or sentences."""
    form = rng.random()
    if form < 0.6:
        return "\n".join(f"{key}: {value}" for key, value, _ in lines)
    if form < 0.75:
        return "\n".join(f"- {prose}" for _, _, prose in lines)
    return " ".join(prose for _, _, prose in lines)


def _style(writer: Writer) -> str:
    """How the writer writes, in words."""
    greeting = writer.cased(writer.greeting.replace("{name}", "NAME"))
    parts = [f'greets with "{greeting}"', f'signs off "{writer.cased(writer.signoff)}"']
    if writer.pet:
        parts.append(f'always says "{writer.cased(writer.pet)}"')
    flags = (
        (writer.lower, "small letters only"),
        (writer.trails, "three dots after sentences"),
        (writer.ampersand, '"&" for "and"'),
        (writer.exclaims > 0.5, "many exclamation marks"),
        (bool(writer.emoji), f"now and then {writer.emoji}"),
        (writer.paragraphs, "a new paragraph for each thing"),
    )
    return "; ".join([*parts, *(words for holds, words in flags if holds)])
