"""Where a model lies: a GGUF file, or a folder as Hugging Face's libraries write it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from decoding_core.errors import ModelError, ModelNotFoundError
from models.catalogue import find_card

ROLES = ("specialist", "generalist")
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


def locate(role: str) -> Path:
    """The embedded model of a role, `specialist` or `generalist`."""
    return find(find_card(role).path)


def find(path: Path) -> Path:
    """`path`, if a model can lie there; or, for a name such as `Qwen/Qwen3-0.6B` of a
    hub, the folder where Hugging Face's libraries have put it.

    Raises:
        ModelNotFoundError: there is neither.
        ModelError: it is neither a GGUF file nor a folder with a model.
    """
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
    kept = hub_cache() / f"models--{name.replace('/', '--')}"
    try:
        revision = (kept / "refs" / "main").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    folder = kept / "snapshots" / Path(revision).name
    return folder if (folder / "config.json").is_file() else None
