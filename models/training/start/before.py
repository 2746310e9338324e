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
        "be1104209da501376acd917e5c27ea53b2eb3b35",
        "369c8483ae110b0986ee097976f3f714b16cfe319135ad6356f9722d59417efd",
    ),
    "specialist": (
        "4d68c936eb1c7d5d35e085b755e07a620ef17261",
        "f529d67b48e6efa4f6d482bc28da9314af1dcdbedf7f0ba2345601222e71d678",
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
