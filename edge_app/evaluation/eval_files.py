"""Reads files of histories and true texts: JSON lines, plain or packed with xz.

One user a line: `user`, `genre`, perhaps `profile` (private notes), `history`, a list
of `prompt`, `text` and `date`, and `queries`, a list of `prompt`, `target` and `date`,
perhaps with `prefix` (how the text begins) and `summary` (what it is to say). Texts
may name a `recipient`.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from edge_app.evaluation.cases import Case, CasesError, History, opened
from models.prompts import Request
from personal_store import Passage
from personal_store.records import moment
from personal_store.text.dates import parse_date

_SUFFIXES = (".jsonl", ".jsonl.xz")
_TASKS = {"mixed": "post"}
"""What a person would ask for where a set's genre is none."""
_HEADING = 120
"""Characters of a past prompt that stand as its heading."""

Row = dict[str, Any]


def read_files(
    paths: Sequence[Path], users: int | None = None, queries: int | None = None
) -> list[Case]:
    """The cases of files and folders: of the first `users` of each file, the first
    `queries` of each.

    Raises:
        CasesError: a file is no such file; says which line.
    """
    files = [file for path in paths for file in _files(path)]
    stems = [file.name.removesuffix(".xz").removesuffix(".jsonl") for file in files]
    cases = []
    for file, stem in zip(files, stems, strict=True):
        group = stem if stems.count(stem) == 1 else str(file)
        for count, (where, row) in enumerate(_rows(file)):
            if count == users:
                break
            cases += _User(group, where, row).cases()[:queries]
    if not cases:
        raise CasesError(f"{', '.join(map(str, paths))}: there are no texts to measure")
    return cases


class _User:
    """One line of a file."""

    def __init__(self, group: str, where: str, row: Row) -> None:
        self._group, self._where = group, where
        self._user = _word(row, "user", where)
        self._genre = _word(row, "genre", where) or "text"
        self._task = _TASKS.get(self._genre, self._genre)
        self._background = _word(row, "profile", where)
        self._past = [self._passage(*one) for one in _list(row, "history", where)]
        self._queries = list(_list(row, "queries", where))

    def cases(self) -> list[Case]:
        """A case for each query."""
        past = [passage for passage in self._past if passage.text.strip()]

        def history() -> History:
            return History.of(past)

        return [
            self._case(number, where, row, history)
            for number, (_, where, row) in enumerate(self._queries, 1)
        ]

    def _passage(self, number: int, where: str, row: Row) -> Passage:
        prompt = " ".join(_word(row, "prompt", where).split())
        day = _word(row, "date", where)  # a bare year is its first of January
        return Passage(
            record_id=number,
            kind=self._task,
            recipient=_word(row, "recipient", where),
            subject=prompt[:_HEADING],
            text=_word(row, "text", where, needed=True),
            date=moment(parse_date(f"{day}-01-01" if len(day) == 4 else day)),
            score=0.0,
            score_parts={},
            source=self._group,
        )

    def _case(
        self, number: int, where: str, row: Row, history: Callable[[], History]
    ) -> Case:
        text = _word(row, "target", where, needed=True)
        beginning = _word(row, "prefix", where).rstrip()
        if not beginning or text.startswith(beginning):
            text = text[len(beginning) :]
        elif not text[:1].isspace():  # not every set repeats the beginning in the text
            text = f" {text}"
        parts = (_word(row, "prompt", where), _word(row, "summary", where))
        asked = "\n".join(part.strip() for part in parts if part.strip())
        if not asked and not beginning:
            beginning, text = opened(text)
        if not text.strip():
            raise CasesError(f"{where}: there is no text to measure")
        recipient = _word(row, "recipient", where)
        request = Request(asked or beginning.strip(), self._task, recipient)
        return Case(
            group=self._group,
            genre=self._genre,
            user=self._user or self._where,
            name=str(number),
            request=request,
            history=history,
            text=text,
            beginning=beginning,
            background=self._background,
        )


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise CasesError(f"there is no file or folder {path}")
    found = sorted(file for file in path.iterdir() if file.name.endswith(_SUFFIXES))
    if not found:
        raise CasesError(f"there is no .jsonl or .jsonl.xz file in {path}")
    return found


def _rows(path: Path) -> Iterator[tuple[str, Row]]:
    """Each line's object, and where it stands."""
    try:
        packed = path.suffix == ".xz"
        with (
            lzma.open(path, "rt", encoding="utf-8")
            if packed
            else path.open(encoding="utf-8-sig") as lines
        ):
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                where = f"{path}, line {number}"
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise CasesError(f"{where}: this is not JSON") from error
                if not isinstance(row, dict):
                    raise CasesError(f"{where}: a line is one JSON object")
                yield where, row
    except (lzma.LZMAError, EOFError) as error:
        raise CasesError(f"{path} is no whole xz file") from error
    except UnicodeDecodeError as error:
        raise CasesError(f"{path} is not text in UTF-8") from error


def _list(row: Row, key: str, where: str) -> Iterator[tuple[int, str, Row]]:
    """The objects of a list, each with its number and its place in words."""
    items = row.get(key)
    if not isinstance(items, list):
        raise CasesError(f"{where}: '{key}' must be a list")
    for number, item in enumerate(items, 1):
        place = f"{where}, {key} {number}"
        if not isinstance(item, dict):
            raise CasesError(f"{place}: this must be an object")
        yield number, place, item


def _word(row: Row, key: str, where: str, *, needed: bool = False) -> str:
    value = row.get(key)
    if value is None and not needed:
        return ""
    if key in ("user", "date") and isinstance(value, int):
        return str(value)
    if not isinstance(value, str):
        raise CasesError(f"{where}: '{key}' must be a text")
    return value
