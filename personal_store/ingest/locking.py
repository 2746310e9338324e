"""One import at a time: a second one is told who is ahead of it.

The system takes the lock away when its holder ends, however that happens, so nothing
is ever left locked by a process that was killed.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO

from personal_store.errors import StoreBusyError
from personal_store.owner_only import open_private

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_FAR = 1 << 20
"""Where Windows locks a byte: locked bytes cannot be read by others there."""


@contextmanager
def importing_alone(store: Path) -> Iterator[None]:
    """Hold the lock of a store; raises StoreBusyError, saying since when, if taken."""
    with _opened(store.with_name(store.name + ".lock")) as file:
        try:
            _take(file)
        except OSError as error:
            raise StoreBusyError(
                f"Another import into this store is running{_since(file)}: wait until "
                "it has ended, or stop it; nothing it has read is lost."
            ) from error
        _sign(file)
        try:
            yield
        finally:
            file.truncate(0)


def _opened(path: Path) -> IO[str]:
    handle = open_private(path, os.O_RDWR | os.O_CREAT)
    return os.fdopen(handle, "r+", encoding="utf-8")


def _sign(file: IO[str]) -> None:
    now = datetime.now().astimezone()
    file.seek(0)
    file.truncate()
    file.write(json.dumps({"process": os.getpid(), "since": now.isoformat()}))
    file.flush()


def _since(file: IO[str]) -> str:
    """When its holder began; empty if it has not written that yet."""
    try:
        told = json.loads(file.read())
        began = datetime.fromisoformat(told["since"]).astimezone()
        process = int(told["process"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    today = began.date() == datetime.now().astimezone().date()
    when = f"{began:%H:%M:%S}" if today else f"{began:%Y-%m-%d %H:%M}"
    return f" since {when} (process {process})"


if sys.platform == "win32":

    def _take(file: IO[str]) -> None:
        file.seek(_FAR)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        file.seek(0)

else:

    def _take(file: IO[str]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
