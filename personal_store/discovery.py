"""`import auto`: what is behind a path, and which importer reads what of it.

Nothing is taken for the owner's by a guess. The export of a service is read by the
service's importer or not at all; mail says who sent it; of anything else somebody has
to say that it is theirs.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from personal_store import importers
from personal_store.errors import SeveralOwnersError, SourceError
from personal_store.files import (
    Selection,
    Source,
    Wanted,
    everything,
    in_folder,
    of_file,
    only,
)
from personal_store.importers.service_files import Exports, ServiceFile, unread_file

INTERVAL = 3.0  # seconds between two looks

_Mark = tuple[int, int]
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
    size: int  # bytes of these files


@dataclass(frozen=True, slots=True)
class Discovery:
    """What is behind a path."""

    found: tuple[Found, ...]
    unsigned: tuple[Found, ...] = ()
    """What could be read, but does not say who wrote it."""
    kept_out: tuple[tuple[Source, ServiceFile], ...] = ()
    """Files of services that are not read, with what is known of them."""
    left: tuple[Source, ...] = ()  # other files that no importer takes
    faults: tuple[str, ...] = ()  # what cannot be read, as sentences

    def left_by_suffix(self) -> Counter[str]:
        """How many files of each suffix no importer knows."""
        return Counter(Path(file.name).suffix.lower() or "none" for file in self.left)


def discover(
    path: Path, *, passing: Collection[str] = (), mine: bool = False
) -> Discovery:
    """Ask every importer what it would read, the most specific ones first.

    A file that one importer takes is not shown to the next. Importers in `passing` are
    not asked. In the export of a service only what is known is read; elsewhere files
    that do not say who wrote them are read only if they are all `mine`. Raises
    SourceError if there is nothing at the path.
    """
    sources = everything(path, may_hold_text)
    return discover_in(path, sources, passing=passing, mine=mine)


def discover_in(
    path: Path,
    sources: Sequence[Source],
    *,
    passing: Collection[str] = (),
    mine: bool = False,
    beside: Sequence[Source] = (),
) -> Discovery:
    """What `discover` finds among these sources alone.

    `beside` are other files of the same folder: they show whose export it is, and are
    not read.
    """
    work = _Search(path, [source for source in sources if not source.fault])
    for kind in importers.signed():
        if kind not in passing:
            work.ask(kind)
    around = _Search(path, [source for source in beside if not source.fault])
    for kind in filter(importers.is_service, importers.signed()):
        around.ask(kind)

    # Where the exports of services lie, by all files that are theirs for certain.
    exports = Exports()
    for search in (work, around):
        for kind, files in search.claimed:
            if importers.is_service(kind):
                exports.meet(kind, files)
        for source in search.left:
            if row := unread_file(source):
                exports.meet(row.service, [source])
    outside = [source for source in work.left if not exports.service_of(source)]
    unsigned = _Search(path, outside)
    kinds = [kind for kind in importers.UNSIGNED if kind not in passing]
    for kind in kinds:
        certain = getattr(importers.load(kind), "is_certain", lambda _: False)
        unsigned.ask(kind, (lambda _: True) if mine else certain)
    doubtful = _Search(path, unsigned.left)
    for kind in kinds:
        doubtful.ask(kind)

    claimed = (*unsigned.claimed, *doubtful.claimed)
    taken = {source.place for _, files in claimed for source in files}
    rest = [source for source in work.left if source.place not in taken]
    rows = [(s, unread_file(s, exports.service_of(s))) for s in rest]
    return Discovery(
        found=(*work.found, *unsigned.found),
        unsigned=tuple(doubtful.found),
        kept_out=tuple((source, row) for source, row in rows if row is not None),
        left=tuple(source for source, row in rows if row is None),
        faults=(*(s.fault for s in sources if s.fault), *work.faults),
    )


def may_hold_text(source: Source) -> bool:
    """Whether it is worth unpacking: pictures, films and programs are not."""
    return not source.name.lower().endswith(_NEVER)


def settled(
    path: Path, interval: float = INTERVAL, sleep: Callable[[float], None] = time.sleep
) -> Iterator[list[Source]]:
    """The files to read, each time there are some; goes on until it is stopped.

    A file is yielded once it looked the same in two rounds, and again when it changed.
    At first that is every file.
    """
    known: dict[Path, _Mark] = {}
    before: dict[Path, _Mark] = {}
    while True:
        now = _files(path)
        found = [
            file
            for place, (file, mark) in now.items()
            if before.get(place) == mark != known.get(place)
        ]
        before = {place: mark for place, (_, mark) in now.items()}
        if found:
            known |= {file.path: before[file.path] for file in found}
            yield found
        sleep(interval)


@dataclass(slots=True)
class _Search:
    """The files that nobody has claimed yet."""

    path: Path
    left: list[Source]
    found: list[Found] = field(default_factory=list)
    claimed: list[tuple[str, list[Source]]] = field(default_factory=list)
    """The files of each importer."""
    faults: list[str] = field(default_factory=list)

    def ask(self, kind: str, allows: Wanted = lambda _: True) -> None:
        """Let an importer claim what it recognises and what a second look allows."""
        importer = importers.load(kind)
        knows: Wanted = getattr(importer, "recognises", lambda _: True)
        sources: Sequence[Source] = ()
        with only(Selection(self.left, lambda s: knows(s) and allows(s))) as selection:
            try:
                sources = importer.sources(self.path)
            except SeveralOwnersError as error:
                self.faults.append(str(error))
            except SourceError:
                return
        places = {source.place for source in selection.picked if not source.fault}
        files = [source for source in self.left if source.place in places]
        self.claimed.append((kind, files))
        if sources:
            self.left = [source for source in self.left if source.place not in places]
            size = sum(file.size for file in files)
            self.found.append(Found(kind, tuple(sources), len(files), size))


def _files(path: Path) -> dict[Path, tuple[Source, _Mark]]:
    """Every file with its size and time of change, but those that just went."""
    if not path.exists():
        raise SourceError(f"There is no file or folder {path}.")
    found = {}
    for file in in_folder(path) if path.is_dir() else [of_file(path)]:
        with suppress(FileNotFoundError):
            status = file.path.stat()
            found[file.path] = file, (status.st_size, status.st_mtime_ns)
    return found
