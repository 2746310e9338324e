"""Where a model's file lies."""

from __future__ import annotations

from pathlib import Path

from decoding_core.errors import ModelError, ModelNotFoundError
from models.catalogue import find_card

ROLES = ("specialist", "generalist")


def locate(role: str) -> Path:
    """The embedded model of a role, `specialist` or `generalist`."""
    return find(find_card(role).path)


def find(path: Path) -> Path:
    """`path`, if a model can lie there.

    Raises:
        ModelNotFoundError: there is no such file.
        ModelError: it is not a GGUF file.
    """
    if not path.is_file():
        raise ModelNotFoundError(
            f"there is no model file at {path}; give the path of a GGUF file"
        )
    with path.open("rb") as file:
        magic = file.read(4)
    if magic != b"GGUF":
        raise ModelError(f"{path} is not a GGUF file")
    return path
