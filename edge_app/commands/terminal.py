"""What commands share in the terminal: progress, Ctrl-C, looks, bars, passphrases."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from decoding_core.errors import InvalidSettingsError
from decoding_core.foreign_text import escaped_json, legible, one_line, ungated
from models.command_line import ask_secret
from personal_store import keys

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

STOPPED = 130
"""Exit status of what Ctrl-C stopped."""
_EVERY = 30.0
"""Seconds between two lines if there is no terminal."""


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
        """Show how much is done of the total."""
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
            note(self._line(done, total))

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
        from personal_store.import_runs import in_words  # loads the store

        speed = f"{in_words(int(rate))} a second"
        return f"{self._label}: {in_words(done)} of {in_words(total)}, {speed}{left}"

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Take the bar away; the next `show` begins another one."""
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


@contextmanager
def stoppable() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets, so that what is settled can be shown; a second Ctrl-C
    waits for nothing."""
    stop = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = signal.signal(signal.SIGINT, on_signal)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


BOLD, UNDERLINED, CYAN, _PLAIN = "\x1b[1m", "\x1b[4m", "\x1b[36m", "\x1b[0m"


def may_style() -> bool:
    """Whether stdout may be underlined and the like."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def styled(text: str, look: str) -> str:
    """`text` in a look of ours, for `echo_ours`."""
    return f"{look}{legible(text)}{_PLAIN}"


def echo_ours(text: str, *, nl: bool = True) -> None:
    """Write to stdout what is made of our own words and of what `styled` gave: it goes
    around the gate, which knows no look of ours from one in a stranger's text."""
    stream = ungated(sys.stdout)
    stream.write(text + "\n" * nl)
    stream.flush()


def heading(text: str) -> None:
    """Write `text` as a line of its own on stdout, bold if it may be styled."""
    if may_style():
        echo_ours(styled(text, BOLD))
    else:
        click.echo(text)


_MOST_BARS = 12
_LABEL = 34
_NARROWEST = 10


def bars(counts: Mapping[str, int], width: int | None = None) -> list[str]:
    """A line for each name: name, bar, number. All but the largest share one line.

    Names in the order of the counts given; `width` in characters, else the terminal's.
    """
    width = width or shutil.get_terminal_size().columns
    if len(counts) > _MOST_BARS:
        kept = sorted(counts, key=lambda name: -counts[name])[: _MOST_BARS - 1]
        largest = {name: n for name, n in counts.items() if name in kept}
        rest = sum(counts.values()) - sum(largest.values())
        counts = largest | {"others": rest}
    shown = {one_line(name): number for name, number in counts.items()}
    label = min(_LABEL, max((len(name) for name in shown), default=0))
    digits = max((len(f"{n:,}") for n in shown.values()), default=0)
    room = max(_NARROWEST, width - label - digits - 6)
    top = max(shown.values(), default=0) or 1
    lines = []
    for name, number in shown.items():
        bar = "#" * max(1 if number else 0, round(room * number / top))
        lines.append(f"  {name[:label]:<{label}}  {number:>{digits},}  {bar}")
    return lines


def ask_for_passphrase() -> None:
    """Ask for the passphrase of an encrypted store, if there is a terminal."""

    def ask(question: str) -> str:
        return ask_secret(question) if sys.stdin.isatty() else ""

    keys.ask = ask


def note(text: str) -> None:
    """Write a line to stderr, which says what was done."""
    click.echo(text, err=True)


def read_stdin() -> str:
    """The text on standard input; raises InvalidSettingsError if it is not UTF-8."""
    try:
        # Bytes: the locale may decode what is not UTF-8 without a word.
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        wrong = "what is piped in is not text in UTF-8"
        raise InvalidSettingsError(wrong) from error


def echo_json(body: Mapping[str, Any], *, indent: int | None = None) -> None:
    """Write one JSON object to stdout, fit for a terminal."""
    click.echo(escaped_json(json.dumps(body, indent=indent, default=str)))
