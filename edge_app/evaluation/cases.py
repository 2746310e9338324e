"""Texts to measure: a true text, what would have been asked for it, and the history
before it. They come from files, from the last texts of one's own store, and from
invented writers.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from decoding_core.errors import DecodingError
from edge_app.retrieval.context import PASSAGES, Searchable
from models.prompts import Excerpt, Request
from personal_store import Passage, Store
from personal_store.records import moment
from personal_store.search.index import SAME_TEXT, Entry, Hit, Index, Wanted
from personal_store.text.dates import parse_date
from personal_store.text.tokens import shingles, tokens

_OPENING = re.compile(r"\s*(?:\S+\s+){6}")
_SUFFIXES = (".jsonl", ".jsonl.xz")
_TASKS = {"mixed": "post"}  # what a person would ask for if a set names no genre
_HEADING = 120  # characters of a past prompt that stand as its heading

Row = dict[str, Any]
YOURS, SAMPLE = "your texts", "sample letters"
FEWEST_WORDS = 12  # shorter texts say little and are not measured
_FEWEST_BEFORE = 3  # texts that must have been there when a text was written


class CasesError(DecodingError):
    """Texts to measure cannot be read, or there are none. Told to the user."""


@dataclass(frozen=True, slots=True)
class Case:
    """One text to measure."""

    group: str  # the set it is of, such as the name of a file
    genre: str
    user: str
    name: str  # distinguishes the texts of a user
    request: Request
    history: Callable[[], Searchable]  # the writer's other texts, when needed
    text: str  # the true text, without its beginning
    beginning: str = ""  # what of the text is there already: read, never counted
    background: str = ""


class History:
    """Past texts that are searched as the store searches."""

    def __init__(
        self, entries: Sequence[Entry], lookup: Callable[[int], Passage | None]
    ) -> None:
        """`lookup` gives the text of an entry; None if it is gone."""
        self._index = Index.of(entries)
        self._lookup = lookup

    @classmethod
    def of(cls, passages: Sequence[Passage]) -> History:
        """The history that consists of these passages."""
        texts = {passage.record_id: passage for passage in passages}
        entries = [
            Entry(
                p.record_id,
                p.kind,
                p.recipient,
                "",
                None if p.date is None else int(p.date.timestamp()),
                tokens(f"{p.subject}\n{p.text}"),  # as the store indexes a text
            )
            for p in passages
        ]
        return cls(entries, texts.get)

    def search(self, query: str, **wanted: Any) -> list[Passage]:
        """Texts that share words with the query, best first; `wanted`: see `Wanted`."""
        wish = Wanted(**{"limit": PASSAGES, **wanted})
        return self._passages(self._index.search(tokens(query), wish))

    def recent(self, **wanted: Any) -> list[Passage]:
        """The newest texts, those to the same recipient and of this kind first."""
        return self._passages(
            self._index.recent(Wanted(**{"limit": PASSAGES, **wanted}))
        )

    def kinds(self) -> Mapping[int, str]:
        """The kind of each text by its id, in the order of the history."""
        return self._index.kinds()

    def matching(self, query: str) -> Mapping[int, float]:
        """BM25 by id of every text that shares distinctive words with the query."""
        return self._index.matching(tokens(query))

    def passage(self, record_id: int) -> Passage | None:
        """One text, whole; None if it is gone."""
        return self._lookup(record_id)

    def _passages(self, hits: Sequence[Hit]) -> list[Passage]:
        found = ((self._lookup(hit.id), hit) for hit in hits)
        return [
            replace(
                passage,
                score=hit.score,
                score_parts=dict(hit.parts),
                terms=dict(hit.terms),
            )
            for passage, hit in found
            if passage is not None
        ]


def opened(text: str) -> tuple[str, str]:
    """The first words of a text, as its request, and the rest if it is longer."""
    match = _OPENING.match(text)
    if match is None:
        return text.strip(), ""
    beginning = match.group().rstrip()
    return beginning, text[len(beginning) :]


def read_files(
    paths: Sequence[Path], users: int | None = None, queries: int | None = None
) -> list[Case]:
    """The cases of files and folders: of the first `users` of each file, the first
    `queries` of each.

    A file has one user a line, plain or packed with xz: `user`, `genre`, perhaps
    `profile` (private notes), `history`, a list of `prompt`, `text` and `date`, and
    `queries`, a list of `prompt`, `target` and `date`, perhaps with `prefix` (how the
    text begins) and `summary` (what it is to say). Texts may name a `recipient`.

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
            cases += _cases(group, where, row)[:queries]
    if not cases:
        raise CasesError(f"{', '.join(map(str, paths))}: there are no texts to measure")
    return cases


def _cases(group: str, where: str, row: Row) -> list[Case]:
    """The cases of one line."""
    genre = _word(row, "genre", where) or "text"
    task = _TASKS.get(genre, genre)
    past = [
        _passage(group, task, number, place, one)
        for number, place, one in _list(row, "history", where)
    ]
    past = [passage for passage in past if passage.text.strip()]
    found = []
    for number, place, one in _list(row, "queries", where):
        text = _word(one, "target", place, needed=True)
        beginning = _word(one, "prefix", place).rstrip()
        if not beginning or text.startswith(beginning):
            text = text[len(beginning) :]
        elif not text[:1].isspace():  # not every set repeats the beginning in the text
            text = f" {text}"
        parts = (_word(one, "prompt", place), _word(one, "summary", place))
        asked = "\n".join(part.strip() for part in parts if part.strip())
        if not asked and not beginning:
            beginning, text = opened(text)
        if not text.strip():
            raise CasesError(f"{place}: there is no text to measure")
        recipient = _word(one, "recipient", place)
        found.append(
            Case(
                group=group,
                genre=genre,
                user=_word(row, "user", where) or where,
                name=str(number),
                request=Request(asked or beginning.strip(), task, recipient),
                history=partial(History.of, past),
                text=text,
                beginning=beginning,
                background=_word(row, "profile", where),
            )
        )
    return found


def _passage(group: str, task: str, number: int, where: str, row: Row) -> Passage:
    prompt = " ".join(_word(row, "prompt", where).split())
    day = _word(row, "date", where)  # a bare year is its first of January
    date = moment(parse_date(f"{day}-01-01" if len(day) == 4 else day))
    text = _word(row, "text", where, needed=True)
    recipient = _word(row, "recipient", where)
    return passage(number, task, recipient, prompt[:_HEADING], text, group, date)


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


def held_out(store: Store, count: int, group: str = YOURS) -> list[Case]:
    """A case for each of the last `count` own texts of each kind, with the texts before
    it as history; raises CasesError if there are too few."""
    # Texts without a date may be of any time and are left out, unless none has a date:
    # then the order of import counts.
    entries = store.entries()
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
    """The texts surely written before `entry` that do not hold most of it already."""
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
    """A stored text as it would have been asked for; None if nothing is left to
    predict."""
    passage = store.passage(entry.id)
    if passage is None:
        return None
    asked = requested(store, [entry.id]).get(entry.id, "")
    parts = [asked or passage.subject.strip()]
    if rating is not None:
        parts.append(f"{rating:g} stars")
    asked, beginning = ", ".join(part for part in parts if part), ""
    text = passage.text
    if not asked:  # how the text begins must be given instead
        beginning, text = opened(text)
        asked = beginning
    if not text.strip():
        return None

    return Case(
        group=group,
        genre=passage.kind,
        user="you",
        name=str(entry.id),
        request=Request(asked, passage.kind, passage.recipient),
        history=lambda: History(others(), store.passage),
        text=text,
        beginning=beginning,
    )


def requested(store: Store, ids: Iterable[int]) -> dict[int, str]:
    """What was asked for, of those of these texts that were finished from drafts."""
    rows = store.db.execute(
        """SELECT record_id, asked FROM edit WHERE asked <> ''
           AND record_id IN (SELECT value FROM json_each(?))""",
        [json.dumps(list(ids))],
    )
    return dict(rows.fetchall())


def unseen_cases(count: int, seed: int) -> list[Case]:
    """`count` texts, each by an invented writer of its own that no training has met."""
    # The grammar takes time to read, and only this option needs it.
    from models.synthetic_writers.examples import unseen_writers

    group, cases = "unseen writers", []
    for number, example in enumerate(unseen_writers(count, seed), 1):
        cases.append(
            Case(
                group=group,
                genre=example.request.task,
                user=str(number),
                name="1",
                request=example.request,
                # The best of the excerpts stands last.
                history=partial(History.of, passages(example.excerpts[::-1], group)),
                text=example.text,
                background=example.background,
            )
        )
    return cases


def passages(excerpts: Iterable[Excerpt], source: str = "invented") -> list[Passage]:
    """Past texts of an invented writer, numbered in their order."""
    return [
        passage(number, one.task, one.recipient, one.subject, one.text, source)
        for number, one in enumerate(excerpts, 1)
    ]


def passage(
    number: int,
    kind: str,
    recipient: str,
    subject: str,
    text: str,
    source: str = "invented",
    date: datetime | None = None,
) -> Passage:
    """A past text that lies in no store."""
    return Passage(
        *(number, kind, recipient, subject, text, date),
        score=0.0,
        score_parts={},
        source=source,
    )
