"""What the options of several measurements take, refused in one sentence before
anything is loaded."""

from __future__ import annotations

import os
from pathlib import Path

import click

AT_LEAST_ONE = click.IntRange(1)
NONE_OR_MORE = click.IntRange(0)
SEED = click.IntRange(0)
TEMPERATURE = click.FloatRange(0.0)
TOP_P = click.FloatRange(0.0, 1.0, min_open=True)
MODEL_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class _NewFile(click.Path):
    """A file in a folder that is there."""

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


NEW_FILE = _NewFile(dir_okay=False)
"""A file that is written at the end."""
