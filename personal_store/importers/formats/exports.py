"""What importers of a service's export share: its files as one source, texts, keys.

An export is many files, of which some hold texts. They are read one after the other as
one source, so that an import has one place to go on from and one name in the store.
"""

import hashlib
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from personal_store.cleaning.cleaning import tidy
from personal_store.cleaning.markup import own_text
from personal_store.errors import SeveralOwnersError, SourceError
from personal_store.files.archives import FAULTS
from personal_store.files.files import Bundle, parts, why
from personal_store.files.sources import Source, locate
from personal_store.importers.formats.talks import plain_name
from personal_store.records import ImportFailure, Item, ReadOptions, Skipped
from personal_store.text.tokens import tokens

FEWEST_WORDS = 3
"""A message with fewer words says nothing about how somebody writes."""

_TAG = re.compile(
    r"</?(?:a|b|blockquote|br|code|div|em|i|li|ol|p|pre|s|span|spoiler|strong|u|ul)\b"
    r"[^<>]*>",
    re.IGNORECASE,
)
_BLOCK = re.compile(r"<(?:br|p|div|li)\b", re.IGNORECASE)
_QUOTE = re.compile(
    r"<blockquote\b(?:(?!<blockquote\b).)*?</blockquote\s*>", re.IGNORECASE | re.DOTALL
)
_OPEN_QUOTE = re.compile(r"<blockquote\b.*", re.IGNORECASE | re.DOTALL)
_DEEPEST_QUOTE = 20
_LINK = re.compile(r"(?:https?://|www\.)\S+")
_TO = re.compile(r"\s*((?:@[\w.-]+(?:@[\w.-]+)?[,:]?\s+)+|@[\w.-]+(?:@[\w.-]+)?\s*\Z)")

_GONE = re.compile(
    r"\W*\[\s*(?:deleted|removed|unavailable)\b[^\]\n]{0,100}\]\W*", re.IGNORECASE
)

Entry = TypeVar("Entry")
ReadFile = Callable[[Source], Iterator[Item]]
"""Reads one file of an export; positions count from the start of that file."""


@dataclass(frozen=True, slots=True)
class Export(Bundle):
    """The files of one export that hold texts, read as one source."""

    aside: tuple[Source, ...] = ()
    """Files without texts, which say who the owner is or complete other files."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How to tell the files of a service from others."""

    what: str
    """What to call such a file when there is none."""
    names: str
    """Pattern for the base name; ignored for a file that is given by itself."""
    shaped: Callable[[bytes], bool]
    """Whether a file may begin like this."""
    elsewhere: str = r"(?!)"
    """Pattern for a folder, among the four nearest, or an archive, whose files are not
    meant."""

    def fits(self, source: Source) -> bool:
        """Whether a file in a folder or an archive is one of the service's."""
        archive = (source.path.name,) if source.member else ()
        around = (*source.folders[-4:], *archive)
        return (
            re.fullmatch(self.names, source.name, re.IGNORECASE) is not None
            and not any(re.search(self.elsewhere, f, re.I) for f in around)
            and self.shaped(source.head())
        )


def gather(
    path: Path,
    *texts: Shape,
    aside: Shape | None = None,
    owner: Callable[[Source], str] | None = None,
) -> list[Export]:
    """One source for all files behind a path that hold texts of one of these shapes.

    A file given by itself may have any name, but not any content. `owner` tells whose
    export it is by a file aside.

    Raises:
        SourceError: there are none.
        SeveralOwnersError: they are of several people.
    """
    what = texts[0].what

    def wanted(source: Source) -> bool:
        return any(shape.fits(source) for shape in texts) or _fits(aside, source)

    found = locate(path, wanted, what)
    others = [s for s in found if not s.fault and _fits(aside, s)]
    files = [s for s in found if s not in others]
    if len(files) == 1 and path.is_file() and not files[0].member:
        head = files[0].head()
        if not any(shape.shaped(head) for shape in texts):
            raise SourceError(f"{path} is not a {what}.")
    if not files:
        raise SourceError(f"There is no {what} in {path}.")
    if owner is not None:
        # Posts and comments are not signed: those of two people cannot be told apart.
        owners: dict[str, str] = {}
        for file in others:
            try:
                name = owner(file)
            except (SourceError, *FAULTS):
                continue
            if name:
                owners.setdefault(plain_name(name).lower(), f"{name} ({file.place})")
        if len(owners) > 1:
            raise SeveralOwnersError(
                f"{path} holds the exports of several people or accounts: "
                f"{'; '.join(owners.values())}. Import each that is yours by itself."
            )
    size = sum(file.size for file in files)
    return [Export(path, size, files=tuple(files), aside=tuple(others))]


def aside_of(source: Source) -> tuple[Source, ...]:
    """The files without texts that came along."""
    return source.aside if isinstance(source, Export) else ()


def owners_of(source: Source, owner: Callable[[Source], str]) -> tuple[str, ...]:
    """Whose export it is, by the first file aside that tells it; empty if none does."""
    for file in aside_of(source):
        try:
            name = owner(file)
        except (SourceError, *FAULTS):
            continue
        if name:
            return (name,)
    return ()


def read_files(
    source: Source, options: ReadOptions, read_file: ReadFile
) -> Iterator[Item]:
    """Everything in the files after options.start.

    One of several files that cannot be read is a failure like a bad record; if there
    is only one, it raises SourceError.
    """
    before = 0
    files = parts(source)
    for file in files:
        try:
            if file.fault:
                raise SourceError(file.fault)
            for item in read_file(file):
                position = before + min(item.position, file.size)
                if position > options.start:
                    yield replace(item, position=position)
        except (SourceError, *FAULTS) as error:
            if len(files) == 1:
                raise
            yield ImportFailure(before + file.size, file.name, why(error))
        before += file.size


def each(
    entries: Iterable[Entry | ImportFailure], item_of: Callable[[Entry], Item]
) -> Iterator[Item]:
    """The item of each row or element of a file; failures stay as they are."""
    for entry in entries:
        yield entry if isinstance(entry, ImportFailure) else item_of(entry)


def readable(source: Source) -> Iterator[Source]:
    """The files with texts that can at least be looked at."""
    return (file for file in parts(source) if not file.fault)


def digest(service: str, *parts: Any) -> str:
    """A key for what has no id of its own: the same for the same parts."""
    said = json.dumps(parts, default=str)
    return f"{service}:{hashlib.sha256(said.encode()).hexdigest()}"


def prose(value: Any) -> str:
    """A text as its writer saw it: tags and entities resolved, line breaks kept.

    What is marked as a quote is not the writer's and goes.
    """
    if not isinstance(value, str):
        return ""
    if not _TAG.search(value):
        return tidy(html.unescape(value)).strip()
    # The inner quotes first; one that is not closed takes the rest with it.
    for _ in range(_DEEPEST_QUOTE):
        value, count = _QUOTE.subn("\n", value)
        if not count:
            break
    value = _OPEN_QUOTE.sub("", value)
    if not _BLOCK.search(value):
        value = value.replace("\r\n", "\n").replace("\n", "<br>")
    return tidy(own_text(value)).strip()


def addressed(text: str) -> tuple[str, str]:
    """(first person, rest) of an answer that begins with the people it is for."""
    match = _TO.match(text)
    if match is None:
        return "", text
    return match.group(1).split()[0].rstrip(",:"), text[match.end() :].strip()


def says_little(text: str, fewest: int = FEWEST_WORDS) -> bool:
    """Whether fewer words than this remain when links are taken out."""
    return len(tokens(_LINK.sub(" ", text[:2_000]))) < fewest


def is_gone(text: str) -> bool:
    """Whether a service put it in place of a text, such as '[ Removed by Reddit ]'."""
    return len(text) < 200 and _GONE.fullmatch(text) is not None


def without_text(position: int) -> Skipped:
    """Nothing was written here."""
    return Skipped(position, "without text")


def _fits(shape: Shape | None, source: Source) -> bool:
    return shape is not None and shape.fits(source)
