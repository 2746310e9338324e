"""A journal without what was done over: the entries that make the same draft.

Each letter that is typed is an entry, and hours of typing make thousands. Of those that
nothing else looked at in between, the last one alone tells what came of them. What the
models wrote stays as it was told. Undoing is of one sitting, and no entry is for it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import takewhile

from edge_app.tui.draft import (
    Asked,
    Begun,
    Draft,
    Edited,
    Ended,
    Entry,
    LeftOut,
    Offline,
    PutAside,
    ReplyTo,
    Saved,
    Shown,
    Stopped,
    Styled,
    TakenUp,
    asked,
)
from edge_app.tui.text import Run, cut

_WORTH = 200
"""Entries that can go, from which on a journal is written anew."""


def worth_compacting(entries: Sequence[Entry]) -> list[Entry] | None:
    """The entries without what was done over, where that makes a journal much shorter;
    else None."""
    lasting = len(_lasting(entries))
    done_over = len(entries) - lasting
    return compacted(entries) if done_over >= max(_WORTH, lasting) else None


def compacted(entries: Sequence[Entry]) -> list[Entry]:
    """Entries that fold to the very draft that all `entries` fold to; raises ValueError
    where those fold to none."""
    lasting = _lasting(entries)
    whole, short, made = Draft(), Draft(), list[Entry]()
    for at, entry in enumerate(entries):
        whole.apply(entry)
        if at not in lasting:
            continue
        kept: Entry | None = entry
        if isinstance(entry, Edited):
            stood, stands = (
                draft.attempts[entry.version].runs() for draft in (short, whole)
            )
            kept = _difference(entry.version, stood, stands)
        elif isinstance(entry, Asked):
            # None where the brief is what it was, and that is no entry.
            kept = asked(short.request, whole.request)
            if kept is None and at == len(entries) - 1:
                kept = TakenUp()
        if kept is not None:
            short.apply(kept)
            made.append(kept)
    return made


def _lasting(entries: Sequence[Entry]) -> set[int]:
    """The places of the entries whose effect is there at the end."""
    lasting: set[int] = set()
    later: set[tuple[Hashable, ...]] = set()
    for at in range(len(entries) - 1, -1, -1):
        entry = entries[at]
        if isinstance(entry, Begun | Ended | Stopped):
            # These look at what the versions say, and which of them is shown.
            later = {what for what in later if what[0] not in ("edited", "shown")}
        what = _what(entry)
        if what is None or what not in later:
            lasting.add(at)
        if what is not None:
            later.add(what)
    return lasting


def _what(entry: Entry) -> tuple[Hashable, ...] | None:
    """What an entry sets wholly, so that the next of the same kind makes it void; None
    for one that stays."""
    match entry:
        case Edited(version):
            return "edited", version
        case Saved(version):
            return "saved", version
        case LeftOut(source):
            return "left out", source.record_id
        case Asked():
            return ("asked",)
        case Shown():
            return ("shown",)
        case ReplyTo():
            return ("reply to",)
        case Styled():
            return ("styled",)
        case Offline():
            return ("offline",)
        case PutAside() | TakenUp():
            return ("aside",)
        case _:
            return None


def _difference(version: int, stood: list[Run], stands: list[Run]) -> Edited:
    """The entry that makes the one text the other, with its looks."""
    old, new = _letters(stood), _letters(stands)
    same = _alike(old, new)
    end = _alike(old[same:][::-1], new[same:][::-1])
    inserted = cut(stands, same, len(new) - end)
    return Edited(version, same, len(old) - same - end, tuple(inserted))


def _letters(runs: list[Run]) -> list[Run]:
    return [(letter, state) for text, state in runs for letter in text]


def _alike(one: list[Run], other: list[Run]) -> int:
    """How many first letters are the same, looks included."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
