"""Profiles of the LaMP and LongLaMP benchmarks as a history of one's own."""

import hashlib
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from personal_store.cleaning.cleaning import VERSION, tidy
from personal_store.errors import SourceError
from personal_store.files.sources import Source, ends_with, locate
from personal_store.importers.formats.objects import array_values
from personal_store.reading.letters import MAX_STORED
from personal_store.records import Document, ImportFailure, Item, ReadOptions, Skipped
from personal_store.text.dates import parse_date

# In the order of preference; `description` is the user's in LongLaMP's reviews only
# beside a longer text, in LaMP-2 it is the plot of a film.
_TEXTS = ("reviewText", "text", "abstract", "output", "title")
_TITLES = ("title", "summary", "input")
_RATINGS = ("score", "overall")
_SHOWN = 12
"""Users that are named where the one asked for is missing."""
_IDS = ("user_id", "user", "reviewer", "reviewerId", "author", "name", "id")


def sources(path: Path) -> list[Source]:
    """The file itself, or every file of questions with profiles below a folder."""
    return locate(
        path,
        lambda file: ends_with(".json", ".jsonl")(file) and b'"profile"' in file.head(),
        "LaMP file with profiles",
    )


def read(source: Source, options: ReadOptions) -> Iterator[Item]:
    """One document per text of a profile, of all users or of `--map user=ID`.

    Raises SourceError, with some of the users there are, if that one is not among them.
    """
    user = options.mapping.get("user", "")
    users: dict[str, None] = {}
    before = 0
    for after, entry in _entries(source):
        if user and user not in users:
            users[_user(entry)] = None
        if after > options.start:
            yield from _items(source, entry, user, before, min(after, source.size))
        before = after
    if user and user not in users:
        some = ", ".join(islice(filter(None, users), _SHOWN)) or "nobody"
        raise SourceError(f"{source.name} has no user '{user}'; it has: {some}.")


def _entries(source: Source) -> Iterator[tuple[int, Any]]:
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


def _items(
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
        yield _document(who, item, after if number == len(profile) else before)


def _document(user: str, item: Any, position: int) -> Item:
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
