"""Changes to `settings.toml` that leave its other lines and its comments alone."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable, Table

from decoding_core.errors import InvalidSettingsError
from edge_app.settings import read_settings, settings_path

_PRIVATE = 0o600
"""The file may hold a token."""


def write_method(changes: Mapping[str, float], path: Path | None = None) -> Path:
    """Set values of `[method]`; the file that was written, whole or not at all.

    Raises:
        InvalidSettingsError: the file cannot be read, or the values are none.
    """
    path = (path or settings_path()).resolve()
    before = _read(path) if path.exists() else ""
    try:
        body = tomlkit.parse(before)
        table = body.setdefault("method", tomlkit.table())
        if not isinstance(table, Table | InlineTable):
            raise InvalidSettingsError(f"{path}: [method] is a table, not {table!r}")
        for name, value in changes.items():
            table[name] = value
    except TOMLKitError as error:
        raise InvalidSettingsError(f"{path} cannot be read: {error}") from error
    _replace(path, tomlkit.dumps(body))
    return path


def _read(path: Path) -> str:
    with path.open(encoding="utf-8", newline="") as file:  # line ends stay as they are
        return file.read()


def _replace(path: Path, text: str) -> None:
    fresh = path.with_name(f"{path.name}.part")
    fresh.unlink(missing_ok=True)
    fresh.touch(_PRIVATE, exist_ok=False)
    try:
        fresh.write_text(text, encoding="utf-8", newline="")
        if path.exists():
            shutil.copymode(path, fresh)
        read_settings(fresh)  # nothing is kept that could not be read again
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
