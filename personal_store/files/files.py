"""One thing to read from start to end, wherever its bytes lie."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from personal_store.errors import SourceError

HEAD = 65_536
MAX_WHOLE = 256 * 1024 * 1024
"""Bytes of a file that is read in one piece."""


@dataclass(frozen=True, slots=True)
class Source:
    """One thing to read from start to end."""

    path: Path
    size: int
    member: str = ""
    """Name inside the archive that `path` is; empty for a plain file or folder."""
    content: Callable[[], IO[bytes]] | None = field(
        default=None, compare=False, repr=False
    )
    """Gives the bytes of a member, seekable; a plain file is opened by its path."""
    modified: int | None = None
    """Seconds since 1970, as the file system or the archive says."""
    fault: str = ""
    """Why it cannot be read, as a sentence. Nobody opens it then."""
    appends: bool = False
    """Whether the source only ever grows at its end, as a folder on a server does: what
    an earlier run has read is not read again."""

    @property
    def name(self) -> str:
        """What a person calls it."""
        inner = self.member or self.path.name
        return _printable(inner.rpartition("/")[2] or str(self.path))

    @property
    def folders(self) -> tuple[str, ...]:
        """Names of the folders it lies in, the innermost last."""
        parts = self.member.split("/") if self.member else self.path.parts
        return tuple(map(_printable, parts[:-1]))

    @property
    def place(self) -> str:
        """The whole path of the source, with its name inside an archive."""
        inside = f"!{self.member}" if self.member else ""
        return _printable(str(self.path.resolve()) + inside)

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The bytes, seekable."""
        with self.path.open("rb") if self.content is None else self.content() as stream:
            yield stream

    def head(self, length: int = HEAD) -> bytes:
        """The first bytes."""
        with self.open() as stream:
            return stream.read(length)

    def whole(self, limit: int = MAX_WHOLE) -> bytes:
        """All bytes; raises SourceError for what does not fit into memory."""
        data = self.head(limit + 1) if self.size <= limit else None
        if data is None or len(data) > limit:
            raise SourceError(
                f"{self.name} is too large: {self.size:,} bytes, where {limit:,} are "
                "the most that is read in one piece."
            )
        return data

    def fingerprint(self) -> str:
        """Says whether this is the file that an interrupted run was reading."""
        return hashlib.sha256(self.head()).hexdigest()


Wanted = Callable[[Source], bool]


@dataclass(frozen=True, slots=True)
class Bundle(Source):
    """Many small files behind a path, read one after the other as one source."""

    files: tuple[Source, ...] = ()

    def fingerprint(self) -> str:
        """Changes with the names and sizes of the files."""
        names = "\n".join(f"{file.place} {file.size}" for file in self.files)
        return hashlib.sha256(names.encode()).hexdigest()


def bundled(path: Path, files: list[Source]) -> list[Source]:
    """One source that stands for all these files."""
    size = sum(file.size for file in files)
    return [Bundle(path, size, files=tuple(files))]


def parts(source: Source) -> tuple[Source, ...]:
    """The files that a source stands for."""
    return source.files if isinstance(source, Bundle) else (source,)


def of_file(path: Path) -> Source:
    """A plain file as a source."""
    status = path.stat()
    return Source(path, status.st_size, modified=int(status.st_mtime))


def in_folder(folder: Path) -> list[Source]:
    """Every regular, non-empty file below a folder; links are not followed.

    A folder inside that cannot be opened is a source with a fault; raises OSError if
    the folder itself cannot.
    """
    found: list[Source] = []

    def shut(error: OSError) -> None:
        place = Path(error.filename)
        if place == folder:
            raise error
        fault = f"{place} cannot be read: {why(error)}."
        found.append(Source(place, 1, fault=fault))  # 1: positions have to grow

    for directory, _, names in os.walk(folder, onerror=shut):
        for name in names:
            file = Path(directory, name)
            try:
                status = file.lstat()
            except FileNotFoundError:  # gone while we look, as in a live Maildir
                continue
            if stat.S_ISREG(status.st_mode) and status.st_size:
                found.append(
                    Source(file, status.st_size, modified=int(status.st_mtime))
                )
    return sorted(found, key=lambda source: str(source.path))


def why(error: BaseException) -> str:
    """The reason in an error of the system or of a library, to go into a sentence."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error).rstrip(".") or type(error).__name__


def _printable(name: str) -> str:
    """File names may hold bytes that are no text, which nothing can store or show."""
    return name.encode("utf-8", "backslashreplace").decode()
