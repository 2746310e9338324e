"""A process in a pseudo-terminal whose bytes are read, with the times of each."""

from __future__ import annotations

import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path
from typing import Any, Self

from models.python_child import start


class Terminal:
    """Starts `package.module:function` in a terminal of `size` columns and rows."""

    def __init__(
        self,
        entry: str,
        *arguments: str,
        size: tuple[int, int] = (120, 36),
        more: Mapping[str, str] | None = None,
    ) -> None:
        self._near, far = pty.openpty()
        ioctl(far, termios.TIOCSWINSZ, struct.pack("4H", size[1], size[0], 0, 0))
        self.started = time.monotonic()
        self.process: subprocess.Popen[Any] = start(
            entry,
            *arguments,
            more={"TERM": "xterm-256color", **(more or {})},
            stdin=far,
            stdout=far,
            stderr=far,
            start_new_session=True,
        )
        os.close(far)
        self.output = bytearray()
        self.chunks: list[tuple[int, float]] = []
        """How many bytes had come at a moment of the monotonic clock."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._near)

    def send(self, keys: bytes) -> None:
        """What a terminal sends for keys."""
        os.write(self._near, keys)

    def read_until(self, true: Callable[[], bool], patience: float) -> bool:
        """Read until something is true; False where the process ended or patience did
        before."""
        end = time.monotonic() + patience
        while not true():
            left = end - time.monotonic()
            if left <= 0:
                return False
            if not select.select([self._near], [], [], min(left, 0.05))[0]:
                continue
            data = b""
            with suppress(OSError):  # so Linux says that the other side is closed
                data = os.read(self._near, 1 << 16)
            if not data:
                return true()
            self.output += data
            self.chunks.append((len(self.output), time.monotonic()))
        return True

    def came(self, at: int) -> float:
        """When byte `at` of the output was read."""
        return next(moment for length, moment in self.chunks if length > at)

    def cpu_seconds(self) -> float:
        """CPU time of the process so far, of all its threads."""
        told = Path(f"/proc/{self.process.pid}/stat").read_text("ascii")
        fields = told.rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
