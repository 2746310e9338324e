"""The last texts of one's own store, each to be predicted from earlier ones.

Nobody kept what was asked for a text. What stands in for it is the subject; for a
review the stars, beside what it is of; else the text's own first words, which are then
read but not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from edge_app.evaluation.cases import Case, CasesError, History, opened
from models.prompts import Request
from personal_store import Store
from personal_store.search.ranking import SAME_TEXT, Entry
from personal_store.text.tokens import shingles

YOURS, SAMPLE = "your texts", "sample letters"
FEWEST_WORDS = 12
"""Shorter texts say little and are not measured."""
_FEWEST_BEFORE = 3
"""Texts that must have been there when a text was written."""


def held_out(store: Store, count: int, group: str = YOURS) -> list[Case]:
    """A case for each of the last `count` own texts of each kind; their histories are
    the texts before them.

    Raises:
        CasesError: there are too few texts.
    """
    # Texts without a date may be of any time and are left out, unless none has a date:
    # then the order of import counts.
    entries = store.corpus().entries
    dated = [entry for entry in entries if entry.sent_at is not None] or entries
    line = sorted(dated, key=lambda entry: (entry.sent_at or 0, entry.id))
    last: list[tuple[int, Entry]] = []
    for kind in sorted({entry.kind for entry in line}):
        usable = [
            (place, entry)
            for place, entry in enumerate(line)
            if entry.kind == kind and len(entry.terms) >= FEWEST_WORDS
        ]
        last += [one for one in usable[-count:] if one[0] >= _FEWEST_BEFORE]
    ids = {entry.id for _, entry in last}
    ratings = {one.id: one.rating for one in store.records() if one.id in ids}
    cases = [
        case_of(
            *(store, group, entry, ratings.get(entry.id)),
            partial(earlier, line[:place], entry),
        )
        for place, entry in last
    ]
    kept = [case for case in cases if case is not None]
    if not kept:
        raise CasesError(
            f"there are {len(line)} texts, too few to predict one from those before "
            "it; 'specsteer import --help' says how to add more"
        )
    return kept


def earlier(before: Sequence[Entry], entry: Entry) -> list[Entry]:
    """Those of the texts `before` that were surely written before `entry` and do not
    hold most of it already."""
    runs = shingles(entry.terms)
    return [
        other
        for other in before
        if other.id != entry.id
        and (other.sent_at is None or other.sent_at != entry.sent_at)
        and len(runs & shingles(other.terms)) < SAME_TEXT * len(runs)
    ]


def case_of(
    store: Store,
    group: str,
    entry: Entry,
    rating: float | None,
    others: Callable[[], Sequence[Entry]],
) -> Case | None:
    """A stored text as it would have been asked for, with `others` as its history; None
    where nothing of it is left to be predicted."""
    passage = store.passage(entry.id)
    if passage is None:
        return None
    parts = [passage.subject.strip()]
    if rating is not None:
        parts.append(f"{rating:g} stars")
    asked, beginning = ", ".join(part for part in parts if part), ""
    text = passage.text
    if not asked:  # how the text begins must be given instead
        beginning, text = opened(text)
        asked = beginning
    if not text.strip():
        return None

    def history() -> History:
        return History(others(), store.passage)

    return Case(
        group=group,
        genre=passage.kind,
        user="you",
        name=str(entry.id),
        request=Request(asked, passage.kind, passage.recipient),
        history=history,
        text=text,
        beginning=beginning,
    )
