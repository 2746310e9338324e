"""Histories with texts to predict, as `specsteer lab evaluate` reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from benchmarks.quality.query import Query, Room
from benchmarks.quality.sets.files import File, Row
from edge_app.evaluation.cases import Case
from edge_app.evaluation.eval_files import read_files
from edge_app.retrieval.context import PromptBuilder, Prompts, RetrievalQuery


def is_history(row: Row) -> bool:
    """Whether a row is a user with a history and queries."""
    return {"history", "queries"} <= row.keys()


def history_queries(file: File) -> Iterator[Query]:
    """The queries of a file; raises CasesError for a broken line."""
    for case in read_files([file.path]):
        yield Query(
            dataset=file.name,
            user=case.user,
            name=case.name,
            kind="text",
            asked=case.request.text,
            prompts=partial(_prompts, case),
            source=file.sha256,
            text=case.text,
            beginning=case.beginning,
            searches=True,
        )


def _prompts(case: Case, room: Room) -> Prompts:
    """The prompts of the app, with how the text begins at their ends."""
    beginning = room.tokenize(case.beginning, False)
    retrieved = room.find(case.history(), RetrievalQuery(case.request, room.passages))
    built = PromptBuilder(room.tokenize, room.template, room.context_length).build(
        case.request,
        retrieved.passages,
        retrieved.beside(case.background),
        room.max_tokens + len(beginning),
    )
    return replace(
        built,
        public_ids=(*built.public_ids, *beginning),
        private_ids=(*built.private_ids, *beginning),
    )
