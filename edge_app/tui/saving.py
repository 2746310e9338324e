"""Files that a person names: nothing is overwritten without being asked."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from base.owner_only import create, is_special, make_folder
from edge_app.decoding.events import Sent, to_json
from edge_app.retrieval.naming import parted
from models.prompts import Request

_LONGEST_STEM = 120
"""Bytes of a proposed name; file systems take 255, and some programs add to them."""

_SENTENCES = {
    errno.ENAMETOOLONG: "the name is too long for this disk",
    errno.ENOTDIR: "a part of this path is a file, not a folder",
    errno.EEXIST: "a part of this path is a file, not a folder",
    errno.ELOOP: "the links on this path run in a circle",
    errno.EACCES: "you have no permission for this path",
    errno.EPERM: "you have no permission for this path",
    errno.EROFS: "this disk can only be read",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "your share of this disk is full",
}


class PathError(Exception):
    """A path cannot be used; the message says why and is shown beside the field."""


class TakenError(PathError):
    """There is a file already; `found` goes to `save` to overwrite this very one."""

    def __init__(self, found: FileState) -> None:
        super().__init__("this file exists; enter once more overwrites it")
        self.found = found


FileState = tuple[int, int, int, int]
"""Which file stood at a path, and as of when: device, inode, nanoseconds, size."""


def typed_path(typed: str) -> Path:
    """The path that a person typed, `~` resolved; raises PathError."""
    typed = typed.strip()
    if not typed:
        raise PathError("type the name of a file first")
    if "\0" in typed:
        raise PathError("a path cannot hold a zero byte")
    try:
        path = Path(typed).expanduser()
        os.fsencode(path)
    except RuntimeError as error:
        user = typed.split("/")[0]
        raise PathError(f"there is no user {user} on this machine") from error
    except UnicodeEncodeError as error:
        raise PathError("this path holds a character that no file can have") from error
    return path


def why_not(error: OSError) -> str:
    """Why the system refuses a path, as a sentence."""
    said = _SENTENCES.get(error.errno or 0)
    return said or (error.strerror or str(error)).lower()


def propose(folder: Path, request: Request, suffix: str = ".txt") -> Path:
    """A free path named after the request, such as `email-ana-2.txt`."""
    name, address = parted(request.recipient)
    words = re.findall(r"\w+", f"{request.task} {name or address}".casefold())
    stem = "-".join(words[:6]).encode("utf-8", "ignore")[:_LONGEST_STEM]
    return free(folder / (stem.decode("utf-8", "ignore") + suffix))


def free(path: Path) -> Path:
    """`path`, numbered if a file of that name exists."""
    number, found = 1, path
    while os.path.lexists(found):
        number += 1
        found = path.with_stem(f"{path.stem}-{number}")
    return found


def save(path: Path, text: str, *, instead_of: FileState | None = None) -> Path:
    """Write `text` and a newline to a new file or `instead_of` one, wholly or not at
    all. Raises TakenError if there is another file, PathError if nothing can be
    written."""
    if not text.endswith("\n"):
        text += "\n"
    body = text.encode("utf-8", "replace")
    try:
        found = _file_at(path)
        if found is None:
            make_folder(path.parent)
            _create(path, body)
        elif found == instead_of:
            _replace(path.resolve(), body)
        else:
            raise TakenError(found)
    except OSError as error:
        raise PathError(f"cannot write there: {why_not(error)}") from error
    return path


def export_sent(folder: Path, sent: Iterable[Sent]) -> Path:
    """Write every sent message as a line of JSON; the file's path. Raises PathError."""
    lines = "".join(to_json(event) + "\n" for event in sent)
    return save(free(folder / "what-left.jsonl"), lines)


def _file_at(path: Path) -> FileState | None:
    """The state of the file at `path`, None if there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise PathError("this is a link that leads nowhere") from None
        return None
    if stat.S_ISDIR(status.st_mode):
        raise PathError("this is a folder; add the name of a file")
    if not stat.S_ISREG(status.st_mode):
        raise PathError("this is a device or a pipe; choose the name of a file")
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size


def _create(path: Path, body: bytes) -> None:
    """Write all of `body` to a new private file, or leave no file."""
    try:
        with create(path) as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise  # somebody was faster: it is not ours to remove
    except OSError:
        with suppress(OSError):
            path.unlink()
        raise


def _replace(path: Path, body: bytes) -> None:
    """Write `body` to a new file and move it over the old one, whose mode it gets."""
    if is_special(path):
        raise OSError(errno.EPERM, "it is a device or a pipe; name a file", str(path))
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    _create(part, body)
    try:
        part.chmod(stat.S_IMODE(path.stat().st_mode))
        part.replace(path)
    except OSError:
        with suppress(OSError):
            part.unlink()
        raise
