"""What the options of several measurements take, refused in one sentence before
anything is loaded."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from models.running.settings import usable_cores

AT_LEAST_ONE = click.IntRange(1)
NONE_OR_MORE = click.IntRange(0)
SEED = click.IntRange(0)
TEMPERATURE = click.FloatRange(0.0)
TOP_P = click.FloatRange(0.0, 1.0, min_open=True)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
PATH = click.Path(exists=True, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _NewFile(click.Path):
    """A file in a folder that exists."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        # Found out now, not when hours of measuring are to be written.
        if not path.parent.is_dir():
            self.fail(f"there is no folder for '{path}'", param, ctx)
        return path


NEW_FILE = _NewFile(dir_okay=False)  # a file that is written at the end


class Listed(click.ParamType[Any]):
    """Items with commas, each once, as a tuple; `all` stands for every choice."""

    name = "list"

    def __init__(self, item: click.ParamType[Any], *, auto: bool = False) -> None:
        """`item` reads what stands between commas, but the word `auto` if allowed."""
        self._item, self._auto = item, auto

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Any, ...]:
        """The items; raises BadParameter for one that is invalid."""
        if value == "all" and isinstance(self._item, click.Choice):
            return tuple(self._item.choices)
        words = dict.fromkeys(word.strip() for word in value.split(","))
        return tuple(
            word
            if self._auto and word == "auto"
            else self._item.convert(word, param, ctx)
            for word in words
        )


def option(
    flag: str, kind: Any, default: Any, said: str, name: str = "", **more: Any
) -> Decorator:
    """An option; its help shows the default, if there is one."""
    names = (flag, name) if name else (flag,)
    shown = default is not None and more.get("show_default", True)
    more |= {"show_default": shown}
    if default is not None:
        more["default"] = default
    return click.option(*names, type=kind, help=said, **more)


def flag(name: str, said: str) -> Decorator:
    """An option that is given or not."""
    return click.option(name, is_flag=True, help=said)


def several(*options: Decorator) -> Decorator:
    """All of these options."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for one in reversed(options):
            command = one(command)
        return command

    return decorate


MODELS = several(
    option("--threads", AT_LEAST_ONE, usable_cores(), "Of each model."),
    option("--specialist", FILE, None, "A GGUF file."),
    option("--generalist", FILE, None, "A GGUF file."),
)
KEPT = several(
    option("--cache", FOLDER, None, "Where results are kept.", metavar="DIR"),
    flag("--fresh", "Compute again what is kept."),
)
JSON = option(
    *("--json", NEW_FILE, None, "Write all settings and figures there too."),
    name="json_file",
    metavar="FILE",
)
