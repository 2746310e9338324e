"""The files behind a path: one file, every fitting one in a folder, or in a zip."""

import hashlib
import os
import stat
import zipfile
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from personal_store.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = 65_536
_MAX_MEMBERS = 100_000
_MAX_RATIO = 1_000
_PACKED = (".tgz", ".tar", ".gz", ".bz2", ".xz", ".7z", ".rar")


@dataclass(frozen=True, slots=True)
class Source:
    """One thing to read from start to end."""

    path: Path
    size: int
    member: str = ""
    """Name inside the zip that `path` is; empty for a plain file or folder."""

    @property
    def name(self) -> str:
        """What a person calls it."""
        return (self.member or self.path.name).rpartition("/")[2] or str(self.path)

    @property
    def place(self) -> str:
        """Where it lies, unambiguously."""
        return str(self.path.resolve()) + (f"!{self.member}" if self.member else "")

    @contextmanager
    def open(self) -> "Iterator[IO[bytes]]":
        """The bytes, seekable."""
        if not self.member:
            with self.path.open("rb") as stream:
                yield stream
            return
        with zipfile.ZipFile(self.path) as packed, packed.open(self.member) as stream:
            yield stream

    def head(self, length: int = HEAD) -> bytes:
        """The first bytes."""
        with self.open() as stream:
            return stream.read(length)

    def fingerprint(self) -> str:
        """Says whether this is the file that an interrupted run was reading."""
        return hashlib.sha256(self.head()).hexdigest()


def locate(path: Path, wanted: Callable[[Source], bool], what: str) -> list[Source]:
    """The sources behind a path, in a fixed order; raises SourceError if none."""
    try:
        found = _find(path, wanted, what)
    except (OSError, zipfile.BadZipFile) as error:
        raise SourceError(f"{path} cannot be read: {_why(error)}.") from error
    if not found:
        raise SourceError(f"There is no {what} in {path}.")
    return found


def _find(path: Path, wanted: Callable[[Source], bool], what: str) -> list[Source]:
    if not path.exists():
        raise SourceError(f"There is no file or folder {path}.")
    if path.is_dir():
        return [source for source in _in_folder(path) if wanted(source)]
    if not path.is_file():
        raise SourceError(f"{path} is neither a file nor a folder.")
    size = path.stat().st_size
    if size == 0:
        raise SourceError(f"{path} is empty.")
    if zipfile.is_zipfile(path):
        return [source for source in _in_zip(path) if wanted(source)]
    if path.suffix.lower() in _PACKED:
        raise SourceError(f"{path} is packed: unpack it and import the {what} in it.")
    return [Source(path, size)]


def _in_folder(folder: Path) -> list[Source]:
    """Every regular, non-empty file below a folder; links are not followed."""
    found = []
    for directory, _, names in os.walk(folder):
        for name in names:
            file = Path(directory, name)
            status = file.lstat()
            if stat.S_ISREG(status.st_mode) and status.st_size:
                found.append(Source(file, status.st_size))
    return sorted(found, key=lambda source: str(source.path))


def _in_zip(path: Path) -> list[Source]:
    with zipfile.ZipFile(path) as packed:
        members = packed.infolist()
    if len(members) > _MAX_MEMBERS:
        raise SourceError(f"{path} holds too many files ({len(members):,}).")
    return [
        Source(path, member.file_size, member.filename)
        for member in sorted(members, key=lambda member: member.filename)
        if member.file_size and _is_sane(path, member)
    ]


def _is_sane(path: Path, member: zipfile.ZipInfo) -> bool:
    if member.flag_bits & 1:
        raise SourceError(f"{path} is protected by a password: unpack it first.")
    if member.file_size > _MAX_RATIO * max(1, member.compress_size) + HEAD:
        raise SourceError(f"{member.filename} in {path} unpacks to far too much.")
    return not member.is_dir()


def _why(error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return (reason or str(error)).lower()
