"""What must hold before an import begins: it is alone, and the disk has room.

The system takes the lock away when its holder ends, however that happens, so nothing
is ever left locked by a process that was killed.
"""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO

from base.locks import lock
from base.owner_only import open_private
from personal_store.errors import StoreBusyError, StoreError
from personal_store.files.files import Source

TIMES = 3
"""Room that a text takes: itself, its search terms, and the log before they settle."""
MAIL_TEXT = 0.1
"""Share of a mailbox that is text worth storing; the rest is markup and attachments."""
LEAST = 32 * 1024 * 1024
"""Bytes that must be free for any import."""


@contextmanager
def importing_alone(store: Path) -> Iterator[None]:
    """Hold the lock of a store; raises StoreBusyError, saying since when, if taken."""
    handle = open_private(store.with_name(store.name + ".lock"), os.O_RDWR | os.O_CREAT)
    with os.fdopen(handle, "r+", encoding="utf-8") as file:
        try:
            lock(file)
        except OSError as error:
            raise StoreBusyError(
                f"Another import into this store is running{_since(file)}: wait until "
                "it has ended, or stop it; nothing it has read is lost."
            ) from error
        now = datetime.now().astimezone()
        file.seek(0)
        file.truncate()
        file.write(json.dumps({"process": os.getpid(), "since": now.isoformat()}))
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def is_importing(store: Path) -> bool:
    """Whether an import into this store is running."""
    path = store.with_name(store.name + ".lock")
    try:
        if not path.stat().st_size:
            return False
        with importing_alone(store):  # who was killed has left what it wrote
            return False
    except FileNotFoundError:
        return False
    except StoreBusyError:
        return True


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


def check_room(store: Path, sources: Sequence[Source], *, is_mail: bool) -> None:
    """Raises StoreError, with what is missing, if the disk is nearly full."""
    size = sum(source.size for source in sources)
    needed = LEAST + int(TIMES * size * (MAIL_TEXT if is_mail else 1))
    free = shutil.disk_usage(store.parent).free
    if free < needed:
        raise StoreError(
            f"The disk of {store.parent} is nearly full: this import may need "
            f"{in_words(needed)}, and {in_words(free)} are free. Make room first, or "
            "import a part."
        )


def in_words(count: int) -> str:
    """A number of bytes as a person reads it: 320 kB, 1.4 GB."""
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            digits = 1 if unit != "bytes" and size < 10 else 0
            return f"{size:.{digits}f} {unit}"
        size /= 1000
    return f"{size:.1f} TB"
