"""The clipboard, by OSC 52 and the programs of this machine; the person's editor."""

from __future__ import annotations

import base64
import os
import secrets
import shlex
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from itertools import accumulate
from pathlib import Path

from base.owner_only import create, shred
from decoding_core.foreign_text import legible
from edge_app.tui.text import pieces_of
from models.folders import state_folder

_SECONDS = 5.0
"""A program that keeps the clipboard goes on by itself; one that hangs is ended."""
_LONGEST = 256
"""Bytes of a piece of a sequence that GNU screen hands through; it takes 768."""


def osc52(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """The sequence that has the terminal copy `text`, wrapped if GNU screen runs it."""
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
    """Give `text` to each of `commands`, in a thread of its own."""
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


_OPENERS = ("open", "wslview", "xdg-open")


def open_outside(link: str, mail: str = "") -> bool:
    """Open a mailto: link, or a mail in a private file, in the person's mail program;
    False if no program of this machine opens anything. Nobody says when the program has
    read the file: it goes with the next, and when the app is left or started."""
    shown = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    there = [one for one in _OPENERS if shutil.which(one)]
    if not there or (there[0] == "xdg-open" and not shown):
        return False
    drop_mails()
    if mail:
        link = str(state_folder() / f"mail-{secrets.token_hex(4)}.eml")
        with create(Path(link)) as file:
            file.write(mail.encode())
    nothing = subprocess.DEVNULL
    program = subprocess.Popen(
        [there[0], link],
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        start_new_session=True,
    )
    threading.Thread(target=program.wait, daemon=True, name="mail program").start()
    return True


def drop_mails() -> None:
    """Overwrite and delete the mail that a mail program was given last."""
    for old in state_folder().glob("mail-*.eml"):
        shred(old)


Change = tuple[int, int, str]
_USUAL = ("nano", "vi", "notepad")


class EditorError(Exception):
    """The text cannot be given to an editor; the message is a sentence."""


def editor_command(environment: Mapping[str, str] = os.environ) -> list[str]:
    """The person's editor with its options; raises EditorError if there is none."""
    wanted = environment.get("VISUAL") or environment.get("EDITOR")
    try:
        words = shlex.split(wanted or "", posix=os.name != "nt")
    except ValueError as error:
        raise EditorError(f"$EDITOR cannot be read: {wanted}") from error
    if not words:
        words = [name for name in _USUAL if shutil.which(name)][:1]
    if not words:
        raise EditorError("set $EDITOR to an editor first")
    if shutil.which(words[0]) is None:
        raise EditorError(f"there is no editor '{words[0]}': set $EDITOR to one")
    return words


def edited(text: str, words: list[str]) -> str:
    """`text` as the editor `words` left it, in a private file that is shredded. Raises
    EditorError if the editor fails or its result cannot be read."""
    folder = Path(tempfile.mkdtemp(prefix="edit-", dir=state_folder()))
    path = folder / "letter.txt"
    try:
        with create(path) as file:
            file.write(text.encode("utf-8", "replace"))
        done = subprocess.run([*words, str(path)], check=False)
        if done.returncode:
            raise EditorError(
                f"{words[0]} ended with {done.returncode}; the text is as it was"
            )
        found = path.read_bytes().decode("utf-8", "replace")
    except OSError as error:
        raise EditorError(f"{words[0]} cannot be used: {error.strerror}") from error
    finally:
        for left in folder.iterdir():  # an editor's own copies, too
            shred(left)
        folder.rmdir()
    found = legible(found)
    # As most editors leave it.
    return found if text.endswith("\n") else found.removesuffix("\n")


def changes(before: str, after: str) -> list[Change]:
    """The edits by whole words from one text to the other, the last first."""
    ours, theirs = pieces_of(before), pieces_of(after)
    starts = list(accumulate(map(len, ours), initial=0))
    matcher = SequenceMatcher(None, ours, theirs, autojunk=len(ours) > 4000)
    return [
        (starts[i1], starts[i2], "".join(theirs[j1:j2]))
        for tag, i1, i2, j1, j2 in reversed(matcher.get_opcodes())
        if tag != "equal"
    ]
