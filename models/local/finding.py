"""The models that this project and other programs keep on this machine.

Ollama names its files by manifests; LM Studio, llama.cpp and the Hugging Face libraries
keep folders. What is not there, or cannot be read, is passed by: these folders are not
ours. Links are followed to files alone, and no folder is looked through without end.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from decoding_core.errors import ModelNotFoundError
from decoding_core.foreign_text import one_line
from models.catalogue import cards, hub_models
from models.files import downloaded_folder, hub_cache
from models.local.describing import is_later_part
from models.local.pulled import folder_of, pulled_folder

_MOST_FILES = 20_000
"""Names that are looked at in one folder; a cache of models has some hundreds."""
_LONGEST_MANIFEST = 1 << 20
_OLLAMA_LAYER = "application/vnd.ollama.image.model"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_OLLAMA_OF_THE_SYSTEM = Path("/usr/share/ollama/.ollama/models")
"""Where it runs as a service of Linux, as a user of its own."""
_USUAL_REGISTRY = ("registry.ollama.ai", "library")


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A model on this machine, by the name that commands take."""

    name: str
    source: str
    """Who put it there: `embedded`, `pulled`, `ollama`, `lmstudio`, `hf`, `llama.cpp`.
    """
    path: Path


def found_models() -> list[FoundModel]:
    """All of them; one that lies at two places, or is linked there, is listed twice."""
    found: dict[str, FoundModel] = {}
    for one in _everything():
        if _is_there(one.path):
            name = one_line(one.name)
            found.setdefault(name, replace(one, name=name))
    return list(found.values())


def resolve(name: str, role: str = "") -> Path:
    """The path of a model by a name that commands take: one of the catalogue, one that
    `found_models` gives, a path, or that of a downloaded repository. `embedded` is the
    one of its role that comes with this program.

    Raises:
        ModelNotFoundError: there is none; the sentence says what comes near.
    """
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
    found = {one.name: one.path for one in found_models()}
    if name in found:
        return found[name]
    with suppress(OSError, RuntimeError, ValueError):
        path = Path(name).expanduser()
        if path.exists():
            return path.absolute()
    folder = downloaded_folder(name)
    if folder is not None:
        return folder
    near = get_close_matches(name, [*found, *(one.name for one in hub_models())], 3)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise ModelNotFoundError(
        f"there is no model {one_line(name)}; {hint}'specsteer models list' names "
        "those there are"
    )


def _everything() -> Iterator[FoundModel]:
    for card in cards():
        if card.path.is_file():
            yield FoundModel(card.name, "embedded", card.path)
    home = Path.home()
    yield from _in_folder("pulled", "", pulled_folder())
    for folder in _ollama_folders(home):
        yield from _ollama(folder)
    for folder in (home / ".lmstudio/models", home / ".cache/lm-studio/models"):
        yield from _in_folder("lmstudio", "lmstudio:", folder)
    yield from _hugging_face(hub_cache())
    yield from _in_folder("llama.cpp", "llama.cpp:", _llama_cpp_folder(home))


def _ollama_folders(home: Path) -> list[Path]:
    chosen = os.environ.get("OLLAMA_MODELS")
    if chosen:
        return [Path(chosen)]
    return [home / ".ollama/models", _OLLAMA_OF_THE_SYSTEM]


def _llama_cpp_folder(home: Path) -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    usual = home / "Library/Caches/llama.cpp"
    if not usual.is_dir():
        usual = cache / "llama.cpp"
    return Path(os.environ.get("LLAMA_CACHE") or usual)


def _ollama(folder: Path) -> Iterator[FoundModel]:
    manifests = folder / "manifests"
    for path in _files_below(manifests):
        layers = _json_object(path).get("layers")
        for layer in layers if isinstance(layers, list) else []:
            if not isinstance(layer, dict) or layer.get("mediaType") != _OLLAMA_LAYER:
                continue
            digest = _DIGEST.fullmatch(str(layer.get("digest", "")))
            if digest is None:
                continue
            *where, model, tag = path.relative_to(manifests).parts[-4:] or [""]
            prefix = "" if tuple(where) == _USUAL_REGISTRY else "/".join([*where, ""])
            blob = folder / "blobs" / f"sha256-{digest[1]}"
            yield FoundModel(f"ollama:{prefix}{model}:{tag}", "ollama", blob)


def _hugging_face(folder: Path) -> Iterator[FoundModel]:
    for repository in _folders_in(folder):
        kind, _, name = repository.name.partition("--")
        snapshot = _snapshot(repository) if kind == "models" else None
        if snapshot is not None:
            yield from _in_folder("hf", f"hf:{name.replace('--', '/')}/", snapshot)


def _snapshot(repository: Path) -> Path | None:
    """The revision that the branch `main` names, else the newest there is."""
    try:
        named = (repository / "refs/main").read_bytes()[:64].decode("ascii").strip()
    except (OSError, ValueError):
        named = ""
    revisions = {path.name: path for path in _folders_in(repository / "snapshots")}
    if named in revisions:
        return revisions[named]
    return max(revisions.values(), key=_changed, default=None)


def _in_folder(source: str, prefix: str, folder: Path) -> Iterator[FoundModel]:
    """GGUF files below a folder, and folders of the transformers engine."""
    for path in _files_below(folder):
        inside = path.relative_to(folder)
        if path.suffix.lower() == ".gguf" and not is_later_part(path):
            yield FoundModel(f"{prefix}{inside.as_posix()}", source, path)
        elif path.name == "config.json" and any(path.parent.glob("*.safetensors")):
            name = f"{prefix}{inside.parent.as_posix()}"
            yield FoundModel(name.removesuffix("/."), source, path.parent)


def _files_below(folder: Path) -> Iterator[Path]:
    """Files, in the order of their names; nothing where the folder cannot be read."""
    looked = 0
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            looked += 1
            if looked > _MOST_FILES:
                return
            path = Path(parent, name)
            if _is_there(path) and not name.startswith("."):
                yield path


def _folders_in(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())[:_MOST_FILES]
    except OSError:
        return []


def _is_there(path: Path) -> bool:
    """Whether a file or a folder is there, behind links too; not a pipe or a device."""
    try:
        return path.is_file() or path.is_dir()
    except OSError:  # links in a ring, or a folder that is closed to us
        return False


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _json_object(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _LONGEST_MANIFEST:
            return {}
        body = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}
