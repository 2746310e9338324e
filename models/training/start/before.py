"""The embedded pair as it was before: what the recipes go on from."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from shutil import which

from decoding_core.errors import ModelNotFoundError
from models.training.config import EMBEDDED
from models.training.start import parent
from models.training.start.parent import Parent

FILES = {
    "generalist": (
        "2e4c2dad6967856e1fef51c7bcb78b2a23522ceb",
        "9493dd3bbe15dbb078cdda3aea5e893492a3b4c391a13ec8a0a90ca855ac6a45",
    ),
    "specialist": (
        "79c30838365f375148c62422325d199ac80a4dc6",
        "28571e53a043ba9811759a04abf33e72a586b3a458c3dc5d29a9ab680bd03438",
    ),
}
"""By model: what git calls the content of its file, and the file's SHA-256."""


def load(name: str, folder: Path) -> Parent:
    """The weights, shape and tokens of the model as it was: from `models/embedded`
    while they are there, then from `folder`, then out of this repository's history.

    Raises:
        ModelNotFoundError: they are nowhere.
    """
    blob, sha256 = FILES[name]
    kept = folder / f"{name}-before.gguf"
    for path in (EMBEDDED / f"{name}.gguf", kept):
        if path.is_file() and _sha256(path) == sha256:
            return parent.read(path)
    folder.mkdir(parents=True, exist_ok=True)
    with kept.open("wb") as file:
        found = subprocess.run(
            (which("git") or "git", "-C", str(EMBEDDED), "cat-file", "blob", blob),
            stdin=subprocess.DEVNULL,
            stdout=file,
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
    return parent.read(kept)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
