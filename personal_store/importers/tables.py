"""Tables of any service, CSV or JSON, whose columns are named with --map or guessed;
what `specsteer store export` writes, and the profiles of LaMP and LongLaMP.
"""

import base64
import csv as csv_lines
import hashlib
import io
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from personal_store.cleaning.cleaning import VERSION, tidy
from personal_store.cleaning.markup import own_text
from personal_store.errors import SourceError
from personal_store.files import Source, ends_with, locate
from personal_store.importers.exports import WITHOUT_TEXT, digest, is_gone, placed
from personal_store.importers.service_files import keep_out
from personal_store.importers.structured import (
    DELIMITERS,
    LONGEST_FIELD,
    UTF16,
    array_values,
    mapping,
    number,
    parsed,
    plain,
    text,
)
from personal_store.reading.letters import MAX_STORED, unpack
from personal_store.records import (
    KINDS,
    Author,
    Document,
    ImportFailure,
    Item,
    ReadOptions,
    Skipped,
)
from personal_store.text.charset import decode
from personal_store.text.dates import parse_date

FIELDS = ("text", "date", "title", "id", "to", "rating", "kind")
"""What a column can be mapped to, as in --map text=Body; `date=` stands for none."""
SAMPLE = 200  # rows that are looked at to find the column with the text

_GUESSES = {
    "text": "text body content message comment reviewtext reviewbody review myreview"
    " fulltext commenttext posttext post selftext sharecommentary caption note",
    "date": "date created createdat createdutc timestamp datetime time published"
    " publishedat submissiondate sentat dateadded watcheddate",
    "title": "title subject headline reviewtitle summary",
    "id": "id uuid permalink commentid postid reviewid messageid bookid url",
    "to": "to recipient recipients product productname item name place business book",
    "rating": "rating stars starrating myrating score overall",
    "kind": "kind type",
}
_SHORTEST_AVERAGE = 20
_TAG = re.compile(r"<(?:br|p|div|i|b|em|strong|a|span)\b[^<>]*>", re.IGNORECASE)

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column holds what; empty if absent."""

    text: str
    date: str = ""
    title: str = ""
    id: str = ""
    to: str = ""
    rating: str = ""
    kind: str = ""  # A column, or one of KINDS for all rows

    @classmethod
    def choose(
        cls, names: Sequence[str], sample: Iterable[Row], mapping: Mapping[str, str]
    ) -> "Columns":
        """The columns the person named, else those with usual names, else the longest.

        Raises SourceError, with the columns there are, if no text is found.
        """
        chosen = {}
        for field, column in mapping.items():
            if field not in FIELDS:
                raise SourceError(
                    f"--map knows {', '.join(FIELDS)}, but not '{field}' (in "
                    f"{field}={column})."
                )
            there = (n for n in names if n.casefold() == column.casefold())
            same = next(there, None)
            constant = not column or (field == "kind" and column in KINDS)
            if same is None and not constant:
                raise SourceError(
                    f"There is no column '{column}'. The columns are: "
                    f"{', '.join(names) or 'none'}."
                )
            chosen[field] = same or column
        taken = set(chosen.values())
        for field, guesses in _GUESSES.items():
            free = {plain(name): name for name in reversed(names) if name not in taken}
            found = next((free[one] for one in guesses.split() if one in free), "")
            if found and field not in chosen:
                chosen[field] = found
                taken.add(found)
        if not chosen.get("text"):
            # The column with the longest prose on average, if any reads like prose.
            rows = list(sample)

            def prose(name: str) -> int:
                values = (text(row.get(name)) for row in rows)
                return sum(len(value) for value in values if " " in value.strip())

            free_names = [name for name in names if name not in taken]
            best = max(free_names, key=prose, default="")
            is_prose = best and prose(best) >= _SHORTEST_AVERAGE * max(1, len(rows))
            chosen["text"] = best if is_prose else ""
        if not chosen["text"]:
            raise SourceError(
                "It is not clear which column holds the text: say so with --map "
                f"text=COLUMN. The columns are: {', '.join(names) or 'none'}."
            )
        return cls(**chosen)

    def document(self, row: Row, position: int) -> Item:
        """The document in a row, or why it is skipped."""
        said = row.get(self.text)
        if isinstance(said, list):  # pieces, of which those with a style are objects
            pieces = (p.get("text") if isinstance(p, dict) else p for p in said)
            said = "".join(piece for piece in pieces if isinstance(piece, str))
        text = _readable(said)
        if not text or is_gone(text):
            return Skipped(position, WITHOUT_TEXT)
        title, to = _readable(row.get(self.title)), _readable(row.get(self.to))
        # By id if there is one, so that an edited text replaces the old one. Ids of
        # different services may be equal, so what else stays the same counts too.
        date = str(row.get(self.date) or "")
        own_id = str(row.get(self.id) or "")
        same = [self._kind(row), own_id, date or f"{title}\0{to}"]
        parts = same if own_id else [date, title, to, text]
        return Document(
            position=position,
            key="row:" + hashlib.sha256(json.dumps(parts).encode()).hexdigest(),
            kind=self._kind(row),
            text=text,
            title=title,
            recipient=to,
            recipient_address=to.lower() if "@" in to else "",
            sent_at=parse_date(row.get(self.date)),
            rating=number(row.get(self.rating)),
            cleaning=VERSION,
        )

    def _kind(self, row: Row) -> str:
        kind = str(row.get(self.kind) or self.kind).strip().casefold()
        if kind in KINDS:
            return kind
        return "review" if self.rating else "note"


def _readable(value: Any) -> str:
    if value is None or isinstance(value, dict | list):
        return ""
    text = str(value)
    return tidy(own_text(text) if _TAG.search(text) else text).strip()


Entry = tuple[int, str, Row | str]
"""Position behind it, place in words, and fields or the reason why they are absent."""


@dataclass(frozen=True, slots=True)
class _Table:
    """Files with a text in each row or entry."""

    what: str
    suffixes: tuple[str, ...]
    entries: Callable[[Source], Iterator[Entry]]
    sample: Callable[[Source], tuple[list[str], list[Row]]]
    """Names of the columns and the first rows; raises SourceError if it is invalid."""
    is_certain: Callable[[Source], bool] = lambda _: False
    """Whether the file names the writer of each text."""

    def sources(self, path: Path) -> list[Source]:
        """The file itself, or every such file in a folder or archive."""
        return keep_out(path, locate(path, ends_with(*self.suffixes), self.what))

    def recognises(self, source: Source) -> bool:
        """Whether one of its columns is clearly the text."""
        try:
            self.columns(source, {})
        except SourceError:
            return False
        return True

    def names(self, source: Source) -> list[str]:
        """The names of its columns."""
        return self.sample(source)[0]

    def columns(self, source: Source, mapping: Mapping[str, str]) -> Columns:
        """Which column holds what, as given and as guessed from the first rows."""
        return Columns.choose(*self.sample(source), mapping)

    def read(self, source: Source, options: ReadOptions) -> Iterator[Item]:
        """One document per row."""
        chosen = self.columns(source, options.mapping)
        for position, where, entry in self.entries(source):
            if position <= options.start:
                continue
            if isinstance(entry, str):
                yield ImportFailure(position, where, entry)
            elif is_exported(entry):
                yield exported_item(entry, position, where)
            else:
                yield chosen.document(_flat(entry), position)


_SAMPLE_BYTES = 1024 * 1024


def _csv_entries(source: Source) -> Iterator[Entry]:
    text = _csv_text(source, source.whole())
    lines = 1 + text.count("\n") + text.count("\r")
    header, rows = _csv_rows(text)
    for line, row in rows:
        entry: Row | str
        if isinstance(row, str):
            entry = row
        elif len(row) > len(header):
            entry = f"it has {len(row)} fields, the first line has {len(header)}"
        elif any(row):
            entry = dict(zip(header, row, strict=False))
        else:
            continue
        position = min(source.size, source.size * line // lines)
        yield position, f"{source.name}, line {line}", entry


def _csv_sample(source: Source) -> tuple[list[str], list[Row]]:
    data = source.head(_SAMPLE_BYTES)
    if len(data) == _SAMPLE_BYTES:
        data = data[: data.rfind(b"\n") + 1] or data
    header, rows = _csv_rows(_csv_text(source, data))
    whole = (row for _, row in rows if not isinstance(row, str))
    return header, [dict(zip(header, r, strict=False)) for r in islice(whole, SAMPLE)]


def _csv_text(source: Source, data: bytes) -> str:
    wide = data.startswith(UTF16)
    if b"\0" in data[:4096] and not wide:
        raise SourceError(f"{source.name} is not a CSV file: it is not text.")
    return decode(data, "utf-16" if wide else "")


def _csv_rows(text: str) -> tuple[list[str], Iterator[tuple[int, list[str] | str]]]:
    """The names of columns; (number of the line, cells or what is wrong) below them."""
    csv_lines.field_size_limit(LONGEST_FIELD)
    delimiter = max(DELIMITERS, key=text.partition("\n")[0].count)
    reader = csv_lines.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    return [name.strip() for name in next(reader, [])], parsed(reader)


MARK = "specsteer"  # the field that says which version of this format a line is in
EXPORTED = 1
_EXPORTED_FIELDS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("key", "kind", "text", "title", "recipient", "thread"), str),
    **dict.fromkeys(("recipient_address", "sender", "sender_name"), str),
    **dict.fromkeys(("answer_to", "reply_to"), str),
    **dict.fromkeys(("trimmed", "excluded"), bool),
    **dict.fromkeys(("sent_at", "trashed_at"), lambda n: None if n is None else int(n)),
    "rating": lambda stars: None if stars is None else float(stars),
    "labels": lambda labels: tuple(map(str, labels)),
    "cleaning": int,
    "author": lambda name: Author[str(name).upper()],
}
_OF_DRAFTS = {"asked": str, "drafted": str, "own_share": float}  # later than 0.2.0


def is_exported(value: Any) -> bool:
    """Whether an object of a JSON lines file is a record that an export wrote."""
    return isinstance(value, dict) and value.get(MARK) == EXPORTED


def exported_item(value: Row, position: int, where: str) -> Item:
    """The record in a line, with nothing lost; a failure if somebody damaged it."""
    try:
        if mark := tuple(map(str, value.get("voice_mark", ()))):
            if len(mark) != 6 or mark[4] not in ("set", "pinned", "struck"):
                raise ValueError("voice_mark")
            return Skipped(position, "what you said of your voice (it is kept)", mark)
        raw = None if value["raw"] is None else base64.b64decode(value["raw"])
        if raw is not None:
            unpack(raw)  # raises if somebody damaged it
        fields = {name: read(value[name]) for name, read in _EXPORTED_FIELDS.items()}
        fields |= {n: read(value[n]) for n, read in _OF_DRAFTS.items() if n in value}
        origin = str(value["source_kind"]), str(value["source"])
        return Document(position, raw=raw, origin=origin, **fields)
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        reason = f"it is not as it was exported ({type(error).__name__}: {error})"
        return ImportFailure(position, where, reason)


_DEEPEST = 4
_TELEGRAM = re.compile(
    rb'"date_unixtime"|"from_id"\s*:|"about"\s*:\s*"Here is the data you requested'
)
"""Of a chat, an older one, and an export of all of them."""


def _json_entries(source: Source) -> Iterator[Entry]:
    """Those of JSON lines, or of one JSON list."""
    for count, (position, value) in enumerate(_json_values(source), 1):
        reason = value if isinstance(value, str) else "it is not an object"
        where = f"{source.name}, entry {count}"
        entry = value if isinstance(value, dict) else reason
        yield min(position, source.size), where, entry


def _json_values(source: Source) -> Iterator[tuple[int, Any]]:
    """(position, value) of each entry; a broken line is a sentence."""
    with source.open() as stream:
        if _is_list(source):
            yield from array_values(stream, source.name)
            return
        position = 0
        for line in stream:
            position += len(line)
            if line.strip():
                try:
                    value = json.loads(decode(line))
                except (ValueError, RecursionError) as error:
                    value = f"it is not JSON: {error}"
                yield position, value


def _is_list(source: Source) -> bool:
    return source.head(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")


def _json_sample(source: Source) -> tuple[list[str], list[Row]]:
    if _TELEGRAM.search(source.head()):
        raise SourceError(
            f"{source.name} is a chat of Telegram, in which others write too: there is "
            "no importer for it."
        )
    found = islice(_json_values(source), SAMPLE)
    sample: list[Row] = [_flat(value) for _, value in found if isinstance(value, dict)]
    if not sample:
        raise SourceError(
            f"{source.name} is not a JSON lines file: none of its first lines is an "
            'object such as {"text": "..."}.'
        )
    return list(dict.fromkeys(name for row in sample for name in row)), sample


def _is_store_export(source: Source) -> bool:
    try:
        found = islice(_json_values(source), SAMPLE)
        return all(is_exported(value) for _, value in found)
    except SourceError:
        return False


def _flat(value: Row, depth: int = 1) -> dict[str, Any]:
    """Fields of nested objects under dotted names, as in user.name."""
    fields: dict[str, Any] = {}
    for name, inner in value.items():
        if isinstance(inner, dict) and depth < _DEEPEST:
            nested = _flat(inner, depth + 1)
            fields |= {f"{name}.{key}": item for key, item in nested.items()}
        else:
            fields[name] = inner
    return fields


csv = _Table("CSV file", (".csv", ".tsv"), _csv_entries, _csv_sample)
jsonl = _Table(
    "JSON lines file",
    (".jsonl", ".ndjson"),
    _json_entries,
    _json_sample,
    _is_store_export,
)


# Profiles of the LaMP and LongLaMP benchmarks as a history of one's own.

# In the order of preference; `description` is the user's in LongLaMP's reviews only
# beside a longer text, in LaMP-2 it is the plot of a film.
_TEXTS = ("reviewText", "text", "abstract", "output", "title")
_TITLES = ("title", "summary", "input")
_RATINGS = ("score", "overall")
_SHOWN = 12  # users that are named if the one asked for is missing
_IDS = ("user_id", "user", "reviewer", "reviewerId", "author", "name", "id")


class _Lamp:
    """Files of questions with profiles."""

    def sources(self, path: Path) -> list[Source]:
        """The file itself, or every file of questions with profiles below a folder."""
        is_json = ends_with(".json", ".jsonl")
        return locate(
            path,
            lambda file: is_json(file) and b'"profile"' in file.head(),
            "LaMP file with profiles",
        )

    def read(self, source: Source, options: ReadOptions) -> Iterator[Item]:
        """One document per text of a profile, of all users or of `--map user=ID`.

        Raises SourceError, with some of the users there are, if that one is missing.
        """
        user = options.mapping.get("user", "")
        users: dict[str, None] = {}
        before = 0
        for after, entry in _json_values(source):
            if isinstance(entry, str) and not _is_list(source):
                raise SourceError(f"{source.name} is not JSON: {entry}.")
            if user and user not in users:
                users[_user(entry)] = None
            if after > options.start:
                end = min(after, source.size)
                yield from _lamp_items(source, entry, user, before, end)
            before = after
        if user and user not in users:
            some = ", ".join(islice(filter(None, users), _SHOWN)) or "nobody"
            raise SourceError(f"{source.name} has no user '{user}'; it has: {some}.")


def _lamp_items(
    source: Source, entry: Any, user: str, before: int, after: int
) -> Iterator[Item]:
    profile = mapping(entry).get("profile")
    who = _user(entry)
    if not isinstance(profile, list):
        where = f"{source.name}, byte {after:,}"
        yield ImportFailure(after, where, "it has no profile")
    elif user and who != user:
        yield Skipped(after, "of other users")
    else:
        for count, item in enumerate(profile, 1):
            position = after if count == len(profile) else before
            yield placed(_lamp_text(who, mapping(item)), position)


def _lamp_text(user: str, fields: dict[str, Any]) -> Document | str:
    said = {name: text(fields.get(name)).strip() for name in (*_TEXTS, *_TITLES)}
    name = next((name for name in _TEXTS if said[name]), "")
    if not name:
        return WITHOUT_TEXT
    body = tidy(said[name])[:MAX_STORED]
    titles = (said[title] for title in _TITLES if title != name)
    ratings = (number(fields.get(name)) for name in _RATINGS)
    rating = next((found for found in ratings if found is not None), None)
    return Document(
        *(0, digest("lamp", user, str(fields.get("id", "")), body)),
        kind="review" if rating is not None else "note",
        text=body,
        title=tidy(next(filter(None, titles), "")),
        sent_at=parse_date(fields.get("date")),
        rating=rating,
    )


def _user(entry: Any) -> str:
    """Whose profile an entry holds: in LaMP each question has a user of its own."""
    fields = mapping(entry)
    return next((str(fields[name]) for name in _IDS if fields.get(name)), "")


lamp = _Lamp()
