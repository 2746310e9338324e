"""Requests by invented writers that no training has met, with the facts that their
generator knows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.content.requests import Asked, Fact
from benchmarks.content.rules import rule_of
from benchmarks.content.values import KINDS, value_of, values, words_of
from benchmarks.content.writing import Task
from edge_app.evaluation.cases import History
from models.synthetic_writers.examples import texts_of_unseen_writer
from models.synthetic_writers.synthetic import Piece
from personal_store import Passage

_PAST = 6
"""Texts of a writer that stand in the history."""
_DROPPED = re.compile(r"(an?|the|my|your|our|his|her|their|i|we|you|he|she|they)\b")
"""Words that a text may say otherwise, as it speaks of other people."""
_WITHIN = ("date", "day", "money", "number")
"""Values that are looked for within a longer name of a thing."""


def unseen_tasks(count: int, seed: int) -> list[Task]:
    """`count` requests, each by a writer of its own whose other texts are known."""
    tasks: list[Task] = []
    number = 0
    while len(tasks) < count:
        first, *past = texts_of_unseen_writer(1 + _PAST, 1_000 * seed + number)
        number += 1
        facts = facts_of(first)
        if not facts:
            continue
        asked = Asked(f"writer-{number}", first.request, facts)
        habits = {kind: (habit,) for kind, habit in first.habits.items()}
        tasks.append(Task(asked, History.of(_passages(past)), habits))
    return tasks


def facts_of(piece: Piece) -> tuple[Fact, ...]:
    """What the request of a text names and the text must name too."""
    found = []
    for thing in dict.fromkeys(piece.named):
        bare = _DROPPED.sub("", thing).strip()
        kinds = [kind for kind in KINDS if value_of(kind, bare) is not None]
        if "number" in kinds:
            # Of people, or of the clock.
            kinds = [kind for kind in ("number", "time") if kind in kinds]
        says = [rule_of(f"{{{kind} {bare}}}") for kind in kinds]
        if not says and (words := _words(thing)):
            says, kinds = [rule_of(" .. ".join(words))], ["thing"]
        if says:
            found.append(Fact(thing, kinds[0], (*says,)))
    return tuple(found)


def _words(thing: str) -> list[str]:
    """The words of a thing as a rule has them, values in braces."""
    words = words_of(thing)
    held: dict[int, tuple[str, int]] = {}
    for kind in _WITHIN:
        for place, length, _ in values(kind, words):
            held.setdefault(place, (kind, length))
    rule, place = [], 0
    while place < len(words):
        kind, length = held.get(place, ("", 1))
        said = " ".join(word.text for word in words[place : place + length])
        place += length
        if kind and value_of(kind, said) is not None:
            rule.append(f"{{{kind} {said}}}")
        elif said.isalnum() and not _DROPPED.fullmatch(said):
            rule.append(said)
    return rule


def _passages(past: Sequence[Piece]) -> list[Passage]:
    return [
        Passage(
            record_id=number,
            kind=piece.request.task,
            recipient=piece.request.recipient,
            subject=piece.subject,
            text=piece.text,
            date=None,
            score=0.0,
            score_parts={},
            source="invented",
        )
        for number, piece in enumerate(past, 1)
    ]
