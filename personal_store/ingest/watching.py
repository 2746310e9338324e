"""Which files of a folder are new or changed, and have come to rest."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from personal_store.errors import SourceError
from personal_store.files.files import Source, in_folder, of_file

INTERVAL = 3.0
"""Seconds between two looks."""

_Mark = tuple[int, int]


def settled(
    path: Path, interval: float = INTERVAL, sleep: Callable[[float], None] = time.sleep
) -> Iterator[list[Source]]:
    """The files to read, each time there are some; goes on until it is stopped.

    A file is told of once it looked the same in two rounds, and again when it changed.
    At first that is every file.
    """
    known: dict[Path, _Mark] = {}
    before: dict[Path, _Mark] = {}
    while True:
        files = _files(path)
        now = {file.path: mark for file, mark in files}
        found = [
            file
            for file, mark in files
            if before.get(file.path) == mark != known.get(file.path)
        ]
        if found:
            known |= {file.path: now[file.path] for file in found}
            yield found
        before = now
        sleep(interval)


def _files(path: Path) -> list[tuple[Source, _Mark]]:
    """Every file with its size and time of change, but those that just went."""
    if not path.exists():
        raise SourceError(f"There is no file or folder {path}.")
    found = []
    for file in in_folder(path) if path.is_dir() else [of_file(path)]:
        try:
            status = file.path.stat()
        except FileNotFoundError:
            continue
        found.append((file, (status.st_size, status.st_mtime_ns)))
    return found
