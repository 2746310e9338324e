"""The files behind a path: one file, every fitting one in a folder, or in an archive.

What an importer reads is a `Source`. Where it lies - on its own, in a zip, in a tar
inside a zip - is decided here alone. Nothing is written under a name from an archive:
what can only be read from its start is copied to a file without a name, which vanishes
with the process.
"""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import re
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from calendar import timegm
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from personal_store.errors import SourceError

HEAD = 65_536  # bytes of a file by which importers recognise it
MAX_WHOLE = 256 * 1024 * 1024  # bytes of a file that is read in one piece
MAX_MEMBERS = 100_000
MAX_RATIO = 1_000  # how much larger one member may be than it is in the archive
MAX_TOTAL = 1024**3
"""Bytes that any archive may unpack to; larger ones up to MAX_TOTAL_RATIO."""
MAX_TOTAL_RATIO = 100
ROOM = 64 * 1024**2
"""Bytes of disk that are left free when something has to be unpacked."""

_DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, tarfile.TarError)
UNREADABLE = (EOFError, *_DAMAGED)
"""What reading a damaged archive raises, besides OSError."""
FAULTS = (*UNREADABLE, OSError, RuntimeError, ValueError, OverflowError, SourceError)
"""What looking at damaged or hostile bytes of any kind raises."""

_PACKED: dict[tuple[str, ...], Callable[[IO[bytes]], Any]] = {
    (".tgz", ".tar.gz"): lambda raw: gzip.GzipFile(fileobj=raw),
    (".tbz2", ".tar.bz2"): bz2.BZ2File,
    (".txz", ".tar.xz"): lzma.LZMAFile,
}
_TARS = (".tar", *(suffix for suffixes in _PACKED for suffix in suffixes))
_DOCUMENTS = (".docx", ".odt", ".xlsx", ".ods", ".pptx", ".odp", ".epub", ".jar")
_LONGEST_READ = 64 * 1024**2
_DRIVE = re.compile(r"[A-Za-z]:")
_APPLE = re.compile(r"(?:^|/)(?:__MACOSX/|\._)")
_TOO_MUCH = "unpacks to far too much: it is not read."
_INSTEAD = {
    **dict.fromkeys((".pst", ".ost"), "is an Outlook archive: 'import pst' reads it"),
    **dict.fromkeys(
        (".gz", ".bz2", ".xz", ".7z", ".rar"),
        "is packed: unpack it and import what is in it",
    ),
    ".olm": "is an archive of Outlook for Mac: drag the messages out of Outlook into a "
    "folder, which makes .eml files, and import that",
    ".msg": "is an Outlook message: save it as .eml and import that",
}


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
    fault: str = ""  # why it cannot be read, as a sentence. Nobody opens it then.
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
    """Many files behind a path, read one after the other as one source."""

    files: tuple[Source, ...] = ()
    aside: tuple[Source, ...] = ()
    """Files without texts, which say who the owner is or complete other files."""

    def fingerprint(self) -> str:
        """Changes with the names and sizes of the files."""
        names = "\n".join(f"{file.place} {file.size}" for file in self.files)
        return hashlib.sha256(names.encode()).hexdigest()


def bundled(
    path: Path, files: Sequence[Source], aside: Sequence[Source] = ()
) -> list[Bundle]:
    """One source that stands for all these files."""
    size = sum(file.size for file in files)
    return [Bundle(path, size, files=tuple(files), aside=tuple(aside))]


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


def ends_with(*suffixes: str) -> Wanted:
    """Wants files whose name ends with one of these, in whatever case."""
    return lambda source: source.name.lower().endswith(suffixes)


def locate(
    path: Path, wanted: Wanted, what: str, *, archives: bool = True
) -> list[Source]:
    """The sources behind a path, in a fixed order; raises SourceError if none.

    A single file is taken at its word; in folders and archives `wanted` chooses.
    Archives in a folder are looked into as well, unless `archives` is false. A source
    that cannot be read is listed with its fault, as long as there are others.
    """
    selection = _selection.get()
    if selection is not None:
        found = selection.pick(wanted)
    else:
        found = everything(path, wanted, archives=archives)
        if path.is_dir() or [source.member for source in found] != [""]:
            found = [source for one in found for source in _tried(one, wanted)]
        elif path.suffix.lower() in _INSTEAD and not _tried(found[0], wanted):
            raise SourceError(f"{path} {_INSTEAD[path.suffix.lower()]}.")
    if found and all(source.fault for source in found):
        raise SourceError(found[0].fault)
    if not found:
        raise SourceError(f"There is no {what} in {path}.")
    return found


def everything(path: Path, wanted: Wanted, *, archives: bool = True) -> list[Source]:
    """All that is behind a path; of packed tars only what is wanted, for it takes room.

    Raises SourceError if there is nothing, or if the path is an archive that cannot be
    opened. One in a folder that cannot be opened is a source with a fault.
    """
    try:
        if not path.exists():
            raise SourceError(f"There is no file or folder {path}.")
        if not (path.is_dir() or path.is_file()):
            raise SourceError(f"{path} is neither a file nor a folder.")
        if path.is_dir():
            return list(opened(in_folder(path), wanted, archives=archives))
        file = of_file(path)
        if not file.size:
            raise SourceError(f"{path} is empty.")
        return list(unpack(file, wanted)) if is_archive(file) else [file]
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {why(error)}.") from error


def opened(
    files: Iterable[Source], wanted: Wanted, *, archives: bool = True
) -> Iterator[Source]:
    """The files, with what is in those that are archives in their place."""
    for file in files:
        try:
            if file.fault or not (archives and is_archive(file)):
                yield file
            else:
                yield from unpack(file, wanted)
        except SourceError as error:
            yield replace(file, fault=str(error))
        except OSError as error:
            yield replace(file, fault=f"{file.place} cannot be read: {why(error)}.")


@dataclass(slots=True)
class Selection:
    """Some of the sources behind a path, which `locate` then takes for all of them."""

    sources: Sequence[Source]
    accepts: Wanted = lambda _: True
    picked: list[Source] = field(default_factory=list)
    """What importers asked for and got."""

    def pick(self, wanted: Wanted) -> list[Source]:
        """The sources that an importer wants, if it may have them."""

        def both(source: Source) -> bool:
            return wanted(source) and self.accepts(source)

        found = [source for one in self.sources for source in _tried(one, both)]
        self.picked += found
        return found


_selection: ContextVar[Selection | None] = ContextVar("selection", default=None)


@contextmanager
def only(selection: Selection) -> Iterator[Selection]:
    """Let importers see these sources and no others, whatever the path."""
    before = _selection.set(selection)
    try:
        yield selection
    finally:
        _selection.reset(before)


def is_archive(source: Source) -> bool:
    """Whether there are files in it: by its name, else as a zip by its first bytes."""
    name = source.name.lower()
    if name.endswith((".zip", *_TARS)):
        return True
    if source.member or name.endswith(_DOCUMENTS):
        return False
    return source.head(2) == b"PK" and zipfile.is_zipfile(source.path)


def unpack(archive: Source, wanted: Wanted, depth: int = 1) -> Iterator[Source]:
    """What is in an archive, and in those inside it down to `depth`.

    Raises SourceError for one that is damaged, protected, or unpacks to too much, and
    for names and links that lead out of it.
    """
    try:
        if archive.name.lower().endswith(_TARS):
            yield from _in_tar(archive, wanted)
        else:
            yield from _in_zip(archive, wanted, depth)
    except SourceError:
        raise
    except FAULTS as error:
        # A download that broke off is by far the most frequent reason.
        is_cut = isinstance(error, UNREADABLE) and not isinstance(error, OSError)
        ending = "; was it downloaded to its end?" if is_cut else "."
        raise SourceError(
            f"{archive.place} cannot be read: {why(error)}{ending}"
        ) from error


def _tried(source: Source, wanted: Wanted) -> list[Source]:
    """The source if it is wanted; with its fault if it cannot even be looked at."""
    if source.fault:
        return [source]
    try:
        return [source] if wanted(source) else []
    except FAULTS as error:
        fault = f"{source.place} cannot be read: {why(error)}."
        return [replace(source, fault=fault)]


def _in_zip(archive: Source, wanted: Wanted, depth: int) -> Iterator[Source]:
    if archive.member:  # a zip is read from its end: one inside another is copied first
        with archive.open() as stream:
            packed = zipfile.ZipFile(Spill().keep(stream, archive)())
    else:
        packed = zipfile.ZipFile(archive.path)
    members = packed.infolist()
    _check_count(archive, len(members))
    if sum(member.file_size for member in members) > _limit(archive):
        raise SourceError(f"{archive.place} {_TOO_MUCH}")
    for member in sorted(members, key=lambda member: member.filename):
        if member.flag_bits & 1:
            raise SourceError(
                f"{archive.place} is protected by a password: unpack it, and import "
                "the folder."
            )
        if member.file_size > MAX_RATIO * max(1, member.compress_size) + HEAD:
            raise SourceError(f"{member.filename} in {archive.place} {_TOO_MUCH}")
        _check_name(archive, member.filename)
        kind = stat.S_IFMT(member.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise _not_a_file(archive, member.filename)
        if member.is_dir() or not member.file_size or _APPLE.search(member.filename):
            continue
        source = Source(
            archive.path,
            member.file_size,
            _inside(archive, member.filename),
            partial(_member, packed, member),
            _moment(member.date_time),
        )
        if not is_archive(source):
            yield source
        elif not depth:
            fault = f"{source.place} is packed too deep: unpack it."
            yield replace(source, fault=fault)
        else:
            try:
                yield from unpack(source, wanted, depth - 1)
            except SourceError as error:  # which does not spoil the outer archive
                yield replace(source, fault=str(error))


def _member(packed: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    try:
        return packed.open(member)
    except (RuntimeError, NotImplementedError, ValueError) as error:
        raise zipfile.BadZipFile(why(error)) from error


def _in_tar(archive: Source, wanted: Wanted) -> Iterator[Source]:
    name = archive.name.lower()
    unpacks = (unpack for ends, unpack in _PACKED.items() if name.endswith(ends))
    spill = None if name.endswith(".tar") and not archive.member else Spill()
    with archive.open() as raw:
        stream = _Bounded(next(unpacks, lambda raw: raw)(raw), archive)
        with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r:") as packed:
            for count, member in enumerate(packed, 1):
                _check_count(archive, count)
                _check_name(archive, member.name)
                if not (member.isreg() or member.isdir()) or member.issparse():
                    raise _not_a_file(archive, member.name)
                if not (member.isreg() and member.size) or _APPLE.search(member.name):
                    continue
                inside, modified = _inside(archive, member.name), int(member.mtime)
                source = Source(archive.path, member.size, inside, modified=modified)
                if spill is None:  # it can be read where it lies
                    at = partial(
                        _opened_at, archive.path, member.offset_data, member.size
                    )
                    yield replace(source, content=at)
                    continue
                extracted = packed.extractfile(member)
                assert extracted is not None  # it is a regular file
                with extracted as file:
                    head = file.read(HEAD)
                    # a look at its beginning decides whether it is worth the room
                    if wanted(replace(source, content=partial(io.BytesIO, head))):
                        file.seek(0)
                        yield replace(source, content=spill.keep(file, source))


class _Bounded:
    """A stream that refuses to become far larger than the archive it comes from.

    The tar format can also ask for one huge read, for a name; that is refused as well.
    """

    def __init__(self, stream: IO[bytes], archive: Source) -> None:
        self._stream = stream
        self._archive = archive
        self._limit = _limit(archive)

    def read(self, size: int = -1) -> bytes:
        self._check(0 <= size <= _LONGEST_READ and self.tell() <= self._limit)
        return self._stream.read(size)

    def seek(self, position: int, whence: int = 0) -> int:
        self._check(position <= self._limit)
        return self._stream.seek(position, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def seekable(self) -> bool:
        return True

    def _check(self, is_little: bool) -> None:
        if not is_little:
            raise SourceError(f"{self._archive.place} {_TOO_MUCH}")


class Spill:
    """A file without a name that holds what could not be read where it lies."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as we)
        self._end = 0

    def keep(self, stream: IO[bytes], source: Source) -> "partial[IO[bytes]]":
        """Copy a stream; what opens the copy."""
        free = shutil.disk_usage(tempfile.gettempdir()).free
        if free < source.size + ROOM:
            raise SourceError(
                f"There is no room in {tempfile.gettempdir()} to unpack {source.name} "
                f"({source.size:,} bytes): unpack {source.path} elsewhere and import "
                "what is in it."
            )
        begin = self._end
        self._file.seek(begin)
        shutil.copyfileobj(stream, self._file, 1024 * 1024)
        self._file.flush()
        self._end = self._file.tell()
        return partial(self._open, begin, self._end - begin)

    def _open(self, begin: int, size: int) -> IO[bytes]:
        return io.BufferedReader(_Window(self._file, begin, size, self))

    def __del__(self) -> None:
        self._file.close()


class _Window(io.RawIOBase):
    """A part of a file as a file; closes the whole file unless that has an owner."""

    def __init__(
        self, file: IO[bytes], begin: int, size: int, owner: Spill | None = None
    ) -> None:
        self._file, self._begin, self._size = file, begin, size
        self._position = 0
        self._owner = owner  # kept, so that its file stays open as long as this
        super().__init__()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, position: int, whence: int = 0) -> int:
        base = (0, self._position, self._size)[whence]
        self._position = max(0, base + position)
        return self._position

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        length = max(0, min(len(buffer), self._size - self._position))
        self._file.seek(self._begin + self._position)
        data = self._file.read(length)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def close(self) -> None:
        if self._owner is None and not self.closed:
            self._file.close()
        super().close()


def _opened_at(path: Path, begin: int, size: int) -> IO[bytes]:
    return io.BufferedReader(_Window(path.open("rb"), begin, size))


def _limit(archive: Source) -> int:
    return max(MAX_TOTAL, MAX_TOTAL_RATIO * archive.size)


def _check_count(archive: Source, count: int) -> None:
    if count > MAX_MEMBERS:
        raise SourceError(f"{archive.place} holds too many files: unpack it first.")


def _check_name(archive: Source, name: str) -> None:
    parts = name.replace("\\", "/").split("/")
    if ".." in parts or not parts[0] or _DRIVE.fullmatch(parts[0]):
        raise SourceError(
            f"{archive.place} holds the name '{name}', which leads out of the archive: "
            "it is not read."
        )


def _not_a_file(archive: Source, name: str) -> SourceError:
    return SourceError(
        f"'{name}' in {archive.place} is a link or a device, not a file: unpack the "
        "archive and import the folder."
    )


def _inside(archive: Source, name: str) -> str:
    name = name.replace("\\", "/").removeprefix("./")
    return f"{archive.member}/{name}" if archive.member else name


def _moment(date: tuple[int, int, int, int, int, int]) -> int | None:
    """Zips write local time without saying which; it is taken for UTC."""
    try:
        return timegm((*date, 0, 0, 0))
    except (ValueError, OverflowError):
        return None
