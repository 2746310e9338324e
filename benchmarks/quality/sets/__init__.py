"""Sets of queries, told by what the files hold, not by their names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.quality.query import Query
from benchmarks.quality.sets.cogenesis import cogenesis_queries, is_cogenesis
from benchmarks.quality.sets.files import File, read_files
from benchmarks.quality.sets.histories import history_queries, is_history
from benchmarks.quality.sets.preferences import (
    WISHES,
    is_preference,
    preference_queries,
)
from benchmarks.quality.sets.profile import profile_queries
from edge_app.evaluation.cases import CasesError

_QUESTIONS, _OUTPUTS = "questions", "outputs"


def read_sets(
    paths: Sequence[Path],
    users: int | None = None,
    queries: int | None = None,
    wishes: Sequence[str] = WISHES,
) -> list[Query]:
    """The queries of files and folders: of the first `users` of each set, the first
    `queries` of each.

    Raises:
        CasesError: a file is of no known format, or says nothing; says which.
    """
    files = read_files(paths)
    given = {file.path for file in files}
    beside = [
        file.path.with_name(file.path.name.replace(_QUESTIONS, _OUTPUTS))
        for file in files
        if _QUESTIONS in file.path.name
    ]
    files += read_files([p for p in beside if p not in given and p.is_file()])
    answers = [file for file in files if _is_golds(file)]
    kept: list[Query] = []
    for file in files:
        if _is_golds(file):
            continue
        counts: dict[str, dict[str, int]] = {}
        for query in _queries(file, answers, wishes):
            seen = counts.setdefault(query.dataset, {})
            if query.user not in seen and len(seen) == users:
                continue
            seen[query.user] = seen.get(query.user, 0) + 1
            if queries is None or seen[query.user] <= queries:
                kept.append(query)
    if not kept:
        raise CasesError(f"{', '.join(map(str, paths))}: there are no queries")
    return kept


def _queries(
    file: File, answers: Sequence[File], wishes: Sequence[str]
) -> Iterable[Query]:
    """The queries of a file, as its format has them."""
    row = file.rows[0]
    if is_history(row):
        return history_queries(file)
    if is_cogenesis(row):
        return cogenesis_queries(file)
    if "input" in row and ("profile" in row or "top_5" in row):
        return _with_golds(file, answers)
    if is_preference(row):
        return preference_queries(file, wishes)
    held = ", ".join(row) or "nothing"
    raise CasesError(
        f"{file.path} is of no known format: its rows hold {held}; docs/bench.md "
        "describes the formats"
    )


def _with_golds(file: File, answers: Sequence[File]) -> Iterator[Query]:
    """Questions with the answers of the file of outputs that has theirs."""
    ids = {str(row.get("id")) for row in file.rows}
    for answer in answers:
        golds = {
            str(one.get("id")): str(one.get("output"))
            for one in answer.rows[0]["golds"]
            if isinstance(one, dict)
        }
        # Ids of different tasks may be alike, so names must not speak against it.
        name = file.path.name
        named = _QUESTIONS in name and _OUTPUTS in answer.path.name
        its_own = file.path.with_name(name.replace(_QUESTIONS, _OUTPUTS))
        if ids <= golds.keys() and (not named or its_own == answer.path):
            both = hashlib.sha256((file.sha256 + answer.sha256).encode()).hexdigest()
            return profile_queries(file, golds, both)
    return profile_queries(file, {}, file.sha256)


def _is_golds(file: File) -> bool:
    return isinstance(file.rows[0].get("golds"), list)
