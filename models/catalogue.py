"""The models that the project knows by name: `catalogue.toml`, read and checked."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from decoding_core.errors import ChecksumError, ModelNotFoundError

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class ModelCard:
    """One entry of the catalogue."""

    name: str
    role: str
    """`specialist` or `generalist`."""
    repository: str
    """Where to download it; empty for what comes with the project."""
    file: str
    """Relative to this folder."""
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
        """Compare the file with its checksum.

        Raises:
            ModelNotFoundError: it is not there.
            ChecksumError: it is another file.
        """
        if not self.path.is_file():
            raise ModelNotFoundError(f"there is no model file at {self.path}")
        with self.path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != self.sha256:
            raise ChecksumError(
                f"{self.path} is not the file that the catalogue names; get it anew, "
                "or write its checksum there if you made it yourself"
            )


@cache
def cards() -> tuple[ModelCard, ...]:
    """All entries of the catalogue."""
    body = tomllib.loads((_FOLDER / "catalogue.toml").read_text(encoding="utf-8"))
    return tuple(ModelCard(**entry) for entry in body["model"])


def find_card(role: str) -> ModelCard:
    """The embedded model of a role."""
    return next(card for card in cards() if card.role == role)
