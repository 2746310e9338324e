"""Sets of queries: histories, LaMP and LongLaMP, known by what the files hold.

The wording of LaMP's and LongLaMP's prompts, spaces included, is that of the published
code: github.com/LaMP-Benchmark/LaMP and the LongLaMP code that grew out of it. The
papers are arXiv 2304.11406 and 2407.11016.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from rank_bm25 import BM25Okapi

from decoding_core.errors import ContextFullError
from edge_app.evaluation.cases import Case, CasesError
from edge_app.evaluation.cases import read_files as read_cases
from edge_app.retrieval.context import (
    PromptBuilder,
    Prompts,
    RetrievalQuery,
    Retrieved,
    Searchable,
)
from models.chat import ChatTemplate, prompt_ids
from models.excerpts import Tokenize
from models.prompts import Message

Kind = Literal["text", "choice", "rating"]
"""How an answer is judged: by a true text, as one of some labels, or as a number of
stars."""

_MARGIN = 16


@dataclass(frozen=True, slots=True)
class Room:
    """What of a model a prompt is made for."""

    tokenize: Tokenize
    detokenize: Callable[[Sequence[int]], str]
    template: ChatTemplate
    context_length: int
    max_tokens: int
    """Kept free for the text."""
    passages: int
    """Past texts to look for."""
    find: Callable[[Searchable, RetrievalQuery], Retrieved]
    """Chooses the past texts of a history, and what is read beside them."""

    @property
    def limit(self) -> int:
        """Tokens that a prompt may have."""
        return self.context_length - self.max_tokens - _MARGIN

    def ids(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Token ids of a prompt that asks for these messages' answer."""
        return tuple(prompt_ids(self.tokenize, self.template, messages))

    def count(self, text: str) -> int:
        """How many tokens a text has."""
        return len(self.tokenize(text, False))

    def cut(self, text: str, tokens: int) -> str:
        """The first so many tokens of a text; a broken character is left out."""
        ids = self.tokenize(text, False)
        if len(ids) <= tokens:
            return text
        return self.detokenize(ids[: max(tokens, 0)]).rstrip("\ufffd")

    def fitting(self, public: tuple[int, ...], private: tuple[int, ...]) -> Prompts:
        """Both prompts; raises ContextFullError when one is too long."""
        longest = max(len(public), len(private))
        if longest > self.limit:
            raise ContextFullError(f"{longest} tokens, of which {self.limit} fit")
        return Prompts(public, private, ())


@dataclass(frozen=True, slots=True)
class Query:
    """One text to write."""

    dataset: str
    user: str
    name: str
    """Tells the queries of a user apart."""
    kind: Kind
    asked: str
    """What the public prompt asks for, in words."""
    prompts: Callable[[Room], Prompts]
    """Both prompts; raises ContextFullError when they leave no room for the text."""
    source: str
    """SHA-256 of the files that it was read from."""
    text: str = ""
    """The true text or label, without its beginning."""
    beginning: str = ""
    """How the text begins: given to every model, and no part of what is judged."""
    labels: tuple[str, ...] = ()
    """Among which a choice is made."""
    searches: bool = False
    """Whether its past texts are chosen by `Room.find`; else as its authors did."""


SUFFIXES = (".json", ".jsonl", ".jsonl.xz")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class File:
    """A file that was read."""

    path: Path
    name: str
    """What its set is called."""
    sha256: str
    rows: list[Row]
    """Of an object, it alone."""

    def where(self, number: int) -> str:
        """Row `number`, from 1, in words."""
        return f"{self.path}, row {number}"


def read_files(paths: Sequence[Path]) -> list[File]:
    """All files of these paths and folders, in order.

    Raises:
        CasesError: a path cannot be read, or holds no rows of JSON.
    """
    found: list[Path] = []
    for path in paths:
        if path.is_file():
            found.append(path)
            continue
        if not path.is_dir():
            raise CasesError(f"there is no file or folder {path}")
        inside = sorted(file for file in path.iterdir() if file.name.endswith(SUFFIXES))
        if not inside:
            raise CasesError(f"there is no .json, .jsonl or .jsonl.xz file in {path}")
        found += inside
    names = []
    for path in found:
        ends = (end for end in reversed(SUFFIXES) if path.name.endswith(end))
        names.append(path.name.removesuffix(next(ends, "")))
    files = []
    for path, name in zip(found, names, strict=True):
        data = path.read_bytes()
        called = name if names.count(name) == 1 else str(path)
        sha256 = hashlib.sha256(data).hexdigest()
        files.append(File(path, called, sha256, _rows(path, data)))
    return files


def word(row: Row, key: str, where: str) -> str:
    """A text or number of a row, as text; raises CasesError when it is none."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise CasesError(f"{where}: '{key}' must be a text")
    return str(value)


def _rows(path: Path, data: bytes) -> list[Row]:
    """The objects in a file's bytes: an array, one object, or one a line."""
    try:
        text = (lzma.decompress(data) if path.suffix == ".xz" else data).decode("utf-8")
    except lzma.LZMAError as error:
        raise CasesError(f"{path} is no whole xz file") from error
    except UnicodeDecodeError as error:
        raise CasesError(f"{path} is not text in UTF-8") from error
    text = text.removeprefix("\ufeff").strip()
    try:
        whole = json.loads(text)
        rows = whole if isinstance(whole, list) else [whole]
    except (ValueError, RecursionError):
        rows = []
        for number, line in enumerate(text.splitlines(), 1):
            try:
                rows += [json.loads(line)] if line else []
            except (ValueError, RecursionError) as error:
                raise CasesError(f"{path}, line {number}: this is not JSON") from error
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise CasesError(f"{path} holds no JSON objects")
    return rows


def is_history(row: Row) -> bool:
    """Whether a row is a user with a history and queries."""
    return {"history", "queries"} <= row.keys()


def history_queries(file: File) -> Iterator[Query]:
    """The queries of a file; raises CasesError for a broken line."""
    for case in read_cases([file.path]):
        yield Query(
            dataset=file.name,
            user=case.user,
            name=case.name,
            kind="text",
            asked=case.request.text,
            prompts=partial(_history_prompts, case),
            source=file.sha256,
            text=case.text,
            beginning=case.beginning,
            searches=True,
        )


def _history_prompts(case: Case, room: Room) -> Prompts:
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


_PLAIN = "{entries}. {asked}"
_PATTERNS = "{entries}. Following the given patterns {asked}"
_TITLED = '"{title}" is the title for "{text}" '


@dataclass(frozen=True, slots=True)
class Template:
    """How one task asks, and how it shows past texts."""

    name: str
    asks: str
    """What stands in the input of every question of the task, in small letters."""
    entry: str
    """One past text, with its fields in braces."""
    long: str
    """The field that is shortened where room is short."""
    searched: tuple[str, ...]
    """The fields in which past texts are looked for."""
    kind: Kind = "text"
    joined: str = _PLAIN
    after: str = ""
    """What of the input stands after this is looked for; empty: all of it."""
    also_called: Mapping[str, str] = field(default_factory=dict)
    """Other names of fields in some releases."""

    def fields(self) -> frozenset[str]:
        """The fields that a past text must have."""
        return frozenset(re.findall(r"{(\w+)}", self.entry)) | {*self.searched}

    def fits(self, asked: str, entry: Mapping[str, object] | None) -> bool:
        """Whether a question with this input and such past texts is of this task."""
        known = self._renamed(entry) if entry is not None else self.fields()
        return self.asks in asked.lower() and self.fields() <= set(known)

    def shown(self, entry: Mapping[str, object], long: str | None = None) -> str:
        """The prompt of one past text; `long` stands in for its long field."""
        words = self._renamed(entry)
        return self.entry.format_map(
            words if long is None else {**words, self.long: long}
        )

    def text(self, entry: Mapping[str, object]) -> str:
        """The long field of a past text."""
        return str(self._renamed(entry)[self.long])

    def terms(self, entry: Mapping[str, object]) -> str:
        """What of a past text is searched."""
        words = self._renamed(entry)
        return " ".join(str(words[name]) for name in self.searched)

    def query(self, asked: str) -> str:
        """What is looked for."""
        if self.name == "LaMP-1":
            return " ".join(re.findall(r'"(.*?)"', asked, re.DOTALL)[1:3])
        _, found, rest = asked.partition(self.after) if self.after else ("", "", "")
        return rest.strip() if found else asked

    def whole(self, asked: str, entries: Sequence[str]) -> str:
        """The input with its past texts; without any, the input alone."""
        if not entries:
            return asked
        listed = ", and ".join(entries)
        if self.name != "LaMP-1":
            return self.joined.format(entries=listed, asked=asked)
        before, title, rest = asked.partition("title")
        return f"{before}{title}, and {listed}{rest}" if title else asked

    def _renamed(self, entry: Mapping[str, object]) -> dict[str, object]:
        return {self.also_called.get(name, name): entry[name] for name in entry}


TEMPLATES = (
    Template(
        "LaMP-1",
        "which reference is related",
        '"{title}"',
        "title",
        ("title", "abstract"),
        kind="choice",
    ),
    Template(
        "LaMP-2",
        "which tag does this movie relate to",
        'the tag for the movie: "{description}" is "{tag}" ',
        "description",
        ("description",),
        kind="choice",
        after="description:",
    ),
    Template(
        "LaMP-2 news",
        "which category does this article relate to",
        'the category for the article: "{text}" is "{category}" ',
        "text",
        ("title", "text"),
        kind="choice",
        after="article:",
    ),
    Template(
        "LaMP-3",
        "what is the score of the following review",
        '{score} is the score for "{text}" ',
        "text",
        ("text",),
        kind="rating",
        after="review:",
    ),
    Template(
        "LaMP-4",
        "generate a headline for the following article",
        _TITLED,
        "text",
        ("title", "text"),
        after="article:",
    ),
    Template(
        "LaMP-5",
        "generate a title for the following abstract",
        '"{title}" is a title for "{abstract}" ',
        "abstract",
        ("title", "abstract"),
        joined=_PATTERNS,
        after="paper:",
    ),
    Template(
        "LaMP-6",
        "generate a subject for the following email",
        _TITLED,
        "text",
        ("text",),
        after=":",
    ),
    Template(
        "LaMP-7",
        "paraphrase the following tweet",
        '"{text}" ',
        "text",
        ("text",),
        joined=(
            "{entries} are written by a person. Following the given patterns {asked}"
        ),
        after=":",
    ),
    Template(
        "LongLaMP abstract",
        "generate an abstract for the title",
        '"{abstract}" is the abstract for the title "{title}"',
        "abstract",
        ("title", "abstract"),
        joined=(
            "{entries}. Use the above abstracts as context to understand the style and "
            "language of the user and, {asked}"
        ),
        after="items:",
    ),
    Template(
        "LongLaMP review",
        "generate the review text written by a reviewer",
        '"{overall}" is a rating for the product with description "{description}". '
        '"{summary}" is summary for "{reviewText}" ',
        "reviewText",
        ("overall", "summary", "description", "reviewText"),
        joined=_PATTERNS,
    ),
    Template(
        "LongLaMP topic",
        "generate the content for a reddit post",
        '"{summary}" is a summary for "{content}" ',
        "content",
        ("summary", "content"),
        joined="{entries}. Following the given patterns, {asked}",
        also_called={"input": "summary", "output": "content"},
    ),
    Template(
        "LongLaMP email",
        "email",
        _TITLED,
        "text",
        ("text",),
        after=":",
    ),
)
"""In the order in which they are tried."""


def template_of(asked: str, entry: Mapping[str, object] | None) -> Template | None:
    """The task of a question; None where no task asks so."""
    return next((one for one in TEMPLATES if one.fits(asked, entry)), None)


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


_QUESTIONS, _OUTPUTS = "questions", "outputs"


def read_sets(
    paths: Sequence[Path],
    users: int | None = None,
    queries: int | None = None,
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
        for query in _queries(file, answers):
            seen = counts.setdefault(query.dataset, {})
            if query.user not in seen and len(seen) == users:
                continue
            seen[query.user] = seen.get(query.user, 0) + 1
            if queries is None or seen[query.user] <= queries:
                kept.append(query)
    if not kept:
        raise CasesError(f"{', '.join(map(str, paths))}: there are no queries")
    return kept


def _queries(file: File, answers: Sequence[File]) -> Iterable[Query]:
    """The queries of a file, as its format has them."""
    row = file.rows[0]
    if is_history(row):
        return history_queries(file)
    if "input" in row and ("profile" in row or "top_5" in row):
        return _with_golds(file, answers)
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
