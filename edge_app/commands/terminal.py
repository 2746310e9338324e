"""What commands share in the terminal: progress, Ctrl-C, looks, bars, input, JSON."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

from decoding_core.errors import InvalidSettingsError
from decoding_core.foreign_text import escaped_json, legible, one_line, ungated

STOPPED = 130  # exit status of what Ctrl-C stopped
_EVERY = 30.0  # seconds between two lines of progress if there is no terminal
BOLD, UNDERLINED, CYAN, _PLAIN = "\x1b[1m", "\x1b[4m", "\x1b[36m", "\x1b[0m"
_MOST_BARS, _LABEL, _NARROWEST = 12, 34, 10  # bars; characters of labels, of bars


class Progress:
    """A bar with rate and time left on a terminal; elsewhere a line now and then."""

    def __init__(self, label: str = "reading", *, in_bytes: bool = False) -> None:
        self._label = one_line(label)
        self._in_bytes = in_bytes
        self._bar: Any = None  # rich is imported when there is something to draw
        self._noted = time.monotonic()

    def show(self, done: int, total: int) -> None:
        """Show how much is done of the total."""
        if not sys.stderr.isatty():
            if time.monotonic() - self._noted >= _EVERY:
                self._noted = time.monotonic()
                note(f"{self._label}: {100 * done // max(1, total)} %")
            return
        if self._bar is None:
            self._bar = _bar(self._in_bytes)
            self._bar.start()
            self._bar.add_task(self._label, total=total, completed=done)
        self._bar.update(self._bar.task_ids[0], completed=done, total=total)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Take the bar away; the next `show` begins another one."""
        if self._bar is not None:
            self._bar.stop()
        self._bar = None


def _bar(in_bytes: bool) -> Any:
    from rich import progress  # 60 ms that only a terminal needs
    from rich.console import Console

    amount: list[progress.ProgressColumn] = [progress.TaskProgressColumn()]
    if in_bytes:
        amount = [progress.DownloadColumn(), progress.TransferSpeedColumn()]
    return progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        *amount,
        progress.TimeRemainingColumn(),
        # Its bars are drawn with sequences of our own; the label is gated above.
        console=Console(file=ungated(sys.stderr)),
    )


@contextmanager
def stoppable() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets; a second Ctrl-C raises KeyboardInterrupt."""
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


def is_interactive() -> bool:
    """Whether a person can be asked: questions go to stderr."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def may_style() -> bool:
    """Whether stdout may be underlined and the like."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def styled(text: str, look: str) -> str:
    """`text` in a look of ours, for `echo_ours`."""
    return f"{look}{legible(text)}{_PLAIN}"


def echo_ours(text: str, *, nl: bool = True) -> None:
    """Write our own words and looks to stdout, around the gate for foreign text."""
    stream = ungated(sys.stdout)
    stream.write(text + "\n" * nl)
    stream.flush()


def heading(text: str) -> None:
    """Write `text` as a line of its own on stdout, bold if it may be styled."""
    if may_style():
        echo_ours(styled(text, BOLD))
    else:
        click.echo(text)


def bars(counts: Mapping[str, int], width: int | None = None) -> list[str]:
    """A line for each name: name, number, bar; all but the largest share one line.
    `width` in characters, else the terminal's."""
    width = width or shutil.get_terminal_size().columns
    if len(counts) > _MOST_BARS:
        most = dict(Counter(counts).most_common(_MOST_BARS - 1))
        largest = {name: number for name, number in counts.items() if name in most}
        counts = largest | {"others": sum(counts.values()) - sum(most.values())}
    shown = [(one_line(name)[:_LABEL], number) for name, number in counts.items()]
    label = max((len(name) for name, _ in shown), default=0)
    top = max(counts.values(), default=0) or 1
    digits = len(f"{top:,}")
    room = max(_NARROWEST, width - label - digits - 6)
    lines = []
    for name, number in shown:
        bar = "#" * max(1 if number else 0, round(room * number / top))
        lines.append(f"  {name:<{label}}  {number:>{digits},}  {bar}")
    return lines


def counted(number: int, noun: str) -> str:
    """A number with its noun: 1 text, 1,200 texts."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


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
