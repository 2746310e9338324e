"""Files for the owner's eyes only: made, put in place, overwritten, measured.

Nothing here opens a store file that a connection of this process may have open:
closing any handle of a file drops all locks that the process holds on it.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from base.owner_only import create, is_special, make_folder
from personal_store.errors import StoreError

_CHUNK = 1 << 20


def make_private(path: Path) -> None:
    """Folders 0700 where we make them, file 0600; SQLite gives -wal and -shm that."""
    make_folder(path.parent)
    try:
        create(path).close()
    except FileExistsError:
        if not is_special(path):
            path.chmod(0o600)


def part_of(path: Path) -> Path:
    """Where the next version of a file is made: a fresh, empty, private file."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    make_private(part)
    return part


@contextmanager
def scratch(path: Path) -> Iterator[Path]:
    """A private file beside this one, overwritten and removed afterwards."""
    part = part_of(path)
    try:
        yield part
    finally:
        for leftover in (part, *beside(part)):
            shred(leftover)


def put_in_place(part: Path, path: Path) -> None:
    """Make the finished part the file, for good; what was there is overwritten.

    Raises StoreError if the path is a device or a pipe, which no file may replace.
    """
    if is_special(path):
        raise StoreError(f"{path} is a device or a pipe and no file: name a file.")
    before = os.open(path, os.O_RDWR) if path.exists() else None
    try:
        sync(part)
        part.replace(path)
        sync(path.parent)
        if before is not None:
            _overwrite(before)
    finally:
        if before is not None:
            os.close(before)


def shred(path: Path) -> None:
    """Overwrite and remove a file as far as the system lets us; a device stays."""
    if is_special(path):
        return
    try:
        handle = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return
    try:
        path.unlink()
        _overwrite(handle)
    finally:
        os.close(handle)


def sync(path: Path) -> None:
    """Have a file or a folder written to the disk before anything relies on it."""
    if os.name == "nt" and path.is_dir():
        return  # Windows has no handle of a folder
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def beside(path: Path) -> list[Path]:
    """What SQLite keeps beside a database, whether it is there or not."""
    return [path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal")]


def size_of(path: Path) -> int:
    """Bytes of a store with what SQLite keeps beside it."""
    files = [file for file in (path, *beside(path)) if file.exists()]
    return sum(file.stat().st_size for file in files)


def need_room(path: Path, times: int, why: str) -> None:
    """Raise StoreError, with the megabytes that lack, if the disk is too full."""
    lacking = times * size_of(path) - shutil.disk_usage(path.parent).free
    if lacking > 0:
        megabytes = 1 + lacking // 1_000_000
        raise StoreError(f"The disk is too full {why}: free {megabytes:,} MB.")


def _overwrite(handle: int) -> None:
    left = os.fstat(handle).st_size
    os.lseek(handle, 0, os.SEEK_SET)
    while left > 0:
        left -= os.write(handle, bytes(min(left, _CHUNK)))
    os.fsync(handle)
