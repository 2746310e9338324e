"""Changes to `settings.toml` that leave its other lines and its comments alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable, Table

from decoding_core.errors import InvalidSettingsError
from edge_app.config.sealed import STORE_NAME, read_file, write_file
from edge_app.config.settings import SETTINGS, check_settings, settings_path


def write_method(changes: Mapping[str, float], path: Path | None = None) -> Path:
    """Set values of `[method]`; the file that was written, whole or not at all.

    Raises:
        InvalidSettingsError: the file cannot be read, or the values are none.
    """

    def change(body: tomlkit.TOMLDocument, path: Path) -> None:
        table = body.setdefault("method", tomlkit.table())
        if not isinstance(table, Table | InlineTable):
            raise InvalidSettingsError(f"{path}: [method] is a table, not {table!r}")
        for name, value in changes.items():
            table[name] = value

    return _changed(change, path)


def write_setting(
    name: str, value: str | float | bool | None, path: Path | None = None
) -> Path:
    """Set one value, of a table such as `method.strength` too; None takes the line out.
    The file that was written, whole or not at all. Raises as `write_method` does."""
    table, _, own = name.rpartition(".")

    def change(body: tomlkit.TOMLDocument, path: Path) -> None:
        within: Any = body
        if table:
            within = body.setdefault(table, tomlkit.table())
        if not isinstance(within, tomlkit.TOMLDocument | Table | InlineTable):
            raise InvalidSettingsError(f"{path}: [{table}] is a table, not {within!r}")
        if value is None:
            within.pop(own, None)
        else:
            within[own] = value

    return _changed(change, path)


def write_models(specialist: str, generalist: str, path: Path | None = None) -> Path:
    """Set the paths of both models, empty for the embedded ones; the file that was
    written, whole or not at all. Raises as `write_method` does."""

    def change(body: tomlkit.TOMLDocument, _: Path) -> None:
        body["specialist"] = specialist  # above the first table, where it is new
        body["generalist"] = generalist

    return _changed(change, path)


def _changed(
    change: Callable[[tomlkit.TOMLDocument, Path], None], path: Path | None
) -> Path:
    """Read the file, change it, and put it back; the file that was written."""
    path = (path or settings_path()).resolve()
    before = ""
    if path.exists():
        # As bytes: line ends stay.
        before = read_file(path, SETTINGS, path.with_name(STORE_NAME)).decode()
    try:
        body = tomlkit.parse(before)
        change(body, path)
    except TOMLKitError as error:
        raise InvalidSettingsError(f"{path} cannot be read: {error}") from error
    text = tomlkit.dumps(body)
    check_settings(text, path)  # nothing is kept that could not be read again
    # The file may hold a token: nobody else can read it, whoever could before.
    write_file(path, text.encode(), SETTINGS, path.with_name(STORE_NAME))
    return path
