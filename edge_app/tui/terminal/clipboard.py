"""The clipboard, by every way that there is: OSC 52, which reaches over SSH where the
terminal obeys it, and the programs of this machine."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

_SECONDS = 5.0
"""A program that keeps the clipboard goes on by itself; one that hangs is ended."""
_LONGEST = 256
"""Bytes of a piece of a sequence that GNU screen hands through; it takes 768."""


def osc52(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """The sequence that asks the terminal to copy `text`, in a wrapping that GNU screen
    takes off where the app runs in one."""
    data = base64.b64encode(text.encode("utf-8", "replace")).decode()
    sequence = f"\x1b]52;c;{data}\x07"
    if not environment.get("STY"):
        return sequence
    pieces = [sequence[at : at + _LONGEST] for at in range(0, len(sequence), _LONGEST)]
    return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)


def programs(
    environment: Mapping[str, str] = os.environ,
    which: Callable[[str], str | None] = shutil.which,
) -> list[Sequence[str]]:
    """The commands that copy what they are given: those of tmux and of the system."""
    asked: list[Sequence[str]] = []
    if environment.get("TMUX"):
        asked.append(("tmux", "load-buffer", "-w", "-"))
    systems: list[Sequence[str]] = [("pbcopy",), ("clip.exe",)]
    if environment.get("WAYLAND_DISPLAY"):
        systems.insert(0, ("wl-copy",))
    if environment.get("DISPLAY"):
        systems += [("xclip", "-selection", "clipboard"), ("xsel", "-ib")]
    there = [one for one in systems if which(one[0])]
    return [*asked, *there[:1]]


def hand_to_programs(text: str, commands: Sequence[Sequence[str]]) -> threading.Thread:
    """Give `text` to each of `commands`, in a thread of its own; what goes wrong there
    is nobody's loss, as the terminal was asked, too."""
    data = text.encode("utf-8", "replace")

    def hand() -> None:
        for command in commands:
            with suppress(OSError, subprocess.SubprocessError):
                subprocess.run(
                    command,
                    input=data,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    timeout=_SECONDS,
                    check=False,
                )

    thread = threading.Thread(target=hand, daemon=True, name="clipboard")
    thread.start()
    return thread
