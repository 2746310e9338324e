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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from personal_store.cleaning.cleaning import VERSION, tidy
from personal_store.cleaning.markup import own_text
from personal_store.errors import SourceError
from personal_store.files.files import Source
from personal_store.files.sources import ends_with, locate
from personal_store.importers.exports import is_gone
from personal_store.importers.service_files import keep_out
from personal_store.importers.structured import array_values, plain
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
SAMPLE = 200
"""Rows that are looked at to find the column with the text."""

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
    """Which column holds what; empty where none does."""

    text: str
    date: str = ""
    title: str = ""
    id: str = ""
    to: str = ""
    rating: str = ""
    kind: str = ""
    """A column, or one of KINDS for all rows."""

    @classmethod
    def choose(
        cls, names: Sequence[str], sample: Iterable[Row], mapping: Mapping[str, str]
    ) -> "Columns":
        """The columns the person named, else those whose names tell, else the longest.

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
            if field not in chosen:
                spelled = {
                    plain(name): name for name in reversed(names) if name not in taken
                }
                found = next(
                    (spelled[guess] for guess in guesses.split() if guess in spelled),
                    "",
                )
                if found:
                    chosen[field] = found
                    taken.add(found)
        if not chosen.get("text"):
            # The column with the longest prose on average, if any reads like prose.
            rows = list(sample)
            lengths = {
                name: sum(
                    len(value)
                    for value in (row.get(name) for row in rows)
                    if isinstance(value, str) and " " in value.strip()
                )
                / max(1, len(rows))
                for name in names
                if name not in taken
            }
            best = max(lengths, key=lengths.__getitem__, default="")
            chosen["text"] = best if best and lengths[best] >= _SHORTEST_AVERAGE else ""
        if not chosen["text"]:
            raise SourceError(
                "It is not clear which column holds the text: say so with --map "
                f"text=COLUMN. The columns are: {', '.join(names) or 'none'}."
            )
        return cls(**chosen)

    def mapping(self) -> dict[str, str]:
        """The column of each field, as --map takes them; empty where there is none."""
        return asdict(self)

    def document(self, row: Row, position: int) -> Item:
        """The document in a row, or why there is none."""
        said = row.get(self.text)
        if isinstance(said, list):  # pieces, of which those with a style are objects
            pieces = (p.get("text") if isinstance(p, dict) else p for p in said)
            said = "".join(piece for piece in pieces if isinstance(piece, str))
        text = _readable(said)
        if not text or is_gone(text):
            return Skipped(position, "without text")
        title, to = _readable(row.get(self.title)), _readable(row.get(self.to))
        # By id where there is one, so that an edited text replaces the old one. Ids of
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
            rating=_number(row.get(self.rating)),
            cleaning=VERSION,
        )

    def _kind(self, row: Row) -> str:
        told = str(row.get(self.kind) or self.kind).strip().casefold()
        if told in KINDS:
            return told
        return "review" if self.rating else "note"


def _readable(value: Any) -> str:
    if value is None or isinstance(value, dict | list):
        return ""
    text = str(value)
    return tidy(own_text(text) if _TAG.search(text) else text).strip()


def _number(value: Any) -> float | None:
    try:
        return float(str(value).strip().replace(",", "."))
    except ValueError:
        return None


_DELIMITERS = ",;\t|"
_LONGEST_FIELD = 16 * 1024 * 1024
_SAMPLE_BYTES = 1024 * 1024


class _Csv:
    """CSV files of any service."""

    def sources(self, path: Path) -> list[Source]:
        """The file itself, or every .csv in a folder or zip."""
        return keep_out(path, locate(path, ends_with(".csv", ".tsv"), "CSV file"))

    def recognises(self, source: Source) -> bool:
        """Whether one of its columns is clearly the text."""
        try:
            self.columns(source, {})
        except SourceError:
            return False
        return True

    def names(self, source: Source) -> list[str]:
        """The names of its columns."""
        return _csv_names(_beginning(source))

    def columns(self, source: Source, mapping: Mapping[str, str]) -> Columns:
        """Which column holds what, as told and as guessed from the first rows."""
        text = _beginning(source)
        header = _csv_names(text)
        rows = (
            row for row, _ in islice(_csv_rows(text), SAMPLE) if isinstance(row, list)
        )
        sample = [dict(zip(header, row, strict=False)) for row in rows]
        return Columns.choose(header, sample, mapping)

    def read(self, source: Source, options: ReadOptions) -> Iterator[Item]:
        """One document per row."""
        chosen = self.columns(source, options.mapping)
        text = _csv_text(source, source.whole())
        header = _csv_names(text)
        lines = 1 + text.count("\n") + text.count("\r")
        for row, line in _csv_rows(text):
            position = min(source.size, source.size * line // lines)
            where = f"{source.name}, line {line}"
            if position <= options.start:
                continue
            if isinstance(row, csv_lines.Error):
                yield ImportFailure(position, where, str(row))
            elif len(row) > len(header):
                reason = f"it has {len(row)} fields, the first line has {len(header)}"
                yield ImportFailure(position, where, reason)
            elif any(row):
                yield chosen.document(dict(zip(header, row, strict=False)), position)


def _beginning(source: Source) -> str:
    """The first lines of a table, enough to see its columns."""
    data = source.head(_SAMPLE_BYTES)
    if len(data) == _SAMPLE_BYTES:
        data = data[: data.rfind(b"\n") + 1] or data
    return _csv_text(source, data)


def _csv_text(source: Source, data: bytes) -> str:
    if b"\0" in data[:4096] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceError(f"{source.name} is not a CSV file: it is not text.")
    utf16 = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    return decode(data, "utf-16" if utf16 else "")


def _csv_names(text: str) -> list[str]:
    return [name.strip() for name in next(_reader(text), [])]


def _csv_rows(text: str) -> Iterator[tuple[list[str] | csv_lines.Error, int]]:
    """Every row after the first with the number of its last line."""
    reader = _reader(text)
    next(reader, None)
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv_lines.Error as error:
            yield error, reader.line_num
        else:
            yield row, reader.line_num


def _reader(text: str) -> Any:
    csv_lines.field_size_limit(_LONGEST_FIELD)
    header = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=header.count)
    return csv_lines.reader(io.StringIO(text, newline=""), delimiter=delimiter)


MARK = "specsteer"
"""The field that says which version of this format a line is in."""
EXPORTED = 1


def is_exported(value: Any) -> bool:
    """Whether an object of a JSON lines file is a record that an export wrote."""
    return isinstance(value, dict) and value.get(MARK) == EXPORTED


def exported_item(value: dict[str, Any], position: int, where: str) -> Item:
    """The record in a line, with nothing lost; a failure if somebody damaged it."""
    try:
        raw = None if value["raw"] is None else base64.b64decode(value["raw"])
        if raw is not None:
            unpack(raw)  # raises where somebody damaged it
        return Document(
            position=position,
            key=str(value["key"]),
            kind=str(value["kind"]),
            text=str(value["text"]),
            title=str(value["title"]),
            recipient=str(value["recipient"]),
            recipient_address=str(value["recipient_address"]),
            sender=str(value["sender"]),
            sender_name=str(value["sender_name"]),
            answer_to=str(value.get("answer_to", "")),
            sent_at=_whole(value["sent_at"]),
            rating=None if value["rating"] is None else float(value["rating"]),
            labels=tuple(map(str, value["labels"])),
            thread=str(value["thread"]),
            reply_to=str(value["reply_to"]),
            trimmed=bool(value["trimmed"]),
            cleaning=int(value["cleaning"]),
            raw=raw,
            origin=(str(value["source_kind"]), str(value["source"])),
            author=Author[str(value["author"]).upper()],
            excluded=bool(value["excluded"]),
            trashed_at=_whole(value["trashed_at"]),
        )
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        reason = f"it is not as it was exported ({type(error).__name__}: {error})"
        return ImportFailure(position, where, reason)


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


_DEEPEST = 4
_TELEGRAM = re.compile(
    rb'"date_unixtime"|"from_id"\s*:|"about"\s*:\s*"Here is the data you requested'
)
"""Of a chat, an older one, and an export of all of them."""


class _Jsonl:
    """JSON lines, or one JSON list."""

    def sources(self, path: Path) -> list[Source]:
        """The file itself, or every .jsonl in a folder or zip."""
        return keep_out(
            path, locate(path, ends_with(".jsonl", ".ndjson"), "JSON lines file")
        )

    def recognises(self, source: Source) -> bool:
        """Whether one of its fields is clearly the text."""
        try:
            self.columns(source, {})
        except SourceError:
            return False
        return True

    def is_certain(self, source: Source) -> bool:
        """Whether it is an export of a store, which names the writer of each text."""
        try:
            return all(
                is_exported(value) for _, _, value in islice(_values(source), SAMPLE)
            )
        except SourceError:
            return False

    def names(self, source: Source) -> list[str]:
        """The names of the fields in its first entries."""
        return _names(_sample(source))

    def columns(self, source: Source, mapping: Mapping[str, str]) -> Columns:
        """Which field holds what, as told and as guessed from the first entries."""
        sample = _sample(source)
        return Columns.choose(_names(sample), sample, mapping)

    def read(self, source: Source, options: ReadOptions) -> Iterator[Item]:
        """One document per object."""
        chosen = self.columns(source, options.mapping)
        for position, number, value in _values(source):
            if position <= options.start:
                continue
            where = f"{source.name}, entry {number}"
            if is_exported(value):
                yield exported_item(value, position, where)
            elif isinstance(value, dict):
                yield chosen.document(_flat(value), position)
            else:
                reason = value if isinstance(value, str) else "it is not an object"
                yield ImportFailure(position, where, reason)


def _sample(source: Source) -> list[dict[str, Any]]:
    if _TELEGRAM.search(source.head()):
        raise SourceError(
            f"{source.name} is a chat of Telegram, in which others write too: there is "
            "no importer for it."
        )
    found = islice(_values(source), SAMPLE)
    sample = [_flat(value) for _, _, value in found if isinstance(value, dict)]
    if not sample:
        raise SourceError(
            f"{source.name} is not a JSON lines file: none of its first lines is an "
            'object such as {"text": "..."}.'
        )
    return sample


def _names(sample: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in sample for name in row))


def _values(source: Source) -> Iterator[tuple[int, int, Any]]:
    """(position, number, value) of each entry; a broken one is a sentence."""
    if source.head(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        with source.open() as stream:
            for number, (position, value) in enumerate(
                array_values(stream, source.name), 1
            ):
                yield min(position, source.size), number, value
        return
    position = 0
    with source.open() as stream:
        for number, line in enumerate(stream, 1):
            position += len(line)
            if not line.strip():
                continue
            try:
                value = json.loads(decode(line))
            except (ValueError, RecursionError) as error:
                value = f"it is not JSON: {error}"
            yield position, number, value


def _flat(value: dict[str, Any], depth: int = 1) -> dict[str, Any]:
    """Fields of nested objects under dotted names, as in user.name."""
    fields: dict[str, Any] = {}
    for name, inner in value.items():
        if isinstance(inner, dict) and depth < _DEEPEST:
            nested = _flat(inner, depth + 1)
            fields |= {f"{name}.{key}": item for key, item in nested.items()}
        else:
            fields[name] = inner
    return fields


# In the order of preference; `description` is the user's in LongLaMP's reviews only
# beside a longer text, in LaMP-2 it is the plot of a film.
_TEXTS = ("reviewText", "text", "abstract", "output", "title")
_TITLES = ("title", "summary", "input")
_RATINGS = ("score", "overall")
_SHOWN = 12
"""Users that are named where the one asked for is missing."""
_IDS = ("user_id", "user", "reviewer", "reviewerId", "author", "name", "id")


class _Lamp:
    """Profiles of the LaMP and LongLaMP benchmarks as a history of one's own."""

    def sources(self, path: Path) -> list[Source]:
        """The file itself, or every file of questions with profiles below a folder."""
        return locate(
            path,
            lambda file: (
                ends_with(".json", ".jsonl")(file) and b'"profile"' in file.head()
            ),
            "LaMP file with profiles",
        )

    def read(self, source: Source, options: ReadOptions) -> Iterator[Item]:
        """One document per text of a profile, of all users or of `--map user=ID`.

        Raises SourceError, with some of the users there are, if that one is missing.
        """
        user = options.mapping.get("user", "")
        users: dict[str, None] = {}
        before = 0
        for after, entry in _lamp_entries(source):
            if user and user not in users:
                users[_user(entry)] = None
            if after > options.start:
                yield from _lamp_items(
                    source, entry, user, before, min(after, source.size)
                )
            before = after
        if user and user not in users:
            some = ", ".join(islice(filter(None, users), _SHOWN)) or "nobody"
            raise SourceError(f"{source.name} has no user '{user}'; it has: {some}.")


def _lamp_entries(source: Source) -> Iterator[tuple[int, Any]]:
    """(position behind it, entry), of a JSON list or of JSON lines."""
    with source.open() as stream:
        if stream.read(64).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
            stream.seek(0)
            yield from array_values(stream, source.name)
            return
        stream.seek(0)
        position = 0
        for line in stream:
            position += len(line)
            if line.strip():
                try:
                    entry = json.loads(line)
                except (ValueError, RecursionError) as error:
                    reason = f"{source.name} is not JSON: {error}."
                    raise SourceError(reason) from error
                yield position, entry


def _lamp_items(
    source: Source, entry: Any, user: str, before: int, after: int
) -> Iterator[Item]:
    profile = entry.get("profile") if isinstance(entry, dict) else None
    if not isinstance(profile, list):
        yield ImportFailure(
            after, f"{source.name}, byte {after:,}", "it has no profile"
        )
        return
    who = _user(entry)
    if user and who != user:
        yield Skipped(after, "of other users")
        return
    for number, item in enumerate(profile, 1):
        yield _lamp_text(who, item, after if number == len(profile) else before)


def _lamp_text(user: str, item: Any, position: int) -> Item:
    fields = item if isinstance(item, dict) else {}
    name = next((name for name in _TEXTS if _said(fields, name)), "")
    if not name:
        return Skipped(position, "without text")
    text = tidy(_said(fields, name))[:MAX_STORED]
    titles = (_said(fields, title) for title in _TITLES if title != name)
    rating = _rating(fields)
    same = json.dumps([user, str(fields.get("id", "")), text])
    return Document(
        position=position,
        key="lamp:" + hashlib.sha256(same.encode()).hexdigest(),
        kind="review" if rating is not None else "note",
        text=text,
        title=tidy(next(filter(None, titles), "")),
        sent_at=parse_date(fields.get("date")),
        rating=rating,
        cleaning=VERSION,
    )


def _user(entry: Any) -> str:
    """Whose profile an entry holds: in LaMP each question has a user of its own."""
    fields = entry if isinstance(entry, dict) else {}
    return next((str(fields[name]) for name in _IDS if fields.get(name)), "")


def _said(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value.strip() if isinstance(value, str) else ""


def _rating(fields: dict[str, Any]) -> float | None:
    for name in _RATINGS:
        try:
            return float(fields[name])
        except (KeyError, TypeError, ValueError):
            continue
    return None


csv, jsonl, lamp = _Csv(), _Jsonl(), _Lamp()
