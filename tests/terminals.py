"""A program in a pseudo-terminal: keys go in as the bytes that a terminal sends, and
what comes back is read as a screen.

`Screen` knows the few sequences that the app writes and passes over the others.
"""

from __future__ import annotations

import codecs
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path

from rich.cells import cell_len

from tests.waiting import PATIENCE, ROOT, moments

_SEQUENCE = re.compile(
    r"\x1b\[(?P<private>[?<>=]?)(?P<numbers>[\d;:]*)[ $]?(?P<final>[A-Za-z@`])"
    r"|\x1b\](?P<command>.*?)(?:\x07|\x1b\\)"
    r"|\x1b[\(\)][A-Z0-9]|\x1b[=>78]",
    re.DOTALL,
)


class Screen:
    """Cells of text, as a terminal shows them."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self.cells = self._blank()
        self._below = self.cells
        self.row = self.column = 0
        self.commands: list[str] = []
        """Operating system commands, such as that for the clipboard."""
        self._rest = ""

    def feed(self, text: str) -> None:
        """Take in output; a sequence that is cut waits for its rest."""
        text, at = self._rest + text, 0
        self._rest = ""
        while at < len(text):
            if text[at] != "\x1b":
                self._letter(text[at])
                at += 1
                continue
            found = _SEQUENCE.match(text, at)
            if found is None:
                self._rest = text[at:]
                assert len(self._rest) < 4096, f"unknown: {self._rest[:40]!r}"
                return
            self._sequence(found)
            at = found.end()

    @property
    def text(self) -> str:
        """All rows."""
        return "\n".join("".join(row).rstrip() for row in self.cells)

    def find(self, text: str) -> tuple[int, int]:
        """Row and column of a text, from 0."""
        for at, row in enumerate(self.text.split("\n")):
            if text in row:
                return at, row.index(text)
        raise AssertionError(f"{text!r} is not in\n{self.text}")

    def _blank(self) -> list[list[str]]:
        return [[" "] * self.width for _ in range(self.height)]

    def _letter(self, letter: str) -> None:
        if letter == "\r":
            self.column = 0
        elif letter == "\n":
            self.row = min(self.row + 1, self.height - 1)
        elif letter >= " " and self.column < self.width:
            self.cells[self.row][self.column] = letter
            self.column += max(1, cell_len(letter))

    def _sequence(self, found: re.Match[str]) -> None:
        if found["command"] is not None:
            self.commands.append(found["command"])
            return
        numbers = [int(n) if n else 1 for n in (found["numbers"] or "").split(";")]
        match found["private"], found["final"]:
            case "", "H":
                row, column = (*numbers, 1)[:2]
                self.row = min(row, self.height) - 1
                self.column = min(column, self.width) - 1
            case "", "J":
                self.cells = self._blank()
            case "?", "h" if 1049 in numbers:
                self._below, self.cells = self.cells, self._blank()
            case "?", "l" if 1049 in numbers:
                self.cells = self._below
            case "", "K":
                blank = [" "] * (self.width - self.column)
                self.cells[self.row][self.column :] = blank
            case _:
                pass


class Terminal:
    """A Python process in a terminal of its own, which is closed at the end."""

    def __init__(
        self,
        script: str,
        *arguments: str,
        beside: Path,
        size: tuple[int, int] = (100, 30),
        **environment: str,
    ) -> None:
        """`beside` is a file whose folder the script may import from."""
        self.screen = Screen(*size)
        self.output = b""
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._near, far = pty.openpty()
        ioctl(far, termios.TIOCSWINSZ, struct.pack("4H", size[1], size[0], 0, 0))
        env = {**os.environ, "TERM": "xterm-256color"}
        env["PYTHONPATH"] = os.pathsep.join([str(beside.parent), str(ROOT)])
        for name in ("COLUMNS", "LINES", "NO_COLOR"):
            env.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, "-c", script, *arguments],
            stdin=far,
            stdout=far,
            stderr=far,
            env={**env, **environment},
            start_new_session=True,
            preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(far)

    def close(self) -> None:
        """End the process, if it is still there, and the terminal."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.hang_up()

    def send(self, keys: bytes | str) -> None:
        """What a terminal sends for keys."""
        os.write(self._near, keys.encode() if isinstance(keys, str) else keys)

    def click(self, text: str) -> None:
        """A click in the middle of a text on the screen."""
        row, column = self.screen.find(text)
        place = f"{column + 1 + len(text) // 2};{row + 1}"
        self.send(f"\x1b[<0;{place}M\x1b[<0;{place}m")

    def until(self, true: Callable[[], bool] | str) -> None:
        """Read until the screen holds a text, or something is true."""
        if isinstance(true, str):
            wanted = true
            true = lambda: wanted in self.screen.text  # noqa: E731
        for _ in moments(lambda: f"there is\n{self.screen.text}", pause=0):
            if true():
                return
            assert self._read(), f"it ended; there is\n{self.screen.text}"

    def gone(self, text: str) -> None:
        """Read until the screen no longer holds a text."""
        self.until(lambda: text not in self.screen.text)

    def end(self) -> int:
        """Read until the process has ended; its exit code."""
        for _ in moments(lambda: f"still there:\n{self.screen.text}", pause=0):
            if not self._read():
                break
        return self.process.wait(PATIENCE)

    def hang_up(self) -> None:
        """Close the terminal, as a window that is closed does."""
        if self._near >= 0:
            os.close(self._near)
            self._near = -1

    def _read(self) -> bool:
        """Take in some output; False when the process has closed the terminal."""
        if not select.select([self._near], [], [], 0.1)[0]:
            return True
        data = b""
        with suppress(OSError):  # so Linux says that the other side is closed
            data = os.read(self._near, 1 << 16)
        self.output += data
        self.screen.feed(self._decode(data))
        return bool(data)


def ctrl(letter: str) -> bytes:
    """The byte that Ctrl makes of a letter."""
    return bytes([ord(letter) & 31])
