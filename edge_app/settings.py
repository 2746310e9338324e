"""What a person has set once: `settings.toml` in the state folder."""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from decoding_core.errors import InvalidSettingsError
from decoding_core.settings import MethodSettings
from models.engines.settings import EngineSettings
from models.folders import state_folder

TOKEN_VARIABLE = "SPECSTEER_TOKEN"  # noqa: S105 (a name, no secret)


@dataclass(frozen=True, slots=True)
class Settings:
    """The device's settings; every field can be a line of `settings.toml`."""

    server: str = ""
    """Address of a verifier server; empty: one is started on this machine."""
    token: str = ""
    specialist: str = ""
    """Path of a GGUF file; empty: the embedded model."""
    generalist: str = ""
    threads: int = field(default_factory=lambda: EngineSettings().threads)
    gpu_layers: int = 0
    flash_attention: bool = False
    """As on the server; slower on CPUs."""
    exact: bool = False
    """Decode so that blocks and single steps give the same bits; slower."""
    method: MethodSettings = field(
        default_factory=lambda: MethodSettings(temperature=0.7, top_p=0.95)
    )
    """Table `[method]`: threshold, strength, draft_length, temperature and so on."""

    def engine(self) -> EngineSettings:
        """How the specialist is run."""
        return EngineSettings(
            threads=self.threads,
            gpu_layers=self.gpu_layers,
            flash_attention=self.flash_attention,
            exact=self.exact,
        )


_Table = TypeVar("_Table", Settings, MethodSettings)


def settings_path() -> Path:
    """Where the settings lie."""
    return state_folder() / "settings.toml"


def store_path() -> Path:
    """Where the history lies."""
    return state_folder() / "store.db"


def sample_store_path() -> Path:
    """Where the sample history lies; it never mixes with the person's own."""
    return state_folder() / "sample.db"


def ledger_path() -> Path:
    """Where the ledger lies."""
    return state_folder() / "ledger.jsonl"


def read_settings(path: Path | None = None) -> Settings:
    """The settings, or the defaults where there are none.

    Raises:
        InvalidSettingsError: the file cannot be read, or says what nothing knows.
    """
    path = path or settings_path()
    if not path.exists():
        return _with_token(Settings())
    try:
        body = tomllib.loads(path.read_text(encoding="utf-8"))
        method = _replaced(path, Settings().method, body.pop("method", {}))
        return _with_token(_replaced(path, Settings(method=method), body))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, TypeError) as error:
        raise InvalidSettingsError(f"{path} cannot be read: {error}") from error


def _replaced(path: Path, defaults: _Table, changes: dict[str, Any]) -> _Table:
    known = {entry.name for entry in fields(defaults)}
    for name in changes:
        if name not in known:
            raise InvalidSettingsError(
                f"{path} sets '{name}'; known are: {', '.join(sorted(known))}"
            )
    return replace(defaults, **changes)


def _with_token(settings: Settings) -> Settings:
    token = os.environ.get(TOKEN_VARIABLE) or settings.token
    return replace(settings, token=token)
