"""Endless examples of invented writers for training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from models.synthetic_writers import synthetic
from models.synthetic_writers.examples import (
    TASKS,
    Example,
    Write,
    example_of,
    found_for,
    past_of,
    piece_of,
    with_history,
)
from models.synthetic_writers.synthetic import Piece, Writer
from training.writers import persona
from training.writers.everyday import Everyday

_EVERYDAY_TASKS = ("email", "email", "review", "post", "note")
"""Everyday requests are of all kinds alike, but for mails, which say the most ways of
things."""
OWN_WAY = 0.4
"""Share of the plain examples whose writers have ways of their own, which nothing
tells. Both models then know how likely such ways are before anything is known of a
writer, which is what a history is measured against; where that is left to chance, their
guesses at strange words differ by orders of magnitude."""
_NOTES = 0.2
"""Share of the examples with history that hold notes about the writer, or those
alone."""
_OTHER_KINDS = 0.15
"""Share of the examples with history that show texts of other kinds alone, as a store
does that has none of the kind that is asked for."""

_QUIET = 0.75
"""Share of the writers with ways of their own who are met without their pet phrase. A
specialist that has met few such writers gives one to people who have none."""
_QUIET_PLAIN = 0.5
"""The same where nothing tells the writer's ways: a generalist that has met few pet
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
            writer = _met(rng, _QUIET_PLAIN) if own else synthetic.common_writer(rng)
            piece = write(writer, rng, task)
            yield Example(piece.request, [], piece.text)
        elif rng.random() < _NOTES:
            yield _with_notes(rng)
        elif rng.random() < _OTHER_KINDS:
            yield _with_other_kinds(rng, task, write)
        else:
            yield with_history(rng, task, write, _met)


def _met(rng: Random, quiet: float = _QUIET) -> Writer:
    """A writer as training meets them: often without a pet phrase."""
    writer = synthetic.new_writer(rng)
    return replace(writer, pet="") if rng.random() < quiet else writer


def _with_other_kinds(rng: Random, task: str, write: Write) -> Example:
    """What was found is all of other kinds than the text that is asked for."""
    writer = _met(rng)
    others = [kind for kind in TASKS if kind != task]
    count = rng.choice((1, 2, 3, 5))
    past = [write(writer, rng, rng.choice(others)) for _ in range(count)]
    return example_of(write(writer, rng, task), past)


def _with_notes(rng: Random) -> Example:
    """A request that needs the notes, with or without older texts."""
    if rng.random() < 0.5:
        person = persona.new_person(rng)
        piece = persona.piece(person, rng)
        return example_of(piece, [], person.notes)
    writer = _met(rng)
    person = persona.new_person(rng, writer)
    piece = persona.piece(person, rng)
    past = past_of(writer, rng, piece.request.task)
    return example_of(piece, found_for(past, piece.request, rng), person.notes)
