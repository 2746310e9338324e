"""CoGenesis: tasks with a person's profile and writing history.

As its authors publish it (`conversations`, `profile`, `additional_profile`), and as
CoSteer's released copy has it (`input`, `personalized_input`, `output`). The wording of
the prompt is that of `data/ablation` in github.com/TsinghuaC3I/CoGenesis; the paper is
arXiv 2403.03129.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.quality.query import Query, Room
from benchmarks.quality.sets.files import File, Row, word
from edge_app.evaluation.cases import CasesError
from edge_app.retrieval.context import Prompts
from models.prompts import Message

_ASSISTANT = (
    "You are now a helpful personal AI assistant. You should emulate the author's "
    "style and tone based on provided history content. Your responses should be "
    "detailed and informative, using the personal information reasonably in the "
    "user's profile. Aim for insightful and high-quality solutions that make users "
    "satisfied."
)


def is_cogenesis(row: Row) -> bool:
    """Whether a row is of one of the two forms."""
    return "personalized_input" in row or {"conversations", "profile"} <= row.keys()


def cogenesis_queries(file: File) -> Iterator[Query]:
    """The tasks of a file; raises CasesError for one that cannot be read."""
    for number, row in enumerate(file.rows, 1):
        where = file.where(number)
        if "personalized_input" in row:
            asked, text = word(row, "input", where), word(row, "output", where)
            private = partial(_given, word(row, "personalized_input", where))
        else:
            try:
                said = {
                    turn["from"]: turn["value"]
                    for turn in reversed(row["conversations"])
                }
                asked, text = str(said["user"]), str(said["assistant"])
            except (KeyError, TypeError) as error:
                raise CasesError(
                    f"{where}: 'conversations' must have a turn of user and of "
                    "assistant"
                ) from error
            past = row["profile"]
            whole = isinstance(past, list) and all(
                isinstance(one, dict) and {"title", "text"} <= one.keys()
                for one in past
            )
            if not whole:
                raise CasesError(f"{where}: 'profile' must be a list of title and text")
            about = str(row.get("additional_profile") or "").strip()
            private = partial(_told, asked, past, about)
        name = str(row.get("tid", row.get("id", number)))
        yield Query(
            dataset=file.name,
            user=name,
            name=name,
            kind="text",
            asked=asked,
            prompts=partial(_prompts, asked, private),
            source=file.sha256,
            text=text,
        )


def told(asked: str, history: Sequence[Mapping[str, Any]], about: str) -> str:
    """The private prompt: profile, past texts, task."""
    past = "\n\n".join(
        f"Task: {one['title']}\nContent: {one['text']}" for one in history
    )
    return (
        f"{_ASSISTANT}\n\n## User Profile\n{about}\n\n## User Writing History\n{past}"
        f"\n\n## Task\n{asked}\n"
    )


def _prompts(asked: str, private: partial[tuple[int, ...]], room: Room) -> Prompts:
    return room.fitting(room.ids([Message("user", asked)]), private(room))


def _given(text: str, room: Room) -> tuple[int, ...]:
    return room.ids([Message("user", text)])


def _told(
    asked: str, history: Sequence[Mapping[str, Any]], about: str, room: Room
) -> tuple[int, ...]:
    """As many past texts as are asked for, the first ones, and as leave room."""
    for count in range(min(len(history), room.passages), -1, -1):
        ids = room.ids([Message("user", told(asked, history[:count], about))])
        if len(ids) <= room.limit:
            return ids
    return ids
