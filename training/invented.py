"""Endless examples of invented writers for a mixture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from models.prompts import Request
from models.synthetic_writers.examples import (
    TASKS,
    Example,
    Piece,
    Write,
    asked,
    example_of,
    found_for,
    letter,
    past_of,
    piece_of,
    said,
)
from models.synthetic_writers.writers import (
    Filling,
    Writer,
    common_writer,
    grammar,
    new_writer,
    recipient,
    styled,
)
from training.everyday import Everyday, Facts, table

_STYLED = 0.5  # share of the people whose notes say how they write
_POSTS = ("Introduce me to the group", "Write a few lines about me", "Say who I am")


@dataclass(frozen=True, slots=True)
class Fact:
    """Something true of somebody."""

    kind: dict[str, Any]
    """One of the grammar's facts: what asks for it and what says it."""
    value: str
    filling: Filling

    def told(self, rng: Random) -> str:
        """A sentence that says it."""
        return self.filling.fill(rng.choice(self.kind["say"]))


@dataclass(frozen=True, slots=True)
class Person:
    """A writer, and what the notes say."""

    writer: Writer
    facts: list[Fact]
    notes: str


def new_person(rng: Random, writer: Writer | None = None) -> Person:
    """Somebody with a life; known by the notes alone if no writer is given."""
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


def person_piece(person: Person, rng: Random) -> Piece:
    """A text that says some of the person's facts."""
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


_EVERYDAY_TASKS = ("email", "email", "review", "post", "note")
"""Everyday requests are of all kinds alike, but for mails, which say the most ways of
things."""
OWN_WAY = 0.4
"""Share of the plain examples whose writers have ways of their own, which nothing
shows. Both models then know how likely such ways are before anything is known of a
writer, which is what a history is measured against; if that is left to chance, their
guesses at strange words differ by orders of magnitude."""
_NOTES = 0.2
"""Share of the examples with history that hold notes about the writer, or those
alone."""
_OTHER_KINDS = 0.15
"""Share of the examples with history that show texts of other kinds alone, as a store
does that has none of the kind that is asked for."""

_QUIET = 0.85
"""Share of the writers with ways of their own who are met without their pet phrase. A
specialist that has met few such writers gives one to people who have none."""
_DRY = 0.65
"""Share of the requests with history whose writer is dry. A specialist that has read
the letters of invented writers alone gives their whimsy to everybody."""
_ONE_LINE = 0.5  # share of the dry writers who sign in one line, or not at all
_FORMULA = 0.6
"""Share of the writers whose reviews begin and end in their own set words. A specialist
that has met none of them never begins as the letters do."""
_CONTRAST = 0.5  # share of the others that a dry writer is asked too, nearly
_SHOWN = 3  # texts that must show a pet phrase
_QUIET_PLAIN = 0.5
"""The same if nothing shows the writer's ways: a generalist that has met few pet
phrases refuses them all."""


def synthetic_examples(
    rng: Random,
    private: float,
    everyday: Everyday | None = None,
    share: float = 0.0,
    own_way: float = OWN_WAY,
) -> Iterator[Example]:
    """Endless examples by writers who are each met once: a share of them with history,
    a share of `everyday` requests, and of the plain ones a share by writers with ways
    of their own."""

    def write(writer: Writer, rng: Random, task: str) -> Piece:
        if everyday is not None and rng.random() < share:
            return everyday.piece(writer, rng, task)
        return piece_of(writer, rng, task)

    while True:
        everyday_task = everyday is not None and rng.random() < share
        task = rng.choice(_EVERYDAY_TASKS if everyday_task else TASKS)
        if rng.random() >= private:
            own = rng.random() < own_way
            writer = _met(rng, _QUIET_PLAIN) if own else common_writer(rng)
            piece = write(writer, rng, task)
            yield Example(piece.request, [], piece.text)
        elif rng.random() < _NOTES:
            yield _with_notes(rng)
        elif rng.random() < _OTHER_KINDS:
            yield _with_other_kinds(rng, task, write)
        else:
            yield from _by_somebody(rng, task, write)


def _met(rng: Random, quiet: float = _QUIET) -> Writer:
    """A writer as training meets them: often without a pet phrase."""
    writer = new_writer(rng)
    writer = replace(writer, words=writer.words | _formulas(rng))
    return replace(writer, pet="") if rng.random() < quiet else writer


def _formulas(rng: Random) -> dict[str, str]:
    """How reviews begin and end, of those writers who have set words for it."""
    if rng.random() >= _FORMULA:
        return {}
    kept = {}
    for kind in ("review_opens", "review_ends"):
        template = rng.choice(table()["dry"][kind])
        chosen = Facts(rng, {"of": "{of}", "yes": "{yes}"}, {}).fill(template)
        kept[kind] = chosen if rng.random() < 0.8 else ""
    return kept


def dry_writer(rng: Random) -> Writer:
    """A writer with an ordinary greeting and sign-off and with everybody's words."""
    common, ordinary = common_writer(rng), table()["dry"]
    first = Filling(rng, {}).fill("{first}")
    signs = rng.choice(ordinary["signs"])
    name = Filling(rng, {"first": first, "initial": first[0]}).fill(signs)
    signoff = rng.choice(ordinary["signoff"])
    if rng.random() < _ONE_LINE:
        ended = signoff.rstrip(",")
        signoff = rng.choice(
            (name, f"{ended}, {name}", f"{ended}, {name}", f"{signoff} {name}", ended)
        )
        name = ""
    return replace(
        common,
        words=common.words | _formulas(rng),
        circle=[Filling(rng, {}).fill("{first}") for _ in range(4)],
        greeting=rng.choice(ordinary["greeting"]),
        signoff=signoff,
        name=name,
        opens=rng.choice((0.0, 0.0, 0.0, 0.3)),
        closes=rng.choice((0.0, 0.0, 0.0, 0.3)),
        lower=rng.random() < 0.06,
        contracts=rng.random() < 0.7,
        paragraphs=rng.random() < 0.3,
    )


def _either(rng: Random) -> Writer:
    return dry_writer(rng) if rng.random() < _DRY else _met(rng)


def _by_somebody(rng: Random, task: str, write: Write) -> Iterator[Example]:
    """A text with history by a dry writer, or by one with ways of their own and then
    often by a dry one who is asked much the same. A text has a pet phrase only if at
    least `_SHOWN` of the letters that are read show it."""
    writers = [dry_writer(rng)]
    if rng.random() >= _DRY:
        writers = [_met(rng), *(writers if rng.random() < _CONTRAST else ())]
    asked = rng.random()
    for writer in writers:
        piece = write(writer, Random(asked), task)
        found = found_for(past_of(writer, rng, task, write), piece.request, rng)
        pet = writer.cased(writer.pet)
        if pet and sum(pet in other.text for other in found) < _SHOWN:
            piece = write(replace(writer, pet=""), Random(asked), task)
        yield example_of(piece, found)


def _with_other_kinds(rng: Random, task: str, write: Write) -> Example:
    """What was found is all of other kinds than the text that is asked for."""
    writer = _either(rng)
    others = [kind for kind in TASKS if kind != task]
    count = rng.choice((1, 2, 3, 5))
    past = [write(writer, rng, rng.choice(others)) for _ in range(count)]
    return example_of(write(writer, rng, task), past)


def _with_notes(rng: Random) -> Example:
    """A request that needs the notes, with or without older texts."""
    if rng.random() < 0.5:
        person = new_person(rng)
        piece = person_piece(person, rng)
        return example_of(piece, [], person.notes)
    writer = _either(rng)
    person = new_person(rng, writer)
    piece = person_piece(person, rng)
    past = past_of(writer, rng, piece.request.task)
    return example_of(piece, found_for(past, piece.request, rng), person.notes)
