"""Locks on open files; the system releases them when their holder ends, even killed."""

import os
import sys
from pathlib import Path
from typing import IO

if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 40  # nobody can read a locked byte, so it lies past the data
else:
    import fcntl


def lock(
    file: int | IO[str] | IO[bytes], *, shared: bool = False, wait: bool = False
) -> None:
    """Lock an open file for this process; raises OSError if another one holds it, or
    waits for that one. Windows takes exclusive locks alone, and waits ten seconds."""
    handle = file if isinstance(file, int) else file.fileno()
    if sys.platform != "win32":
        how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        fcntl.flock(handle, how if wait else how | fcntl.LOCK_NB)
    elif not shared:
        before = os.lseek(handle, 0, os.SEEK_CUR)
        os.lseek(handle, _FAR, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        os.lseek(handle, before, os.SEEK_SET)


def is_at(file: int | IO[str] | IO[bytes], path: Path) -> bool:
    """Whether `path` still names the open file: before it is locked, another process
    may put a new file in its place."""
    handle = file if isinstance(file, int) else file.fileno()
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False
