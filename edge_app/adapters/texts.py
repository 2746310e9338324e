"""Which of one's own texts an adapter learns, and which are held out to measure it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Literal

from edge_app.evaluation.cases import Case, CasesError
from edge_app.evaluation.held_out import FEWEST_WORDS, case_of
from personal_store import Store
from personal_store.search.ranking import SAME_TEXT, Entry
from personal_store.text.tokens import shingles

FEWEST = 8
"""Texts to learn and to measure, together."""

HoldOut = Literal["time", "random"]
"""Hold out the newest texts, or some by chance."""


@dataclass(frozen=True, slots=True)
class TextChoice:
    """Which texts are taken from a store."""

    only: Collection[int] | None = None
    """Numbers of the only texts to learn from; None: all."""
    texts: int = 500
    """How many are learnt at most: the newest."""
    held_out: int = 30
    """How many are held out at most; never more than a fifth."""
    by: HoldOut = "time"
    seed: int = 0
    """Of a choice by chance."""


@dataclass(frozen=True, slots=True)
class DividedTexts:
    """Texts to learn, and texts that are held out; each may be asked for, with the
    learnt texts as its history."""

    learnt: Sequence[Case]
    held_out: Sequence[Case]
    texts: dict[int, str]
    """The learnt texts, whole, by their numbers in the store."""


def divided(store: Store, choice: TextChoice) -> DividedTexts:
    """The texts of a store to learn from, and those to measure with.

    A text that says nearly the same as one that is learnt is not held out: it would be
    predicted from itself. No held-out text is ever read while learning, as a retrieved
    passage neither.

    Raises:
        CasesError: there are too few texts.
    """
    entries = [
        entry
        for entry in store.corpus().entries
        if len(entry.terms) >= FEWEST_WORDS
        and (choice.only is None or entry.id in choice.only)
    ]
    line = sorted(entries, key=lambda entry: (entry.sent_at or 0, entry.id))
    count = min(choice.held_out, len(line) // 5)
    if len(line) < FEWEST or not count:
        raise CasesError(
            f"there are {len(line)} texts of {FEWEST_WORDS} words or more, too few to "
            f"learn from: {FEWEST} are needed, and --held-out 1 at least; 'specsteer "
            "import --help' says how to add more"
        )
    newest = line[-choice.texts - count :]
    if choice.by == "random":
        drawn = {e.id for e in Random(choice.seed).sample(newest, count)}
    else:
        drawn = {entry.id for entry in newest[-count:]}
    learnt = [entry for entry in newest if entry.id not in drawn]
    runs = {entry.id: shingles(entry.terms) for entry in newest}

    def others(entry: Entry) -> list[Entry]:
        """The learnt texts that do not hold most of this one already."""
        own = runs[entry.id]
        return [
            other
            for other in learnt
            if other.id != entry.id and len(own & runs[other.id]) < SAME_TEXT * len(own)
        ]

    measured = [
        entry
        for entry in newest
        if entry.id in drawn and len(others(entry)) == len(learnt)
    ]
    if not measured:
        raise CasesError(
            "each text that could be held out says nearly the same as another: nothing "
            "could be measured; --hold-out random takes others"
        )
    group, ids = store.path.name, {entry.id for entry in newest}
    ratings = {one.id: one.rating for one in store.records() if one.id in ids}

    def cases(of: Sequence[Entry]) -> list[Case]:
        made = (
            case_of(store, group, entry, ratings.get(entry.id), partial(others, entry))
            for entry in of
        )
        return [case for case in made if case is not None]

    found = cases(learnt)
    texts = {}
    for number in (int(case.name) for case in found):
        passage = store.passage(number)
        texts[number] = "" if passage is None else passage.text
    return DividedTexts(found, cases(measured), texts)
