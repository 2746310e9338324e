"""`import auto`: what is behind a path, and which importer reads what of it."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from personal_store import importers
from personal_store.errors import SourceError
from personal_store.files import Source
from personal_store.sources import Selection, everything, only

_NEVER = (
    *(".jpg", ".jpeg", ".png", ".gif", ".webp", ".heic", ".bmp", ".tif", ".tiff"),
    *(".mp4", ".mov", ".avi", ".mkv", ".webm", ".mp3", ".m4a", ".wav", ".ogg", ".opus"),
    *(".pdf", ".exe", ".dll", ".so", ".iso", ".dmg", ".vcf", ".ics", ".html", ".htm"),
)
"""Files that no importer reads, which are not worth unpacking out of a tar."""


@dataclass(frozen=True, slots=True)
class Found:
    """What one importer will read."""

    kind: str
    sources: tuple[Source, ...]
    files: int
    size: int
    """Bytes of these files."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """What is behind a path."""

    found: tuple[Found, ...]
    left: tuple[Source, ...] = ()
    """Files that no importer knows."""
    faults: tuple[str, ...] = ()
    """What cannot be read, as sentences."""

    def left_by_suffix(self) -> Counter[str]:
        """How many files of each suffix no importer knows."""
        return Counter(Path(file.name).suffix.lower() or "none" for file in self.left)


def discover(path: Path, *, passing: Collection[str] = ()) -> Discovery:
    """Ask every importer what it would read, the most specific ones first.

    A file that one importer takes is not shown to the next. Importers in `passing` are
    not asked. Raises SourceError if there is nothing at the path.
    """
    return discover_in(path, list(everything(path, may_hold_text)), passing=passing)


def discover_in(
    path: Path, sources: Sequence[Source], *, passing: Collection[str] = ()
) -> Discovery:
    """The same for these sources alone."""
    work = _Search(path, [source for source in sources if not source.fault])
    for kind in importers.by_specificity():
        if kind not in passing:
            work.ask(kind)
    faults = tuple(source.fault for source in sources if source.fault)
    return Discovery(tuple(work.found), tuple(work.left), faults)


@dataclass(slots=True)
class _Search:
    """The files that nobody has claimed yet."""

    path: Path
    left: list[Source]
    found: list[Found] = field(default_factory=list)

    def ask(self, kind: str) -> None:
        """Let an importer claim what it recognises."""
        importer = importers.load(kind)

        def accepts(source: Source) -> bool:
            return importers.recognises(importer, source)

        with only(Selection(self.left, accepts)) as selection:
            try:
                sources = importer.sources(self.path)
            except SourceError:
                return
        claimed = {source.place for source in selection.picked if not source.fault}
        files = [source for source in self.left if source.place in claimed]
        self.left = [source for source in self.left if source.place not in claimed]
        size = sum(file.size for file in files)
        self.found.append(Found(kind, tuple(sources), len(files), size))


def may_hold_text(source: Source) -> bool:
    """Whether it is worth unpacking: pictures, films and programs are not."""
    return not source.name.lower().endswith(_NEVER)
