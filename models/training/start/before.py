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
        "590ab24c4675a27b1261a9a2bf756ecf654e7775",
        "1d1af92dd20c1fea1b73e29ea09d021831a8dd12b54bca18d5ecea1a4947b2f1",
    ),
    "specialist": (
        "74d86fa207d0f2463d8e469bbcd66096cd0dbd1c",
        "7639959ae4e9e3f6f941d441a8cbbb3352fff59278e13d0c7171f0edc5c60cfd",
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
