"""A program in a terminal of its own."""

from __future__ import annotations

import os
import pty
import select
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from fcntl import ioctl

from tests.waiting import PATIENCE, moments


def in_terminal(
    command: Sequence[str],
    steps: Sequence[tuple[str, str]] = (),
    *,
    env: Mapping[str, str] | None = None,
    size: tuple[int, int] = (30, 100),
) -> tuple[str, int]:
    """All that `command` wrote to a terminal, and its exit status.

    Each step is a text to wait for, in what was written since the last step, and the
    keys that answer it. A program that is never done is killed.
    """
    near, far = pty.openpty()
    ioctl(near, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    env = {**os.environ, "TERM": "xterm-256color", **(env or {})}
    env.pop("COLUMNS", None)
    env.pop("LINES", None)
    child = subprocess.Popen(
        command, stdin=far, stdout=far, stderr=far, env=env, start_new_session=True,
        preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0),
    )  # fmt: skip
    os.close(far)
    output, seen, waiting = b"", 0, list(steps)
    try:
        for _ in moments("the program does not end", pause=0):
            if select.select([near], [], [], 0.05)[0]:
                try:
                    output += os.read(near, 1 << 16)
                except OSError:  # the other side is closed
                    break
            if waiting and waiting[0][0].encode() in output[seen:]:
                seen = len(output)
                os.write(near, waiting.pop(0)[1].encode())
        status = child.wait(PATIENCE)
    finally:
        child.kill()
        child.wait()
        os.close(near)
    assert not waiting, f"waited in vain for {waiting[0][0]!r} in {output[-3000:]!r}"
    return output.decode("utf-8", "surrogateescape"), status
