"""Files that are one text each: plain text, Markdown, Word and OpenDocument.

Word processor files are zips of XML, which is read as a stream; a document type, and so
every entity, is refused: word processors never declare one, attackers must.
"""

import hashlib
import io
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.parsers import expat

from personal_store.cleaning.cleaning import VERSION, tidy
from personal_store.errors import SourceError
from personal_store.files import Bundle, Source, bundled, ends_with, locate
from personal_store.importers.exports import WITHOUT_WORDS, read_each
from personal_store.reading.letters import FEWEST_WORDS, MAX_STORED
from personal_store.records import Document, Item, ReadOptions, Skipped
from personal_store.text.charset import decode
from personal_store.text.dates import parse_date
from personal_store.text.tokens import tokens

MAX_DOCUMENT = 32 * 1024 * 1024  # bytes of a file that is one text

_PARAGRAPH = re.compile(r"\n\s*\n")
_LINES = 100
_SENT = re.compile(r"(?:doc|img|vid|aud|ptt|stk)-\d{8}-wa\d+|\d{8}-\S")
_TALK_LINES = 200
_TIMED = re.compile(r".{0,40}?\d{1,2}[:.]\d{2}.{0,60}?:(?:\s|$)")
_JSON = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[?\s*\{\s*\"[^\"\n]{1,60}\"\s*:")
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
    foreign: str = ""  # why it is not the owner's writing; empty if it is


@dataclass(frozen=True, slots=True)
class Documents:
    """The importer of one kind of files."""

    what: str
    suffixes: tuple[str, ...]
    text_of: Callable[[Source], Text]
    unlike: Callable[[Source], bool] = lambda _: False
    """Files with these suffixes that are not meant."""
    is_foreign: Callable[[Source], bool] = lambda _: False
    """Whether a file that nobody gave by name is likely not its owner's text."""

    def sources(self, path: Path) -> list[Bundle]:
        """The file itself, or every such file in a folder; archives in it stay shut."""

        def wanted(file: Source) -> bool:
            return ends_with(*self.suffixes)(file) and not self.unlike(file)

        return bundled(path, locate(path, wanted, self.what, archives=False))

    def recognises(self, source: Source) -> bool:
        """Whether it looks like something a person wrote.

        Texts inside an archive describe the archive more often than not. What was sent
        in a WhatsApp chat lies beside it under a name that WhatsApp gave it.
        """
        stem = Path(source.name).stem.lower()
        is_sent = _SENT.match(stem) is not None
        others = source.member or is_sent or stem.startswith(_EXPORTS)
        return not (others or self.is_foreign(source))

    def read(self, source: Source, options: ReadOptions) -> Iterator[Item]:
        """Every file as one document, or as several if it is a long one."""
        return read_each(source, options, self._read_file)

    def _read_file(self, file: Source, before: int, after: int) -> Iterator[Item]:
        if _JSON.match(file.head()):
            raise SourceError(f"{file.name} is data that a program wrote, and no text.")
        text = self.text_of(file)
        if text.foreign:
            yield Skipped(after, text.foreign)
        elif len(tokens(text.body[:1000])) < FEWEST_WORDS:
            yield Skipped(after, WITHOUT_WORDS)
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


def is_talk(head: bytes) -> bool:
    """Whether a text looks like a talk of several people, of whatever program.

    That is one in which many lines begin with a time and go on with a name and a colon,
    or in which two names and colons take turns.
    """
    lines = head.decode("utf-8", "replace").splitlines()
    lines = [line for line in lines if line.strip()][:_TALK_LINES]
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


# Plain text.

_WIDE = (b"\xff\xfe", b"\xfe\xff")


def _plain_text(file: Source) -> Text:
    data = file.whole(MAX_DOCUMENT)
    wide = data.startswith(_WIDE)
    if b"\0" in data[:4096] and not wide:
        raise SourceError(f"{file.name} is not a text file.")
    return Text(decode(data, "utf-16" if wide else ""))


text = Documents(
    "text file",
    (".txt", ".text"),
    _plain_text,
    is_foreign=lambda source: is_talk(source.head()),
)


# Markdown and Obsidian vaults: the prose, without code, embeds and quotes. Of the YAML
# between two '---' lines at the top only `name: value` and lists are read.

_NO_NOTES = ("templates", "_templates", "template")
_DATES = ("date", "created", "created at", "datetime", "published")
_NAMED = re.compile(r"(?:19|20)\d{2}-\d{2}-\d{2}")
_HEADING = re.compile(r"[ ]{0,3}#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*")
_FENCE = re.compile(r"[ ]{0,3}(?:>[ ]?)*(`{3,}|~{3,})(.*)")
_CALLOUT = re.compile(r"[ ]{0,3}>[ ]?\[![^\]\n]{1,40}\][+-]?[ ]?(.*)")
_QUOTE = re.compile(r"[ ]{0,3}>[ ]?(.*)")
_BLOCK_ID = re.compile(r"[ \t]\^[\w-]{1,60}$")
_MARKS = (
    (re.compile(r"!\[\[[^\]\n]*\]\]"), ""),
    (re.compile(r"!\[[^\]\n]*\]\([^)\n]*\)"), ""),
    (re.compile(r"\[\[[^\]|\n]*\|([^\]\n]*)\]\]"), r"\1"),
    (re.compile(r"\[\[([^\]\n]*)\]\]"), lambda m: m[1].replace("#", " ").strip()),
    (re.compile(r"\[\^[^\]\n]*\]:?"), ""),
    (re.compile(r"\[([^\]\n]+)\]\([^)\n]*\)"), r"\1"),
    (re.compile(r"<(https?://[^>\s]+)>"), r"\1"),
)
_COMMENTS = (("%%", "%%"), ("<!--", "-->"))
_LONGEST_LINE = 20_000
"""Characters of a line in which marks are looked for; longer ones are data."""
_FRONT = re.compile(
    r"\A\ufeff?---[ \t]*\n(.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL
)
_FIELD = re.compile(r"([A-Za-z_][\w .-]{0,60}?)[ \t]*:(?:[ \t]+(.*))?[ \t]*")
_ENTRY = re.compile(r"[ \t]*-[ \t]+(.*)")
_ENOUGH = 500  # lines, and characters of a line, that are looked at


def _note(file: Source) -> Text:
    content = decode(file.whole(MAX_DOCUMENT)).replace("\r\n", "\n")
    fields, body = front_matter(content)
    date = next((fields[name][0] for name in _DATES if fields.get(name)), "")
    stem = Path(file.name).stem
    named = _NAMED.search(stem)
    return Text(
        prose(body),
        title=next(iter(fields.get("title", [])), "") or stem,
        written=parse_date(date) or parse_date(named and named[0]),
        labels=tuple(tag.lstrip("#") for tag in fields.get("tags", [])),
        foreign="clippings" if fields.get("source") else "",
    )


def prose(text: str) -> str:
    """What was written, without what only Markdown or Obsidian reads."""
    for begin, end in _COMMENTS:
        text = "".join(_outside(text, begin, end))
    return "\n".join(map(_without_marks, _own_lines(text)))


def _outside(text: str, begin: str, end: str) -> Iterator[str]:
    """What is not between two marks; one that is never closed is no mark."""
    at = 0
    while (opened := text.find(begin, at)) >= 0:
        closed = text.find(end, opened + len(begin))
        if closed < 0:
            break
        yield text[at:opened]
        at = closed + len(end)
    yield text[at:]


def _own_lines(text: str) -> Iterator[str]:
    """Lines outside of code and quotes; a callout is a box of one's own words."""
    fence = ""
    in_callout = False
    for line in text.split("\n"):
        found = _FENCE.match(line)
        if fence:
            closes = found and found[1].startswith(fence) and not found[2].strip()
            fence = "" if closes else fence
        elif found:
            fence = found[1]
        elif callout := _CALLOUT.match(line):
            in_callout = True
            yield callout[1]
        elif quote := _QUOTE.match(line):
            if in_callout:
                yield quote[1]
        else:
            in_callout = False
            yield line


def _without_marks(line: str) -> str:
    if not 0 < len(line) < _LONGEST_LINE:
        return line
    heading = _HEADING.fullmatch(line)
    line = _BLOCK_ID.sub("", heading[1] if heading else line)
    if "[" in line or "<" in line:
        for pattern, words in _MARKS:
            line = pattern.sub(words, line)
    return line


def front_matter(text: str) -> tuple[dict[str, list[str]], str]:
    """(values by lower-case field name, the text after the block)."""
    found = _FRONT.match(text)
    if found is None:
        return {}, text
    fields: dict[str, list[str]] = {}
    values: list[str] = []
    for whole in (found[1] or "").split("\n")[:_ENOUGH]:
        line = whole[:_ENOUGH]
        entry, field = _ENTRY.fullmatch(line), _FIELD.fullmatch(line)
        if entry:
            values.append(_unquoted(entry[1]))
        elif field:
            values = fields[field[1].lower()] = _values(field[2] or "")
    named = {name: list(filter(None, values)) for name, values in fields.items()}
    return named, text[found.end() :]


def _values(value: str) -> list[str]:
    """The value of a field, or the values in brackets, where quotes do not keep commas
    together."""
    value = value.strip()
    if value.startswith("[") and value.endswith("]"):
        return [_unquoted(part) for part in value[1:-1].split(",")]
    return [_unquoted(value)] if value and value not in ("|", ">", "null", "~") else []


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1].strip()
    return value.partition(" #")[0].strip()


markdown = Documents(
    "Markdown file",
    (".md", ".markdown", ".mdown"),
    _note,
    unlike=lambda file: (
        any(name.startswith(".") for name in file.folders[-8:])
        or any(name.lower() in _NO_NOTES for name in file.folders)
    ),
)


# Word (.docx) and OpenDocument (.odt): the text as it reads now, without others'
# remarks. Comments, notes and page headers of Word lie in other parts.

# Deleted and moved away under "track changes", field codes, the copy of a text box that
# is kept for old programs, and where <w:tab> is a setting, not a character.
_WORD_SKIPPED = {
    *("del", "moveFrom", "instrText", "delText", "delInstrText", "Fallback"),
    *("pPr", "rPr"),
}
_WORD_MARKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_ODT_SKIPPED = {
    *("tracked-changes", "annotation", "note", "table-of-content", "bibliography"),
    *("alphabetical-index", "sequence-decls", "scripts", "font-face-decls"),
    *("automatic-styles", "title", "desc"),
}
_ODT_MARKS = {"tab": "\t", "line-break": "\n", "s": " "}
_MOST_SPACES = 100

_Event = tuple[str, str, dict[str, str]]


def _word_text(file: Source) -> Text:
    body, said = _read(file, "word/document.xml", "docProps/core.xml")
    text = _paragraphs(body, ("p",), ("t",), _WORD_SKIPPED, _WORD_MARKS)
    return _titled(text, said, "modified", "created")


def _odt_text(file: Source) -> Text:
    body, said = _read(file, "content.xml", "meta.xml")
    text = _paragraphs(body, ("p", "h"), ("p", "h"), _ODT_SKIPPED, _ODT_MARKS)
    return _titled(text, said, "date", "creation-date")


def _titled(body: str, said: dict[str, str], *dates: str) -> Text:
    date = next((said[name] for name in dates if said.get(name)), None)
    return Text(body, title=said.get("title", ""), written=parse_date(date))


def _read(file: Source, text: str, about: str) -> tuple[list[_Event], dict[str, str]]:
    """What is in the part with the text, and properties in the part with those."""
    with zipfile.ZipFile(io.BytesIO(file.whole(MAX_DOCUMENT))) as packed:
        body = _events(_member(packed, text))
        return body, _properties(_member(packed, about, needed=False))


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


def _events(data: bytes) -> list[_Event]:
    """('start', name, attributes), ('end', name, {}) and ('', text, {}) in their order,
    names without namespace; raises SourceError if it is no XML."""
    found: list[_Event] = []

    def local(name: str) -> str:
        return name.rpartition(":")[2]

    def refuse(*_: Any) -> None:
        raise SourceError("its XML declares a document type, which is not read")

    def start(name: str, given: dict[str, str]) -> None:
        attributes = {local(key): value for key, value in given.items()}
        found.append(("start", local(name), attributes))

    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda name: found.append(("end", local(name), {}))
    parser.CharacterDataHandler = lambda text: found.append(("", text, {}))
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise SourceError(f"its XML is broken: {error}") from error
    return found


def _paragraphs(
    events: list[_Event],
    ends: Collection[str],
    within: Collection[str],
    skipped: Collection[str],
    marks: Mapping[str, str],
) -> str:
    """The text inside `within` and outside of `skipped`, a line per paragraph, blank
    ones between; `marks` are what elements stand for, some several times."""
    lines = [""]
    skipping = inside = 0
    for event, name, given in events:
        if event == "start":
            skipping += name in skipped
            inside += name in within
            count = given.get("c", "1") if name == "s" else "1"
            times = min(int(count) if count.isdecimal() else 1, _MOST_SPACES)
            lines[-1] += "" if skipping else marks.get(name, "") * times
        elif event == "end":
            skipping -= name in skipped
            inside -= name in within
            if name in ends and not skipping:
                lines.append("")
        elif inside and not skipping:
            lines[-1] += name
    return "\n\n".join(line for line in lines if line.strip())


def _properties(data: bytes) -> dict[str, str]:
    """Title, dates and the like by the name of their element; the first counts."""
    found: dict[str, str] = {}
    opened = ""
    for event, name, _ in _events(data) if data else ():
        if event == "start":
            opened = "" if name in found else name
            found.setdefault(name, "")
        elif event == "end":
            opened = ""
        elif opened:
            found[opened] += name
    return {name: text.strip() for name, text in found.items()}


docx = Documents(
    ".docx file",
    (".docx",),
    _word_text,
    # Word keeps a file of this name beside one that it has open.
    unlike=lambda file: file.name.startswith("~$"),
)
odt = Documents(".odt file", (".odt",), _odt_text)
