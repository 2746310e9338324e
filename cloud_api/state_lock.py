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

from base.locks import lock
from base.owner_only import open_private
from cloud_api.errors import ServerError

FILE_NAME = "cloud.lock"


@contextmanager
def state_lock(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold the folder while the block runs; the lock ends with the process, however
    that ends.

    Raises:
        ServerError: another process holds it, and both may not.
    """
    path = folder / FILE_NAME
    handle = open_private(path, os.O_RDWR | os.O_CREAT)
    try:
        try:
            lock(handle, shared=shared)
        except OSError as error:
            raise ServerError(
                f"another server works from {folder} already{_holder(handle)}; stop "
                "that one, or let SPECSTEER_HOME name another folder"
            ) from error
        if not shared:
            os.ftruncate(handle, 0)
            os.write(handle, b"%d\n" % os.getpid())
        yield
    finally:
        os.close(handle)


def _holder(handle: int) -> str:
    """Which process wrote its number into the lock file, in words."""
    written = os.read(handle, 20).strip()
    return f" (process {int(written)})" if written.isdigit() else ""
