"""Whether the disk has room for what is about to be imported."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from personal_store.errors import StoreError
from personal_store.files.files import Source

TIMES = 3
"""Room that a text takes: itself, its search terms, and the log before they settle."""
MAIL_TEXT = 0.1
"""Share of a mailbox that is text worth storing; the rest is markup and attachments."""
LEAST = 32 * 1024 * 1024
"""Bytes that must be free for any import."""


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
