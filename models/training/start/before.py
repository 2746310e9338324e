"""The embedded models as they were before: what recipes go on from."""

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
    "specialist": (
        "5a67b30404152b2794ab3e4b10686f6d12ddbe57",
        "6255804e18f6afacf57860b92763b4ce9ddc502fd4e768acc4e5f3075004ed36",
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
        ModelNotFoundError: it is nowhere.
    """
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
