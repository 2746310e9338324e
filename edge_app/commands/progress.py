"""How far long work is, on stderr."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from decoding_core.foreign_text import one_line, ungated
from personal_store.ingest.guards import in_words

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

_EVERY = 30.0
"""Seconds between two lines where there is no terminal."""


class Progress:
    """A bar with rate and time left on a terminal; elsewhere a line now and then.

    `in_bytes` says that what is counted are bytes.
    """

    def __init__(self, label: str = "reading", *, in_bytes: bool = False) -> None:
        self._label = one_line(label)
        self._in_bytes = in_bytes
        self._bar: Any = None  # rich is imported when there is something to draw
        self._task: Any = None
        self._began: tuple[float, int] | None = None
        self._told = 0.0

    def show(self, done: int, total: int) -> None:
        """So much is done of the total."""
        if self._began is None:
            self._began = time.monotonic(), done
            self._told = self._began[0]
        if sys.stderr.isatty():
            if self._bar is None:
                self._bar = _bar(self._in_bytes)
                self._bar.start()
                self._task = self._bar.add_task(
                    self._label, total=total, completed=done
                )
            self._bar.update(self._task, completed=done)
        elif time.monotonic() - self._told >= _EVERY:
            self._told = time.monotonic()
            click.echo(self._line(done, total), err=True)

    def _line(self, done: int, total: int) -> str:
        assert self._began is not None
        start, before = self._began
        rate = (done - before) / max(1e-9, time.monotonic() - start)
        left = ""
        if rate > 0:
            seconds = (total - done) / rate
            left = f", {seconds / 3600:.1f} h left"
            if seconds < 5400:
                left = f", {seconds / 60:.0f} min left"
            if seconds < 90:
                left = f", {seconds:.0f} s left"
        if not self._in_bytes:
            return f"{self._label}: {done:,} of {total:,}{left}"
        speed = f"{in_words(int(rate))} a second"
        return f"{self._label}: {in_words(done)} of {in_words(total)}, {speed}{left}"

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        self._bar = self._began = None


def _bar(in_bytes: bool) -> Any:
    from rich.console import Console  # 60 ms that only a terminal needs
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.progress import Progress as Bar

    amount: list[ProgressColumn] = [TaskProgressColumn()]
    if in_bytes:
        amount = [DownloadColumn(), TransferSpeedColumn()]
    return Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *amount,
        TimeRemainingColumn(),
        # Its bars are drawn with sequences of our own; the label is gated above.
        console=Console(file=ungated(sys.stderr)),
    )
