"""The models known by name, and the places of models: GGUF files, or folders as Hugging
Face's libraries write them."""

from __future__ import annotations

import hashlib
import os
import re
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from decoding_core.errors import ChecksumError, ModelError, ModelNotFoundError

_FOLDER = Path(__file__).parent
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class ModelCard:
    """A model that comes with the project."""

    name: str
    role: str  # `specialist` or `generalist`
    file: str  # relative to this folder
    sha256: str
    quantisation: str
    vocabulary: str
    """Its id, the hash of the token list; models that share it fit together."""
    licence: str

    @property
    def path(self) -> Path:
        """Where the file lies."""
        return _FOLDER / self.file

    def check(self) -> None:
        """Raise ModelNotFoundError if the file is missing, and ChecksumError if it is
        another one."""
        if not self.path.is_file():
            raise ModelNotFoundError(f"there is no model file at {self.path}")
        with self.path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != self.sha256:
            raise ChecksumError(
                f"{self.path} is not the file that the catalogue names; get it anew, "
                "or write its checksum there if you made it yourself"
            )


@dataclass(frozen=True, slots=True)
class HubModel:
    """A model of the catalogue that a hub has."""

    name: str
    family: str
    size: str  # number of parameters, as in the model's name
    repository: str
    file: str
    quantisation: str
    gigabytes: float  # size of the file in 10^9 bytes, rounded
    cache: int  # KiB of memory for each token
    licence: str
    names: Literal["seen", "from memory", "checked"]
    """Where repository and file name come from; `checked` with a hub."""
    sha256: str  # empty if unknown

    def memory(self, context_length: int, texts: int = 1) -> int:
        """About how many bytes the weights and the caches of N texts take."""
        return int(self.gigabytes * 1e9) + texts * context_length * (self.cache << 10)


@dataclass(frozen=True, slots=True)
class KnownPair:
    """Two models of one family; the files are compared when they are there."""

    specialist: str
    generalist: str
    note: str  # what is peculiar about it; often empty


@cache
def cards() -> tuple[ModelCard, ...]:
    """The models that come with the project."""
    return tuple(ModelCard(**entry) for entry in _read()["model"])


@cache
def hub_models() -> tuple[HubModel, ...]:
    """The models that `specsteer models pull` knows by name."""
    return tuple(HubModel(**entry) for entry in _read()["hub_model"])


@cache
def known_pairs() -> tuple[KnownPair, ...]:
    """Pairs of them that fit together as far as is known."""
    return tuple(KnownPair(**entry) for entry in _read()["pair"])


def _read() -> dict[str, list[dict[str, Any]]]:
    text = (_FOLDER / "catalogue.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def locate(role: str) -> Path:
    """The embedded model of a role, `specialist` or `generalist`."""
    return find(next(card.path for card in cards() if card.role == role))


def find(path: Path) -> Path:
    """`path`, if a model can lie there; or, for a hub's name such as `Qwen/Qwen3-0.6B`,
    the folder where Hugging Face's libraries have put it. Raises ModelNotFoundError if
    there is neither, ModelError if it is no GGUF file and no folder with a model."""
    if not path.exists():
        folder = downloaded_folder(str(path))
        if folder is None:
            raise ModelNotFoundError(
                f"there is no model file at {path}; give the path of a GGUF file, "
                "or of a folder with a model"
            )
        path = folder
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelError(f"{path} holds no model: there is no config.json in it")
        return path
    with path.open("rb") as file:
        magic = file.read(4)
    if magic != b"GGUF":
        raise ModelError(f"{path} is not a GGUF file")
    return path


def hub_cache() -> Path:
    """Where Hugging Face's libraries keep what they downloaded."""
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    home = os.environ.get("HF_HOME") or f"{caches}/huggingface"
    return Path(os.environ.get("HF_HUB_CACHE") or f"{home}/hub").expanduser()


def downloaded_folder(name: str) -> Path | None:
    """The folder of a model that a hub knows as `name`, if it was downloaded."""
    if not _HUB_NAME.fullmatch(name):
        return None
    folder = snapshot(hub_cache() / f"models--{name.replace('/', '--')}")
    return folder if folder and (folder / "config.json").is_file() else None


def snapshot(repository: Path) -> Path | None:
    """The revision in a repository of that cache that the branch `main` names, else
    the newest; None if there is none."""
    named = ""
    with suppress(OSError, ValueError):
        named = (repository / "refs/main").read_bytes()[:64].decode("ascii").strip()
    with suppress(OSError):
        folders = [one for one in (repository / "snapshots").iterdir() if one.is_dir()]
        folders.sort(key=lambda one: (one.name == named, one.stat().st_mtime))
        return folders[-1] if folders else None
    return None
