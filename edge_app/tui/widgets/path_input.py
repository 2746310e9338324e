"""An input that completes paths; → takes what is proposed."""

from __future__ import annotations

from pathlib import Path

from textual.suggester import Suggester

from edge_app.tui.saving import PathError, typed_path
from edge_app.tui.widgets.line_input import LineInput


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
