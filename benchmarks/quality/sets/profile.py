"""Questions with a profile, as LaMP and LongLaMP publish them.

LaMP: a list of `id`, `input`, `profile` and a file of golds beside it. LongLaMP: each
row has its own `output`. A row may bring past texts chosen before, as `top_5`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from rank_bm25 import BM25Okapi

from benchmarks.quality.query import Query, Room
from benchmarks.quality.sets.files import File, Row, word
from benchmarks.quality.sets.templates import Template, template_of
from edge_app.evaluation.cases import CasesError
from edge_app.retrieval.context import Prompts
from models.prompts import Message

_BM25: Any = BM25Okapi  # it comes without types
_CHOICES = re.compile(r"(?:tags|categories): \[(.*?)\]")
_USERS = ("user_id", "user", "name", "reviewerId", "author")
"""Who wrote it, by task; LaMP has one question a user, and no name."""
_FEWEST_TOKENS = 8
"""A past text that is cut to less tells nothing."""

Entry = Mapping[str, Any]


def profile_queries(
    file: File, golds: Mapping[str, str], sha256: str
) -> Iterator[Query]:
    """The questions of a file; raises CasesError for one that cannot be read."""
    for number, row in enumerate(file.rows, 1):
        where = file.where(number)
        name = str(row.get("id", number))
        asked = word(row, "input", where)
        template = template_of(asked, next(iter(_entries(row, where)), None))
        if template is None:
            raise CasesError(f"{where}: this asks for no task of LaMP or LongLaMP")
        if "output" not in row and name not in golds:
            raise CasesError(
                f"{where}: there is no true answer to question {name}; give the file "
                "of outputs as well"
            )
        text = word(row, "output", where) if "output" in row else golds[name]
        labels: tuple[str, ...] = ()
        if template.name == "LaMP-1":
            labels = ("[1]", "[2]")
        elif template.kind == "choice" and (listed := _CHOICES.search(asked)):
            labels = tuple(label.strip() for label in listed.group(1).split(","))
        yield Query(
            dataset=f"{template.name}, {file.name}",
            user=next((str(row[key]) for key in _USERS if row.get(key)), name),
            name=name,
            kind=template.kind,
            asked=asked,
            prompts=partial(_prompts, template, asked, row, where),
            source=sha256,
            text=text.strip(),
            labels=labels,
        )


def best(
    template: Template, asked: str, row: Row, where: str, count: int
) -> list[Entry]:
    """Up to `count` past texts, best first, as published: BM25 on words between spaces,
    or those that the row brings."""
    entries = _entries(row, where)
    if "top_5" in row:
        return entries[:count]
    if not entries or not count:
        return []
    index = _BM25([template.terms(entry).split() or [""] for entry in entries])
    found: list[Entry] = index.get_top_n(template.query(asked).split(), entries, count)
    return found


def shortened(
    template: Template, entries: Sequence[Entry], tokens: int, room: Room
) -> list[str]:
    """Past texts in up to `tokens` together: each has an even share, and what one does
    not need goes to those after it. One that has no room is left out."""
    shown, saved = [], 0
    share = tokens // len(entries) if entries else 0
    for entry in entries:
        frame = room.count(template.shown(entry, "")) + 2  # and what joins it
        free = share + saved - frame
        text = template.text(entry)
        if free < min(_FEWEST_TOKENS, room.count(text)):
            saved += share
            continue
        text = room.cut(text, free)
        saved = free - room.count(text)
        shown.append(template.shown(entry, text))
    return shown


def _prompts(
    template: Template, asked: str, row: Row, where: str, room: Room
) -> Prompts:
    public = private = room.ids([Message("user", asked)])
    entries = best(template, asked, row, where, room.passages)
    free = room.limit - len(public)
    while entries and free > 0:
        whole = template.whole(asked, shortened(template, entries, free, room))
        private = room.ids([Message("user", whole)])
        if len(private) <= room.limit:
            break
        free -= len(private) - room.limit
        private = public
    return room.fitting(public, private)


def _entries(row: Row, where: str) -> list[Entry]:
    found = row.get("top_5", row.get("profile"))
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise CasesError(f"{where}: 'profile' must be a list of objects")
    return found
