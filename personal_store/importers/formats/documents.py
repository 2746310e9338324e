"""Files that are one text each: notes, essays, chapters, in plain text or packed.

Word processor files are zips of XML. Their XML is read as a stream, and entities are
refused, so that none can explode.
"""

import hashlib
import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from personal_store.cleaning.cleaning import VERSION, tidy
from personal_store.errors import SourceError
from personal_store.files.files import Source
from personal_store.reading.bundles import read_each
from personal_store.reading.letters import FEWEST_WORDS, MAX_STORED
from personal_store.records import Document, Item, ReadOptions, Skipped
from personal_store.text.dates import parse_date
from personal_store.text.tokens import tokens

MAX_DOCUMENT = 32 * 1024 * 1024
"""Bytes of a file that is one text."""

_PARAGRAPH = re.compile(r"\n\s*\n")
_LINES = 100
_SENT = re.compile(r"(?:doc|img|vid|aud|ptt|stk)-\d{8}-wa\d+|\d{8}-\S")
_TALK_LINES = 200
_TIMED = re.compile(r".{0,40}?\d{1,2}[:.]\d{2}.{0,60}?:(?:\s|$)")
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[?\s*\{\s*\"[^\"\n]{1,60}\"\s*:")
_SPOKEN = re.compile(r"([^\s:][^:\n]{0,40}):\s\S")
_EXPORTS = ("takeout", "readme", "license", "licence", "changelog", "requirements")

Start = Callable[[str, dict[str, str]], None]


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
        if _JSON.match(file.head()):
            raise SourceError(f"{file.name} is data that a program wrote, and no text.")
        text = text_of(file)
        if text.foreign:
            yield Skipped(after, text.foreign)
        elif len(tokens(text.body[:1000])) < FEWEST_WORDS:
            yield Skipped(after, "without own words")
        else:
            # Each piece has a key of its own; an edited file replaces what it was.
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


def tidy_whole(text: str) -> str:
    """Tidy a text of any length; what is tidied in one go is cut at a limit."""
    paragraphs = []
    for paragraph in _PARAGRAPH.split(text):
        lines = paragraph.splitlines()
        starts = range(0, len(lines), _LINES)
        some = (tidy("\n".join(lines[at : at + _LINES])) for at in starts)
        paragraphs.append("\n".join(filter(None, some)))
    return "\n\n".join(filter(None, paragraphs))


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


def read_xml(
    data: bytes,
    start: Start,
    end: Callable[[str], None],
    text: Callable[[str], None],
) -> None:
    """Tell of each element, by its name without namespace, and of each text.

    Raises SourceError for what is no XML, or declares a document type: word processors
    never do, attackers must.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse
    parser.StartElementHandler = lambda name, given: start(
        local(name), {local(key): value for key, value in given.items()}
    )
    parser.EndElementHandler = lambda name: end(local(name))
    parser.CharacterDataHandler = text
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise SourceError(f"its XML is broken: {error}") from error


def local(name: str) -> str:
    """'w:p' is 'p'."""
    return name.rpartition(":")[2]


def _refuse(*_: object) -> None:
    raise SourceError("its XML declares a document type, which is not read")


def packed_text(
    file: Source,
    body: str,
    about: str,
    paragraphs: "Paragraphs",
    dates: Sequence[str],
) -> Text:
    """The text of a zip of XML, from the part `body`, and its title and date, from the
    part `about`; the first of `dates` that is there counts.

    Raises BadZipFile or SourceError if it is damaged.
    """
    with zipfile.ZipFile(io.BytesIO(file.whole(MAX_DOCUMENT))) as packed:
        data = _member(packed, body)
        said = Properties().read(_member(packed, about, needed=False))
    date = next((said[name] for name in dates if said.get(name)), None)
    return Text(
        paragraphs.read(data), title=said.get("title", ""), written=parse_date(date)
    )


def _member(packed: zipfile.ZipFile, name: str, *, needed: bool = True) -> bytes:
    """The bytes of a part; raises SourceError if it is missing, or far too much."""
    try:
        with packed.open(name) as stream:
            data = stream.read(MAX_DOCUMENT + 1)
    except KeyError:
        if not needed:
            return b""
        raise SourceError(f"it has no {name}") from None
    if len(data) > MAX_DOCUMENT:
        raise SourceError(f"its {name} unpacks to far too much")
    return data


@dataclass(slots=True)
class Paragraphs:
    """Collects the text of a document from the events of its XML.

    `handle` may write a text for an element; what is inside `skipped` is left out.
    """

    paragraph: tuple[str, ...]
    """Elements whose end ends a line."""
    skipped: tuple[str, ...]
    handle: Callable[[str, dict[str, str]], str]
    within: tuple[str, ...] = ()
    """If given, text counts only inside these elements."""
    lines: list[str] = field(default_factory=lambda: [""])
    _skipping: int = 0
    _inside: int = 0

    def read(self, data: bytes) -> str:
        """The text of an XML part, a line per paragraph, blank ones between."""
        read_xml(data, self._start, self._end, self._text)
        return "\n\n".join(line for line in self.lines if line.strip())

    def _start(self, name: str, given: dict[str, str]) -> None:
        if name in self.skipped:
            self._skipping += 1
        if name in self.within:
            self._inside += 1
        if not self._skipping:
            self.lines[-1] += self.handle(name, given)

    def _end(self, name: str) -> None:
        if name in self.skipped:
            self._skipping -= 1
        if name in self.within:
            self._inside -= 1
        if name in self.paragraph and not self._skipping:
            self.lines.append("")

    def _text(self, text: str) -> None:
        if not self._skipping and (self._inside or not self.within):
            self.lines[-1] += text


@dataclass(slots=True)
class Properties:
    """Title and date of a document."""

    found: dict[str, str] = field(default_factory=dict)
    _open: str = ""

    def read(self, data: bytes) -> dict[str, str]:
        """Texts by the name of their element; the first of each counts."""
        if data:
            read_xml(data, self._start, self._end, self._text)
        return {name: text.strip() for name, text in self.found.items()}

    def _start(self, name: str, _: dict[str, str]) -> None:
        self._open = "" if name in self.found else name
        if self._open:
            self.found[name] = ""

    def _end(self, _: str) -> None:
        self._open = ""

    def _text(self, text: str) -> None:
        if self._open:
            self.found[self._open] += text
