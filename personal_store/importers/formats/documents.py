"""Files that are one text each: notes, letters, chapters."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from personal_store.cleaning.cleaning import VERSION, tidy
from personal_store.files.files import Source
from personal_store.reading.bundles import read_each
from personal_store.reading.letters import FEWEST_WORDS, MAX_STORED
from personal_store.records import Document, Item, ReadOptions, Skipped
from personal_store.text.tokens import tokens

MAX_DOCUMENT = 32 * 1024 * 1024
"""Bytes of a file that is one text."""

_PARAGRAPH = re.compile(r"\n\s*\n")
_LINES = 100
_SENT = re.compile(r"(?:doc|img|vid|aud|ptt|stk)-\d{8}-wa\d+|\d{8}-\S")
_TALK_LINES = 200
_TIMED = re.compile(r".{0,40}?\d{1,2}[:.]\d{2}.{0,60}?:(?:\s|$)")
_SPOKEN = re.compile(r"([^\s:][^:\n]{0,40}):\s\S")
_EXPORTS = ("takeout", "readme", "license", "licence", "changelog", "requirements")


@dataclass(frozen=True, slots=True)
class Text:
    """What a file says."""

    body: str
    title: str = ""
    written: int | None = None
    """Seconds since 1970; None leaves it to the date of the file."""
    labels: tuple[str, ...] = ()
    foreign: str = ""
    """Why it is not the owner's writing; empty if it is."""


def read_documents(
    source: Source, options: ReadOptions, text_of: Callable[[Source], Text]
) -> Iterator[Item]:
    """Every file as one document, or as several if it is a long one."""

    def read_file(file: Source, before: int, after: int) -> Iterator[Item]:
        text = text_of(file)
        if text.foreign:
            yield Skipped(after, text.foreign)
        elif len(tokens(text.body[:1000])) < FEWEST_WORDS:
            yield Skipped(after, "without own words")
        else:
            yield from _documents(file, text, before, after)

    return read_each(source, options, read_file)


def is_personal(source: Source) -> bool:
    """Whether a text found on the way is likely somebody's own, not a program's.

    Texts inside an archive describe the archive more often than not. What was sent in
    a WhatsApp chat lies beside it under a name that WhatsApp gave it.
    """
    stem = Path(source.name).stem.lower()
    is_sent = _SENT.match(stem) is not None
    return not (source.member or is_sent or stem.startswith(_EXPORTS))


def is_talk(head: bytes) -> bool:
    """Whether a text looks like a talk of several people, of whatever program.

    That is one in which many lines begin with a time and go on with a name and a colon,
    or in which two names and colons take turns.
    """
    lines = [
        line for line in head.decode("utf-8", "replace").splitlines() if line.strip()
    ]
    lines = lines[:_TALK_LINES]
    timed = sum(_TIMED.match(line) is not None for line in lines)
    names = Counter(m[1] for m in map(_SPOKEN.match, lines) if m is not None)
    turns = sum(count for count in names.values() if count > 1)
    several = sum(count > 1 for count in names.values()) > 1
    return 5 * timed >= len(lines) > 1 or (several and 2 * turns >= len(lines))


def _documents(file: Source, text: Text, before: int, after: int) -> Iterator[Document]:
    """In pieces, each with a key of its own; an edited file replaces what it was."""
    place = hashlib.sha256(file.place.encode()).hexdigest()
    pieces = list(_pieces(tidy_whole(text.body)))
    for number, piece in enumerate(pieces, 1):
        yield Document(
            position=after if number == len(pieces) else before,
            key=f"file:{place}" + (f":{number}" if number > 1 else ""),
            kind="note",
            text=piece,
            title=text.title or Path(file.name).stem,
            sent_at=file.modified if text.written is None else text.written,
            labels=text.labels,
            cleaning=VERSION,
        )


def tidy_whole(text: str) -> str:
    """Tidy a text of any length; what is tidied in one go is cut at a limit."""
    paragraphs = (_tidy_paragraph(part) for part in _PARAGRAPH.split(text))
    return "\n\n".join(filter(None, paragraphs))


def _tidy_paragraph(paragraph: str) -> str:
    lines = paragraph.splitlines()
    some = ("\n".join(lines[at : at + _LINES]) for at in range(0, len(lines), _LINES))
    return "\n".join(filter(None, map(tidy, some)))


def _pieces(text: str) -> Iterator[str]:
    """Parts that fit into the store, cut between paragraphs where that is possible."""
    while len(text) > MAX_STORED:
        cut = text.rfind("\n\n", MAX_STORED // 2, MAX_STORED)
        if cut < 0:
            cut = text.rfind(" ", MAX_STORED // 2, MAX_STORED)
        cut = MAX_STORED if cut < 0 else cut
        yield text[:cut].rstrip()
        text = text[cut:].lstrip()
    if text:
        yield text
