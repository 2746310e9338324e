"""An input that completes paths, and takes those that are dropped on the terminal; →
takes what is proposed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from textual import events
from textual.suggester import Suggester

from edge_app.tui.saving import PathError, typed_path
from edge_app.tui.widgets.line_input import LineInput

_ESCAPED = re.compile(r"\\(.)")


class PathSuggester(Suggester):
    """Proposes the first file or folder that begins with what is typed."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        """The rest of a name in the folder that is typed so far."""
        return complete(value)


class PathInput(LineInput):
    """A path of this machine."""

    def __init__(self, value: str = "") -> None:
        super().__init__(value, name="path", suggester=PathSuggester())

    def on_paste(self, event: events.Paste) -> None:
        """Take a path that was dropped as the path that it means; into a field that
        holds one already it goes as any text does."""
        found = dropped(event.text)
        if found is not None and (not self.value or found != event.text):
            event.stop()
            event.prevent_default()
            self.value = found
            self.cursor_position = len(found)


def dropped(text: str) -> str | None:
    """The first path of what a terminal pastes when files are dropped on it: in quotes,
    with escapes, or as `file://`; None where it is no path."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    line = lines[0]
    if line.casefold().startswith("file:"):
        try:
            address = urlsplit(line.split()[0])
        except ValueError:
            return None
        if address.netloc not in ("", "localhost"):
            return None
        return unquote(address.path) or None
    if line[0] in "'\"":
        quote = line[0]
        inside, closed, _ = line[1:].replace("'\\''", "\0").partition(quote)
        return inside.replace("\0", "'") if closed and inside else None
    if not line.startswith(("/", "~", ".")):
        return None
    if _there(line) or sys.platform == "win32":
        return line
    # Several paths are parted by spaces that no backslash stands before.
    first = re.split(r"(?<!\\)\s", line)[0] if "\\" in line else line
    bare = _ESCAPED.sub(r"\1", first)
    if not _there(bare) and _there(line.split()[0]):
        bare = line.split()[0]
    return bare


def _there(path: str) -> bool:
    try:
        return typed_path(path).exists()
    except (PathError, OSError):
        return False


def complete(value: str) -> str | None:
    """`value` with the first name that it begins; folders end in a slash."""
    head, slash, start = value.rpartition("/")
    try:
        folder = typed_path(head + slash) if slash else Path()
        names = sorted(path for path in folder.iterdir() if start)
    except (PathError, OSError):
        return None
    for path in names:
        # A name that no terminal can show would not be the one that is typed.
        if not path.name.isprintable():
            continue
        if path.name.startswith(start) and path.name != start:
            return f"{head}{slash}{path.name}{'/' if path.is_dir() else ''}"
    return None
