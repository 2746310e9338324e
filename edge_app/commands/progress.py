"""A progress bar on stderr."""

from __future__ import annotations

import sys
from typing import Any

import click


class Progress:
    """A progress bar on stderr, where that is a terminal."""

    def __init__(self, label: str = "reading") -> None:
        self._label = label
        self._bar: Any = None  # click names the type only privately
        self._done = 0

    def show(self, done: int, total: int) -> None:
        """So much is done of the total."""
        if not sys.stderr.isatty():
            return
        if self._bar is None:
            self._bar = click.progressbar(
                length=total, label=self._label, file=sys.stderr
            )
        self._bar.update(done - self._done)
        self._done = done

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.render_finish()
