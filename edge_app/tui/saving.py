"""Files that the app writes; nothing is ever overwritten without being asked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from edge_app.events import Sent, to_json
from models.owner_only import create, make_folder
from models.prompts import Request


def propose(folder: Path, request: Request, suffix: str = ".txt") -> Path:
    """A name that is free, such as `email-ana-2.txt`."""
    words = re.findall(r"\w+", f"{request.task} {request.recipient}".casefold())
    return free(folder / ("-".join(words[:6]) + suffix))


def free(path: Path) -> Path:
    """`path`, or the same with the first number that is not taken."""
    number, found = 1, path
    while found.exists():
        number += 1
        found = path.with_stem(f"{path.stem}-{number}")
    return found


def save(path: Path, text: str, *, overwrite: bool = False) -> Path:
    """Write `text`, ended by a newline; FileExistsError unless told to overwrite."""
    path = path.expanduser()
    make_folder(path.parent)
    with path.open("wb") if overwrite else create(path) as file:
        file.write((text if text.endswith("\n") else text + "\n").encode())
    return path


def export_sent(folder: Path, sent: Iterable[Sent]) -> Path:
    """Every message that left, one line of JSON each."""
    lines = "".join(to_json(event) + "\n" for event in sent)
    return save(free(folder / "what-left.jsonl"), lines)
