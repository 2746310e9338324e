"""What was pulled from a hub: where it lies, and the note kept beside it.

A repository is a folder `ORG/NAME` in the folder `models` of the state folder. Its note
`pulled.json` says which files are whole, their checksums, and the licence that was
agreed to.
"""

from __future__ import annotations

import glob
import hashlib
import json
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from base.owner_only import make_folder, write_whole
from decoding_core.errors import ChecksumError, ModelError
from models.folders import machine_folder
from models.local.describing import part_names

NOTE = "pulled.json"
_CHUNK = 8 << 20
Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all."""


@dataclass(frozen=True, slots=True)
class PulledFile:
    """A file that was pulled whole."""

    size: int
    sha256: str
    checked: str
    """Whose checksum it was compared with: `catalogue` or `hub`; empty: nobody named
    one."""


@dataclass(slots=True)
class PulledNote:
    """The note of one repository."""

    repository: str
    revision: str = ""
    """The commit that the files are of."""
    licence: str = ""
    """As the hub named it when the person agreed."""
    agreed: bool = False
    files: dict[str, PulledFile] = field(default_factory=dict)
    """By their names in the repository."""
    coming: dict[str, int] = field(default_factory=dict)
    """Sizes of the files that a pull brings, until it has brought all."""


@dataclass(frozen=True, slots=True)
class PullUnderWay:
    """A pull that has not ended, by this process or another."""

    repository: str
    done: int
    total: int
    """Bytes."""
    silent: float
    """Seconds since the last of them came."""


def pulled_folder() -> Path:
    """Where pulled models lie."""
    return machine_folder() / "models"


def folder_of(repository: str) -> Path:
    """Where the files of a repository `ORG/NAME` lie, be they there or not."""
    return pulled_folder().joinpath(*repository.split("/"))


def read_note(folder: Path) -> PulledNote | None:
    """The note of a repository's folder; None where there is none that can be read."""
    try:
        body = json.loads((folder / NOTE).read_bytes())
        files = {name: PulledFile(**one) for name, one in body.pop("files").items()}
        return PulledNote(**body, files=files)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def write_note(folder: Path, note: PulledNote) -> None:
    """Keep the note, whole or not at all."""
    make_folder(folder)
    write_whole(folder / NOTE, f"{json.dumps(asdict(note), indent=1)}\n".encode())


def pulls_under_way() -> list[PullUnderWay]:
    """All pulls that were begun and have not brought all their files; one that was
    broken off is silent for ever longer."""
    found = []
    for kept in sorted(pulled_folder().glob(f"*/*/{NOTE}")):
        note = read_note(kept.parent)
        if note is None or not note.coming:
            continue
        done, last = 0, 0.0
        for name, size in note.coming.items():
            target = kept.parent / name
            parts = target.parent.glob(f".{glob.escape(target.name)}.*.part")
            for one in (target, *parts):
                with suppress(OSError):  # it took its name meanwhile
                    status = one.stat()
                    done += min(status.st_size, size)
                    last = max(last, status.st_mtime)
        silent = max(0.0, time.time() - (last or kept.stat().st_mtime))
        total = sum(note.coming.values())
        found.append(PullUnderWay(note.repository, min(done, total), total, silent))
    return found


def check_pulled(path: Path, progress: Progress | None = None) -> str:
    """Compare a model's files with the checksums kept when they were pulled; a sentence
    that says what was compared, empty for a model that was not pulled.

    Raises:
        ChecksumError: a file has changed since.
    """
    path = path.resolve()
    folder = _repository_folder(path)
    note = None if folder is None else read_note(folder)
    if folder is None or note is None:
        return ""
    names = {path.with_name(name) for name in part_names(path.name)}
    wanted = [name for name in note.files if path.is_dir() or folder / name in names]
    total = sum(note.files[name].size for name in wanted)
    done = 0
    for name in wanted:
        kept = note.files[name]
        before = done

        def told(count: int, before: int = before) -> None:
            if progress is not None:
                progress(before + count, total)

        try:
            found = sha256_of(folder / name, told)
        except OSError as error:
            raise ChecksumError(
                f"{folder / name} cannot be read: {error.strerror}; 'specsteer models "
                "pull' gets it again"
            ) from error
        if found != kept.sha256:
            raise ChecksumError(
                f"{folder / name} is not what was pulled: its checksum has changed; "
                "'specsteer models remove' and 'pull' get it again"
            )
        done += kept.size
    if not wanted:
        return ""
    return f"the checksum is that of the file pulled from {note.repository}"


def sha256_of(path: Path, progress: Callable[[int], None] | None = None) -> str:
    """The SHA-256 of a file; `progress` hears how many bytes were read."""
    sha = hashlib.sha256()
    done = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            sha.update(chunk)
            done += len(chunk)
            if progress is not None:
                progress(done)
    return sha.hexdigest()


def remove_pulled(path: Path) -> int:
    """Remove a pulled model, all its parts and what a broken pull of it left; the bytes
    that became free.

    Raises:
        ModelError: it was not pulled by this program, so it is not ours to remove.
    """
    path = path.resolve()  # nothing above the folder, whatever the path says
    folder = _repository_folder(path)
    if folder is None:
        raise ModelError(
            f"{path} was not pulled by 'specsteer models pull'; remove it with the "
            "program that put it there"
        )
    note = read_note(folder)
    names = set(part_names(path.name))
    gone = [
        one
        for one in folder.rglob("*")
        if one.is_file()
        and (path == folder or one.parent == path.parent)
        and (
            path == folder
            or one.name in names
            or any(is_part_of_pull(one.name, name) for name in names)
        )
    ]
    freed = sum(one.stat().st_size for one in gone)
    for one in gone:
        one.unlink()
    left = {} if note is None else note.files
    left = {name: kept for name, kept in left.items() if (folder / name).is_file()}
    if note is None or not left:
        shutil.rmtree(folder)
        with suppress(OSError):  # others of the same publisher are there
            folder.parent.rmdir()
    else:
        note.files = left
        write_note(folder, note)
    return freed


def _repository_folder(path: Path) -> Path | None:
    """The folder of the repository that a path without links is in, or is; None for one
    that was not pulled."""
    top = pulled_folder().resolve()
    if top not in path.parents or path.parent == top:
        return None
    return top.joinpath(*path.relative_to(top).parts[:2])


def part_of_pull(name: str, sha256: str) -> str:
    """What a file is called while it is pulled: one that a hub has changed meanwhile
    is begun anew."""
    return f".{name}.{sha256[:16]}.part"


def is_part_of_pull(name: str, of: str) -> bool:
    """Whether a file is what a broken pull left of the file `of`."""
    return name.startswith(f".{of}.") and name.endswith(".part")
