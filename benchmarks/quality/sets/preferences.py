"""Questions with a wish that only the device knows, and no true answer.

The four preference sets of CoSteer (arXiv 2507.04756): rows of `id` and `input`, of
which one asks for an answer that is as concise as possible, and so on. Its code has the
sentence that is added. Whether an answer fulfils the wish is for a scorer to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from benchmarks.quality.query import Query, Room
from benchmarks.quality.sets.files import File, Row, word
from edge_app.retrieval.context import Prompts
from models.prompts import Message

WISHES = ("concise", "creative", "uplifting", "verbose")


def is_preference(row: Row) -> bool:
    """Whether a row asks, and has neither history nor answer."""
    return "input" in row and not row.keys() & {"profile", "top_5", "output"}


def preference_queries(file: File, wishes: Sequence[str]) -> Iterator[Query]:
    """A query for each wish and question; raises CasesError for a broken row."""
    for wish in wishes:
        for number, row in enumerate(file.rows, 1):
            asked = word(row, "input", file.where(number))
            name = str(row.get("id", number))
            yield Query(
                dataset=f"{file.name}, {wish}",
                user=name,
                name=name,
                kind="open",
                asked=asked,
                prompts=partial(_prompts, asked, wish),
                source=file.sha256,
                wish=wish,
            )


def _prompts(asked: str, wish: str, room: Room) -> Prompts:
    private = f"{asked}\nYour answer should be as {wish} as possible"
    return room.fitting(
        room.ids([Message("user", asked)]), room.ids([Message("user", private)])
    )
