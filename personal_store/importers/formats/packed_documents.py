"""Word processor files are zips of XML: opening them, and what the formats share."""

import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field

from personal_store.errors import SourceError
from personal_store.files.files import Source
from personal_store.files.xml_events import read_xml
from personal_store.importers.formats.documents import MAX_DOCUMENT


def open_document(file: Source) -> zipfile.ZipFile:
    """The zip in a file; raises BadZipFile if there is none."""
    return zipfile.ZipFile(io.BytesIO(file.whole(MAX_DOCUMENT)))


def member(packed: zipfile.ZipFile, name: str, *, needed: bool = True) -> bytes:
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
