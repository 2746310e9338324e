"""One server at a time works from a state folder with models of its own.

Two of them would load the models twice and fill the memory. Gateways, whose models run
behind an address, share the folder; so do servers that are started with a token given,
which use nothing of it and take no lock.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cloud_api.errors import ServerError
from models.owner_only import open_private

FILE_NAME = "cloud.lock"


@contextmanager
def state_lock(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold the folder while the block runs; the lock ends with the process, however
    that ends.

    Raises:
        ServerError: another process holds it, and both may not.
    """
    path = folder / FILE_NAME
    try:
        import fcntl
    except ImportError:  # Windows: nobody is kept out
        yield
        return
    handle = open_private(path, os.O_RDWR | os.O_CREAT)
    try:
        how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(handle, how | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ServerError(
                f"another server works from {folder} already{_holder(handle)}; stop "
                "that one, or let SPECSTEER_HOME name another folder"
            ) from error
        if not shared:
            os.ftruncate(handle, 0)
            os.pwrite(handle, b"%d\n" % os.getpid(), 0)
        yield
    finally:
        os.close(handle)


def _holder(handle: int) -> str:
    """Which process wrote its number into the lock file, in words."""
    written = os.pread(handle, 20, 0).strip()
    return f" (process {int(written)})" if written.isdigit() else ""
