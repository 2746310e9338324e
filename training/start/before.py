"""The embedded models as they were before: what recipes go on from."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from shutil import which

from decoding_core.errors import ModelNotFoundError
from training.config import EMBEDDED
from training.start import parent
from training.start.parent import Parent

FILES = {
    "specialist": (
        "6a8b34b607e09d27488182820617bdca869e940a",
        "7c3cf53828bf10faf75ebcb8a6f3329b40046e8186b8b954a1b31e318beffd7e",
    ),
}
"""By model: what git calls the content of its file, and the file's SHA-256."""


def load(name: str, folder: Path) -> Parent:
    """The weights, shape and tokens of the model as it was; raises as `file` does."""
    return parent.read(file(name, folder))


def file(name: str, folder: Path) -> Path:
    """The GGUF file of the model as it was: that in `models/embedded` while it is
    there, then that in `folder`, where it is put out of this repository's history.

    Raises:
        ModelNotFoundError: it is nowhere, or no file is named for this model.
    """
    if name not in FILES:
        raise ModelNotFoundError(
            f"no earlier file of the {name} is known: its recipe has to begin with "
            "another parent, and cannot have the model draft"
        )
    blob, sha256 = FILES[name]
    kept = folder / f"{name}-before.gguf"
    for path in (EMBEDDED / f"{name}.gguf", kept):
        if path.is_file() and _sha256(path) == sha256:
            return path
    folder.mkdir(parents=True, exist_ok=True)
    with kept.open("wb") as target:
        found = subprocess.run(
            (which("git") or "git", "-C", str(EMBEDDED), "cat-file", "blob", blob),
            stdin=subprocess.DEVNULL,
            stdout=target,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    if found.returncode or _sha256(kept) != sha256:
        kept.unlink()
        raise ModelNotFoundError(
            f"the {name} goes on from the file with sha256 {sha256}, which is neither "
            f"in {EMBEDDED} nor in this repository's history: clone it whole, or put "
            f"that file there as {kept.name} in {folder}"
        )
    return kept


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
