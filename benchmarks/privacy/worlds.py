"""Writers with histories, and what is asked of them: invented ones that no training has
met, and those of files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from edge_app.evaluation.cases import CasesError, History
from edge_app.evaluation.eval_files import read_files
from models.prompts import Request
from models.synthetic_writers.examples import texts_of_unseen_writer
from models.synthetic_writers.synthetic import Piece
from personal_store import Passage

_FIRST_DAY = datetime(2024, 1, 1, 12, tzinfo=UTC)
_MOST_LETTERS = 40
"""Of a writer of a file: more than any request reads, and soon searched."""


@dataclass(frozen=True, slots=True)
class Task:
    """A text that a writer asks for."""

    request: Request
    text: str = ""
    """What they really wrote; empty where that is not known."""
    habits: tuple[tuple[str, str], ...] = ()
    """Kinds of habits and how they show in that text, word for word."""


@dataclass(frozen=True, slots=True)
class Writer:
    """A person with past texts."""

    name: str
    letters: tuple[Passage, ...]
    tasks: tuple[Task, ...] = field(default=())

    def history(self) -> History:
        """The letters as the store searches them."""
        return History.of(self.letters)


def invented_writers(count: int, letters: int, texts: int, seed: int) -> list[Writer]:
    """Writers of a grammar, each with so many letters and so many texts to write."""
    found = []
    for number in range(count):
        pieces = texts_of_unseen_writer(texts + letters, 10_000 * seed + number)
        tasks = tuple(
            Task(p.request, p.text, tuple(sorted(p.habits.items())))
            for p in pieces[:texts]
        )
        past = tuple(letter_of(n, p) for n, p in enumerate(pieces[texts:], 1))
        found.append(Writer(f"invented-{number}", past, tasks))
    return found


def letter_of(number: int, piece: Piece) -> Passage:
    """A text of an invented writer as one of their letters."""
    made = piece.excerpt()
    return letter(number, made.task, made.recipient, made.subject, made.text)


def letter(number: int, kind: str, recipient: str, subject: str, text: str) -> Passage:
    """A past text, one day after the one with the number before."""
    return Passage(
        record_id=number,
        kind=kind,
        recipient=recipient,
        subject=subject,
        text=text,
        date=_FIRST_DAY + timedelta(days=number),
        score=0.0,
        score_parts={},
        source="invented",
    )


def writers_of_files(paths: Sequence[Path], count: int, texts: int) -> list[Writer]:
    """The first writers of some files with sets of histories and texts; raises
    CasesError where there are fewer than two."""
    by_user: dict[tuple[str, str], list[Task]] = {}
    letters: dict[tuple[str, str], tuple[Passage, ...]] = {}
    for case in read_files(paths, count, texts):
        key = case.group, case.user
        by_user.setdefault(key, []).append(Task(case.request, case.text))
        if key not in letters:
            past = case.history()
            found = [past.passage(one) for one in past.kinds()]
            letters[key] = tuple(
                letter(n, p.kind, p.recipient, p.subject, p.text)
                for n, p in enumerate(filter(None, found[-_MOST_LETTERS:]), 1)
            )
    writers = [
        Writer("/".join(key), letters[key], tuple(tasks))
        for key, tasks in by_user.items()
        if letters[key]
    ]
    if len(writers) < 2:
        raise CasesError("there must be two writers at least to tell apart")
    return writers[:count]
