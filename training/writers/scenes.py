"""Scenes: requests that people wrote by hand, each thing with a sentence that says it.

A file of `scenes/` holds one after the other, parted by empty lines:

    email: Mr {surname}
    boiler man came, part is {sum} => The boiler man came, and the part costs {sum}.
    ask if he wants the old one => Do you want the old one?

First the kind of text, with whom a mail is for or what a review is of; then a line for
each thing that is asked for, and behind `=>` how it is said; what a note holds is said
as it was asked. Slots and free choices are those of `everyday.toml`; `[a|b]` is a
choice that stays the same all through a scene.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TASKS = "email", "review", "post", "note"


@dataclass(frozen=True, slots=True)
class Scene:
    """A request written by hand: its things in their order."""

    task: str
    of: str
    """Template: whom a mail is for or what a review is of; empty where that is free."""
    things: tuple[tuple[str, str], ...]
    """Templates: what asks for each thing, and the sentence that says it."""


@cache
def scenes() -> Mapping[str, Sequence[Scene]]:
    """All scenes by the kind of text."""
    files = sorted(Path(__file__).with_name("scenes").glob("*.txt"))
    every = [scene for file in files for scene in read_scenes(file)]
    return {task: [one for one in every if one.task == task] for task in TASKS}


def read_scenes(file: Path) -> Iterator[Scene]:
    """The scenes of one file.

    Raises:
        ValueError: a scene begins with no kind or holds nothing, or a line has no
            sentence; it names file and line.
    """
    task, of, things, begun = "", "", list[tuple[str, str]](), 0
    for number, line in enumerate([*file.read_text("utf-8").splitlines(), ""], 1):
        line = line.strip()
        if line.startswith("#"):
            continue
        if not line:
            if task and not things:
                raise ValueError(f"{file.name}:{begun}: nothing is asked for")
            if task:
                yield Scene(task, of, tuple(things))
            task, things = "", []
        elif not task:
            task, _, of = (part.strip() for part in line.partition(":"))
            begun = number
            if task not in TASKS:
                raise ValueError(f"{file.name}:{number}: {task!r} is no kind of text")
            if task == "review" and not of:
                raise ValueError(f"{file.name}:{number}: a review of what?")
        else:
            ask, arrow, say = (part.strip() for part in line.partition("=>"))
            if not arrow and task != "note":
                raise ValueError(f"{file.name}:{number}: nothing says {ask!r}")
            things.append((ask, say or ask))
