"""Phrases that the person allowed once and for all: the guard lets them leave."""

from __future__ import annotations

from pathlib import Path

from edge_app.config.sealed import read_file, write_file

ALLOWED = "list of allowed phrases"
"""What the file is, where it is sealed."""


def read_allowed(path: Path, store: Path) -> tuple[str, ...]:
    """The phrases, in the order in which they were allowed; none where there is no
    file. Raises StoreLockedError as `sealed.read_file` does."""
    if not path.exists():
        return ()
    lines = read_file(path, ALLOWED, store).decode("utf-8", "replace").splitlines()
    return tuple(line for line in map(str.strip, lines) if line)


def keep_allowed(path: Path, phrases: tuple[str, ...], store: Path) -> None:
    """Keep these phrases and no others, for their owner's eyes alone, and under the
    store's key where it has one."""
    data = "".join(f"{phrase}\n" for phrase in phrases).encode()
    write_file(path, data, ALLOWED, store)
