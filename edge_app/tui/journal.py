"""Journals on the disk: a folder of drafts, a file each, a line for each entry.

The first line has the version of the format, every other an entry with its checksum, or
sealed if the store is encrypted. Lines are only appended, so that the end of the
process at any moment loses none; `sync` has the disk hold them. A cut line, and what
stands behind a damaged one, is not read. A journal is locked while it is open.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from base.locks import is_at, lock
from base.owner_only import (
    create,
    make_folder,
    open_private,
    part_of,
    put_in_place,
    shred,
    sync,
)
from edge_app.config.sealed import DamagedSealError, Seal, salt_of
from edge_app.tui.draft import Draft, Entry, from_line, to_line
from edge_app.tui.saving import why_not

FORMAT = 3
_HEADER = "specsteer_draft"
_CHECK = b"specsteer"
"""Sealed in the header, so that another key is not taken for a damaged line."""


class JournalError(Exception):
    """A journal cannot be opened; the message is a sentence for the person."""


@contextmanager
def in_words(path: Path, done: str) -> Iterator[None]:
    """Raise JournalError for an OSError: the draft at `path` cannot be `done`."""
    try:
        yield
    except OSError as error:
        why = f"the draft {path} cannot be {done}: {why_not(error)}"
        raise JournalError(why) from error


def changed(path: Path) -> datetime:
    """When the journal at `path` was written last."""
    return datetime.fromtimestamp(path.stat().st_mtime)


@dataclass(frozen=True, slots=True)
class Kept:
    """A draft in the folder."""

    path: Path
    changed: datetime
    draft: Draft


@dataclass(slots=True)
class _Read:
    """What could be read of a journal."""

    draft: Draft
    entries: list[Entry]
    begun: str
    seal: Seal | None
    size: int  # bytes up to the end of the last whole line
    rest: bytes


class JournalFolder:
    """The drafts of one state folder; `key` gives the store's key, empty for none."""

    def __init__(self, folder: Path, key: Callable[[], str] = str) -> None:
        self.folder = folder
        self.key = key

    def paths(self) -> list[Path]:
        """All journals, the one that was changed last first."""
        found = []
        for path in self.folder.glob("draft-*.jsonl"):
            with suppress(OSError):  # it was thrown away meanwhile
                found.append((path.stat().st_mtime_ns, path))
        return [path for _, path in sorted(found, reverse=True)]

    def open(self, path: Path) -> tuple[Journal, Draft]:
        """Open a journal: it, and the draft that it folds to. Raises JournalError if
        another window has it open or it cannot be read."""
        handle = _locked(path)
        try:
            with in_words(path, "opened"):
                _remove_parts(path)
                read = self._read(path)
                if bool(self.key()) != (read.seal is not None):
                    handle, read = self._rewritten(path, handle, read, self.key())
                elif read.rest:
                    if b"\n" in read.rest.rstrip(b"\n"):  # more than a line cut off
                        with create(path.with_suffix(".damaged")) as aside:
                            aside.write(path.read_bytes())
                    os.ftruncate(handle, read.size)
        except BaseException:
            os.close(handle)
            raise
        return Journal(self, path, handle, read), read.draft

    def kept(self) -> tuple[list[Kept], list[str]]:
        """All drafts that can be read, the latest first, and why others cannot."""
        readable, problems = [], []
        for path in self.paths():
            try:
                with in_words(path, "read"):
                    readable.append(Kept(path, changed(path), self._read(path).draft))
            except JournalError as error:
                problems.append(str(error))
        return readable, problems

    def discard(self, path: Path) -> None:
        """Overwrite and delete a draft; raises JournalError if a window has it open."""
        handle = _locked(path)
        try:
            with in_words(path, "deleted"):
                _remove_parts(path)
                shred(path)
        finally:
            os.close(handle)

    def convert(self, key: str) -> list[str]:
        """Give every journal another key, empty for none; why any could not be."""
        problems = []
        for path in self.paths():
            try:
                handle = _locked(path)
                try:
                    with in_words(path, "converted"):
                        read = self._read(path)
                        handle, _ = self._rewritten(path, handle, read, key)
                finally:
                    os.close(handle)
            except JournalError as error:
                problems.append(str(error))
        return problems

    def _read(self, path: Path) -> _Read:
        """Raises JournalError if not even the first line can be read, or OSError."""
        data = path.read_bytes()
        first, newline, _ = data.partition(b"\n")
        try:
            header = json.loads(first)
            version, begun = header[_HEADER], str(header["begun"])
            check = header["check"]
            if not (newline and isinstance(version, int) and isinstance(check, str)):
                raise ValueError("no header")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise JournalError(f"the draft {path} is damaged and was left") from error
        if version != FORMAT:
            raise JournalError(f"the draft {path} needs another version of specsteer")
        seal = None
        if check:
            seal = Seal(self.key(), salt_of(check))
            try:
                seal.opened(check, _place(path.name, 0))
            except DamagedSealError as error:
                raise JournalError(
                    f"the draft {path} is sealed with another key than the store's"
                ) from error
        draft, entries, at = Draft(), list[Entry](), len(first) + 1
        while (end := data.find(b"\n", at)) >= 0:
            try:
                place = _place(path.name, len(entries) + 1)
                line = _unpacked(data[at:end], place, seal)
                entry = from_line(line)
                draft.apply(entry)
            except (ValueError, KeyError, TypeError, RecursionError, DamagedSealError):
                break
            entries.append(entry)
            at = end + 1
        return _Read(draft, entries, begun, seal, at, data[at:])

    def _rewritten(
        self, path: Path, handle: int, read: _Read, key: str
    ) -> tuple[int, _Read]:
        """Replace the journal by one under `key`, and shred the old one; the new
        handle, which holds the lock."""
        part = part_of(path)
        try:
            head, seal = header(path.name, key, read.begun)
            lines = [to_line(entry) for entry in read.entries]
            body = [
                packed(line, _place(path.name, at), seal)
                for at, line in enumerate(lines, 1)
            ]
            part.write_bytes(data := head + b"".join(body))
            fresh = _locked(part)
            try:
                put_in_place(part, path)
            except BaseException:
                os.close(fresh)
                raise
        finally:
            shred(part)
        os.close(handle)
        os.lseek(fresh, 0, os.SEEK_END)
        read.seal, read.size, read.rest = seal, len(data), b""
        return fresh, read


class Journal:
    """The journal of the draft on screen; without a file before its first entry."""

    def __init__(
        self,
        folder: JournalFolder | None,
        path: Path | None = None,
        handle: int = -1,
        read: _Read | None = None,
    ) -> None:
        """Without a folder nothing is kept."""
        self._folder, self.path, self._handle = folder, path, handle
        read = read or _Read(Draft(), [], "", None, 0, b"")
        self._seal, self._count, self._size = read.seal, len(read.entries), read.size
        self._waiting: list[Entry] = []
        self._lock = threading.Lock()
        self.unsynced = False
        self.problem = ""
        """Why the last entries are not on the disk; empty if they are."""

    def prepare(self, entry: Entry) -> None:
        """Let `entry` stand before the next one, without a file for it alone."""
        self._waiting.append(entry)

    def add(self, entry: Entry) -> None:
        """Append `entry`."""
        self._waiting.append(entry)
        self.retry()

    def retry(self) -> None:
        """Append what the disk has refused so far."""
        if self._folder is None:
            return
        try:
            if self.path is None:
                self.path = self._make(self._folder)
            while self._waiting:
                place = _place(self.path.name, self._count + 1)
                self._append(packed(to_line(self._waiting[0]), place, self._seal))
                self._count += 1
                del self._waiting[0]
        except OSError as error:
            self.problem = why_not(error)
        else:
            self.problem = ""

    def sync(self) -> None:
        """Have the disk hold what was added; may take a while."""
        with self._lock:
            if self._handle >= 0 and self.unsynced:
                self.unsynced = False
                with suppress(OSError):
                    os.fsync(self._handle)

    def close(self) -> None:
        """Sync, and let others open it."""
        self.sync()
        with self._lock:
            if self._handle >= 0:
                os.close(self._handle)
                self._handle = -1

    def _make(self, folder: JournalFolder) -> Path:
        """A new file with its first line, locked."""
        name = f"draft-{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(4)}.jsonl"
        path = folder.folder / name
        begun = datetime.now().astimezone().isoformat(timespec="seconds")
        head, self._seal = header(name, folder.key(), begun)
        make_folder(path.parent)
        self._handle = open_private(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        try:
            lock(self._handle)
            self._append(head)
            sync(path.parent)
        except OSError:
            os.close(self._handle)
            self._handle, self._size = -1, 0
            path.unlink()
            raise
        return path

    def _append(self, data: bytes) -> None:
        """Write all of `data` behind the last line, or nothing."""
        try:
            os.lseek(self._handle, self._size, os.SEEK_SET)
            left = data
            while left:
                left = left[os.write(self._handle, left) :]
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._handle, self._size)
            raise
        self._size += len(data)
        self.unsynced = True


def header(name: str, key: str, begun: str) -> tuple[bytes, Seal | None]:
    """The first line of the journal `name`, and its seal where there is a `key`."""
    seal = Seal(key) if key else None
    check = seal.closed(_CHECK, _place(name, 0)) if seal else ""
    body = {_HEADER: FORMAT, "begun": begun, "check": check}
    return json.dumps(body).encode() + b"\n", seal


def packed(line: str, place: str, seal: Seal | None) -> bytes:
    """The entry `line`, with its end, as it lies at `place`."""
    data = line.encode()
    if seal is not None:
        return seal.closed(data, place).encode() + b"\n"
    return f"{zlib.crc32(data):08x} ".encode() + data + b"\n"


def _unpacked(data: bytes, place: str, seal: Seal | None) -> str:
    """The entry that `packed` took; raises ValueError or DamagedSealError."""
    if seal is not None:
        return seal.opened(data.decode("ascii"), place).decode()
    checksum, _, line = data.partition(b" ")
    if int(checksum, 16) != zlib.crc32(line):
        raise ValueError("another checksum")
    return line.decode()


def _place(name: str, number: int) -> str:
    """What a sealed line is bound to, so that none stands in another's place."""
    return f"draft {name}, line {number}"


def _remove_parts(path: Path) -> None:
    """Shred what a killed process left half rewritten of the journal at `path`."""
    for part in path.parent.glob(f"{path.name}.*.part"):
        shred(part)


def _locked(path: Path) -> int:
    """A handle of the journal at `path` that nobody else holds."""
    while True:
        with in_words(path, "opened"):
            handle = open_private(path, os.O_RDWR)
        try:
            lock(handle)
        except OSError as error:
            os.close(handle)
            raise JournalError(
                "this draft is open in another window: go on there, or close it first"
            ) from error
        # Another may have been put in its place between the two.
        if is_at(handle, path):
            return handle
        os.close(handle)
