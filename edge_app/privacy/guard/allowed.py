"""Phrases that the person allowed once and for all: the guard lets them leave."""

from __future__ import annotations

from pathlib import Path

from models.owner_only import write_whole


def read_allowed(path: Path) -> tuple[str, ...]:
    """The phrases, in the order in which they were allowed; none where there is no
    file."""
    if not path.exists():
        return ()
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return tuple(line for line in map(str.strip, lines) if line)


def keep_allowed(path: Path, phrases: tuple[str, ...]) -> None:
    """Keep these phrases and no others, for their owner's eyes alone."""
    write_whole(path, "".join(f"{phrase}\n" for phrase in phrases).encode())
