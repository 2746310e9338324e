"""Files and folders that only their owner can read.

Whatever the umask, files get mode 0600 and folders 0700, missing parents included.
Nothing is written through a link or into another user's file: in a folder where others
may write, either could have been planted.
"""

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import IO

# Follow no link; on Windows, which has no such flag, leave line ends as they are.
_AS_IT_IS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # a pipe without a reader is refused


def make_folder(path: Path) -> None:
    """Make a folder and its missing parents; `mkdir` makes those as umask says."""
    missing = [one for one in reversed(path.parents) if not one.exists()]
    for folder in (*missing, path):
        folder.mkdir(0o700, exist_ok=True)


def open_private(path: Path, flags: int) -> int:
    """`os.open` that makes private files and follows no link."""
    try:
        return os.open(path, flags | _AS_IT_IS, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _refusal(path, "it is a link and may lead anywhere") from error
        raise


def create(path: Path) -> IO[bytes]:
    """Create a private file to write; raises FileExistsError for a name in use."""
    return os.fdopen(open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb")


def open_to_append(path: Path) -> IO[str]:
    """Open or create a private file to append to; raises OSError if it is not ours."""
    handle = open_private(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _AT_ONCE)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise _refusal(path, "it is no file")
        if not _is_ours(found):
            raise _refusal(path, "it belongs to somebody else")
        if found.st_mode & 0o077 and hasattr(os, "fchmod"):
            os.fchmod(handle, 0o600)
        return os.fdopen(handle, "a", buffering=1, encoding="utf-8")
    except BaseException:
        os.close(handle)
        raise


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file or link by a private file, completely or not at all; a device such
    as /dev/null, or a pipe, is written into and stays."""
    if is_special(path):
        with path.open("wb") as device:
            device.write(data)
        return
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        with create(fresh) as file:
            file.write(data)
        fresh.replace(path)
    except BaseException:
        with suppress(OSError):
            fresh.unlink()
        raise


def is_special(path: Path) -> bool:
    """Whether a path leads to a device, pipe or socket, which no file may replace."""
    with suppress(OSError):
        mode = path.stat().st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    return False


def make_private(path: Path) -> None:
    """Create a private file if it is missing, with private folders above it."""
    make_folder(path.parent)
    try:
        create(path).close()
    except FileExistsError:
        if not is_special(path):
            path.chmod(0o600)


def part_of(path: Path) -> Path:
    """Create the empty private file in which the next version of a file is written."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    make_private(part)
    return part


def put_in_place(part: Path, path: Path) -> None:
    """Replace a file durably by its finished next version, and overwrite the old one;
    not on Windows, where no open file can be replaced.

    Close no handle of a database that this process has open: that drops its locks.
    Raises OSError if the path is a device or a pipe, which no file may replace.
    """
    if is_special(path):
        raise OSError(errno.EINVAL, "a device or a pipe and no file", str(path))
    before = os.open(path, os.O_RDWR) if os.name != "nt" and path.exists() else None
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
        if os.name != "nt":
            path.unlink()
        _overwrite(handle)
    finally:
        os.close(handle)
    if os.name == "nt":  # an open file keeps its name there
        path.unlink()


def sync(path: Path) -> None:
    """Write a file or a folder to the disk before anything relies on it."""
    if os.name == "nt" and path.is_dir():
        return  # Windows has no handle of a folder
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def close_to_others(path: Path) -> None:
    """Remove all rights of other users from a folder or file of ours."""
    found = path.stat()
    if os.name == "posix" and _is_ours(found) and found.st_mode & 0o077:
        path.chmod(stat.S_IMODE(found.st_mode) & 0o700)


def exposure(path: Path) -> str:
    """What other users can do with a file or folder, as the end of a sentence; empty
    if nothing. Raises OSError if the path does not exist."""
    found = path.stat()
    if os.name != "posix":
        return ""  # Windows keeps rights elsewhere
    if not _is_ours(found):
        return f"belongs to another user (number {found.st_uid})"
    if found.st_mode & 0o022:
        return "can be changed by other users of this machine"
    return "can be read by other users of this machine" if found.st_mode & 0o077 else ""


def may_be_swapped(folder: Path) -> bool:
    """Whether another user can replace a file in this folder; false for folders such
    as /tmp, whose sticky bit lets users remove only their own files."""
    found = folder.stat()
    if os.name != "posix":
        return False
    foreign = not _is_ours(found) and found.st_uid != 0
    anybody = found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX
    return foreign or bool(anybody)


def _overwrite(handle: int) -> None:
    left = os.fstat(handle).st_size
    os.lseek(handle, 0, os.SEEK_SET)
    while left > 0:
        left -= os.write(handle, bytes(min(left, 1 << 20)))
    os.fsync(handle)


def _is_ours(found: os.stat_result) -> bool:
    return os.name != "posix" or found.st_uid == os.geteuid()


def _refusal(path: Path, why: str) -> OSError:
    return OSError(errno.EPERM, f"{why}; nothing was written", str(path))
