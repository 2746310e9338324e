"""The server that this device was paired with: one file, for its owner's eyes alone."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from decoding_core.errors import InvalidSettingsError
from edge_app.config.sealed import STORE_NAME, read_file, write_file

FILE_NAME = "paired-server.json"
PAIRED = "paired server"
"""What the file is, where it is sealed."""


@dataclass(frozen=True, slots=True)
class PairedServer:
    """What pairing gave the device."""

    server: str
    """Its address."""
    token: str = field(repr=False)
    certificate: str = field(repr=False)
    """The only one that is taken there, as PEM; empty: an authority vouches for it."""
    user: str
    """Whose device the server takes this one for."""
    name: str
    """What the server calls it."""


def read_paired(folder: Path) -> PairedServer | None:
    """The server that was paired with; None where none was, or the file is not there.

    Raises:
        InvalidSettingsError: the file cannot be read.
        StoreLockedError: it is sealed, and the store's key is not to be had.
    """
    path = folder / FILE_NAME
    if not path.is_file():
        return None
    try:
        said = json.loads(read_file(path, PAIRED, folder / STORE_NAME))
        values = {one.name: said[one.name] for one in fields(PairedServer)}
        if not all(isinstance(value, str) for value in values.values()):
            raise TypeError
        return PairedServer(**values)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidSettingsError(
            f"{path} cannot be read: remove it ('specsteer unpair'), and pair again"
        ) from error


def write_paired(folder: Path, paired: PairedServer) -> None:
    """Keep a server, in place of the one there was; whole or not at all, and sealed
    where the store is encrypted."""
    data = f"{json.dumps(asdict(paired))}\n".encode()
    write_file(folder / FILE_NAME, data, PAIRED, folder / STORE_NAME)


def remove_paired(folder: Path) -> bool:
    """Forget the server; whether there was one."""
    path = folder / FILE_NAME
    there = path.exists()
    path.unlink(missing_ok=True)
    return there
