"""The models on this machine: those that were pulled, and those of other programs.

A pulled repository is a folder `ORG/NAME` in `models` of the state folder, with a note
`pulled.json` of its whole files, their checksums and the licence that was accepted.
Ollama names its files by manifests; LM Studio, llama.cpp and the Hugging Face libraries
keep folders. What is absent or unreadable is skipped: these folders are not ours. Links
are followed to files alone, and every search is bounded."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from pathlib import Path

from base.owner_only import make_folder, write_whole
from decoding_core.errors import ChecksumError, ModelError, ModelNotFoundError
from decoding_core.foreign_text import one_line
from models.files import cards, downloaded_folder, hub_cache, hub_models, snapshot
from models.folders import machine_folder
from models.local.describing import is_later_part, part_names

NOTE = "pulled.json"
_CHUNK = 8 << 20
Progress = Callable[[int, int], None]  # called with bytes done and bytes in all


@dataclass(frozen=True, slots=True)
class PulledFile:
    """A file that was pulled whole."""

    size: int
    sha256: str
    checked: str
    """Whose checksum it was compared with: `catalogue` or `hub`; empty if none."""


@dataclass(slots=True)
class PulledNote:
    """The note of one repository."""

    repository: str
    revision: str = ""  # the commit that the files are of
    licence: str = ""  # as the hub named it when the person agreed to it
    files: dict[str, PulledFile] = field(default_factory=dict)
    """By their names in the repository."""


def pulled_folder() -> Path:
    """Where pulled models lie."""
    return machine_folder() / "models"


def folder_of(repository: str) -> Path:
    """The folder of a repository `ORG/NAME`, whether it exists or not."""
    return pulled_folder().joinpath(*repository.split("/"))


def read_note(folder: Path) -> PulledNote | None:
    """The note of a repository's folder; None if it is missing or damaged."""
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


def parts_of_pulls(target: Path) -> list[Path]:
    """What pulls that have not ended left of a file: `.NAME.CHECKSUM.part`."""
    return list(target.parent.glob(f".{glob.escape(target.name)}.*.part"))


def check_pulled(path: Path, progress: Progress | None = None) -> None:
    """Raise ChecksumError if a file of a pulled model has changed since; a model that
    was not pulled has no checksums to compare."""
    path = path.resolve()
    folder = _repository_folder(path)
    note = None if folder is None else read_note(folder)
    if folder is None or note is None:
        return
    names = {path.with_name(name) for name in part_names(path.name)}
    wanted = [name for name in note.files if path.is_dir() or folder / name in names]
    total, done = sum(note.files[name].size for name in wanted), 0
    for name in wanted:
        try:
            found = sha256_of(folder / name, progress, done, total)
        except OSError as error:
            raise ChecksumError(
                f"{folder / name} cannot be read: {error.strerror}; 'specsteer models "
                "pull' gets it again"
            ) from error
        if found != note.files[name].sha256:
            raise ChecksumError(
                f"{folder / name} is not what was pulled: its checksum has changed; "
                "'specsteer models remove' and 'pull' get it again"
            )
        done += note.files[name].size


def sha256_of(
    path: Path, progress: Progress | None = None, before: int = 0, total: int = 0
) -> str:
    """The SHA-256 of a file; `progress` hears of its bytes after those before it."""
    sha = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            sha.update(chunk)
            if progress is not None:
                progress(before + file.tell(), total)
    return sha.hexdigest()


def remove_pulled(path: Path) -> int:
    """Remove a pulled model, all its parts and what a broken pull of it left; returns
    how many bytes that were. Raises ModelError if another program put it there."""
    path = path.resolve()  # nothing above the folder, whatever the path says
    folder = _repository_folder(path)
    if folder is None:
        raise ModelError(
            f"{path} was not pulled by 'specsteer models pull'; remove it with the "
            "program that put it there"
        )
    gone = list(folder.rglob("*"))
    if path != folder:
        targets = [path.with_name(name) for name in part_names(path.name)]
        gone = targets + [part for one in targets for part in parts_of_pulls(one)]
    gone = [one for one in gone if one.is_file()]
    freed = sum(one.stat().st_size for one in gone)
    note = None if path == folder else read_note(folder)
    for one in gone:
        one.unlink()
    if note is not None:
        kept = {n: one for n, one in note.files.items() if (folder / n).is_file()}
        if kept:
            note.files = kept
            write_note(folder, note)
            return freed
    shutil.rmtree(folder)
    with suppress(OSError):  # others of the same publisher are there
        folder.parent.rmdir()
    return freed


def _repository_folder(path: Path) -> Path | None:
    """The pulled repository of a path without links; None if it was not pulled."""
    top = pulled_folder().resolve()
    if top not in path.parents or path.parent == top:
        return None
    return top.joinpath(*path.relative_to(top).parts[:2])


_MOST_FILES = 20_000
"""Names that are looked at in one folder; a cache of models has some hundreds."""
_LONGEST_MANIFEST = 1 << 20
_OLLAMA_LAYER = "application/vnd.ollama.image.model"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_OLLAMA_OF_THE_SYSTEM = Path("/usr/share/ollama/.ollama/models")
"""Where it runs as a service of Linux, as a user of its own."""
_USUAL_REGISTRY = "registry.ollama.ai/library/"


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model on this machine, by the name that commands take."""

    name: str
    source: str
    """Who put it there: `embedded`, `pulled`, `ollama`, `lmstudio`, `hf`, `llama.cpp`.
    """
    path: Path


def found_models() -> list[FoundModel]:
    """All models here; one at two places, or linked there, is listed twice."""
    found: dict[str, FoundModel] = {}
    for source, name, path in _everything():
        shown = one_line(name)
        if _exists(path):
            found.setdefault(shown, FoundModel(shown, source, path))
    return list(found.values())


def resolve(name: str, role: str = "") -> Path:
    """The path of a model by a name that commands take: one of the catalogue, one that
    `found_models` gives, a path, or that of a downloaded repository. `embedded` is the
    one of its role that comes with this program. Raises ModelNotFoundError, with
    similar names, if there is none."""
    for card in cards():
        if name == card.name or (name == "embedded" and role == card.role):
            return card.path
    for known in hub_models():
        if known.name == name:
            path = folder_of(known.repository) / known.file
            if path.is_file():
                return path
            raise ModelNotFoundError(
                f"{name} is not on this machine; 'specsteer models pull {name}' gets it"
            )
    with suppress(OSError, RuntimeError, ValueError):
        path = Path(name).expanduser()
        if path.exists():
            return path.absolute()
    if folder := downloaded_folder(name):
        return folder
    found = {one.name: one.path for one in found_models()}
    if name in found:
        return found[name]
    near = get_close_matches(name, [*found, *(one.name for one in hub_models())], 3)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise ModelNotFoundError(
        f"there is no model {one_line(name)}; {hint}'specsteer models list' names "
        "those there are"
    )


_Found = Iterator[tuple[str, str, Path]]  # source, name and path of models


def _everything() -> _Found:
    for card in cards():
        yield "embedded", card.name, card.path
    home, chosen = Path.home(), os.environ.get("OLLAMA_MODELS")
    yield from _in_folder("pulled", "", pulled_folder())
    usual = [home / ".ollama/models", _OLLAMA_OF_THE_SYSTEM]
    for folder in [Path(chosen)] if chosen else usual:
        yield from _ollama(folder / "manifests", folder / "blobs")
    for folder in (home / ".lmstudio/models", home / ".cache/lm-studio/models"):
        yield from _in_folder("lmstudio", "lmstudio:", folder)
    for repository in sorted(hub_cache().glob("models--*"))[:_MOST_FILES]:
        revision = snapshot(repository)
        if revision is not None:
            name = repository.name.removeprefix("models--").replace("--", "/")
            yield from _in_folder("hf", f"hf:{name}/", revision)
    cache = home / "Library/Caches"
    if not (cache / "llama.cpp").is_dir():
        cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    folder = Path(os.environ.get("LLAMA_CACHE") or cache / "llama.cpp")
    yield from _in_folder("llama.cpp", "llama.cpp:", folder)


def _ollama(manifests: Path, blobs: Path) -> _Found:
    """What the manifests of Ollama name; those of another form are skipped."""
    for path in _files_below(manifests):
        odd = (LookupError, TypeError, AttributeError, ValueError, RecursionError)
        with suppress(OSError, *odd):
            if path.stat().st_size > _LONGEST_MANIFEST:
                continue
            for layer in json.loads(path.read_bytes())["layers"]:
                digest = _DIGEST.fullmatch(str(layer.get("digest")))
                if layer.get("mediaType") == _OLLAMA_LAYER and digest:
                    model, tag = path.parent, path.name
                    name = model.relative_to(manifests).as_posix()
                    name = f"ollama:{name.removeprefix(_USUAL_REGISTRY)}:{tag}"
                    yield "ollama", name, blobs / f"sha256-{digest[1]}"


def _in_folder(source: str, prefix: str, folder: Path) -> _Found:
    """GGUF files below a folder, and folders of the transformers engine."""
    for path in _files_below(folder):
        inside = path.relative_to(folder)
        if path.suffix.lower() == ".gguf" and not is_later_part(path):
            yield source, f"{prefix}{inside.as_posix()}", path
        elif path.name == "config.json" and any(path.parent.glob("*.safetensors")):
            name = f"{prefix}{inside.parent.as_posix()}"
            yield source, name.removesuffix("/."), path.parent


def _files_below(folder: Path) -> Iterator[Path]:
    """Files in the order of their names; none if the folder cannot be read."""
    seen = 0
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            seen += 1
            if seen > _MOST_FILES:
                return
            if not name.startswith(".") and _exists(path := Path(parent, name)):
                yield path


def _exists(path: Path) -> bool:
    """Whether a file or a folder is there, behind links too; not a pipe or a device."""
    try:
        return path.is_file() or path.is_dir()
    except OSError:  # links in a ring, or a folder that is closed to us
        return False
