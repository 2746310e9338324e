"""The files beside the store, put under its key when that changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from edge_app.commands.serve import KEY, key_path
from edge_app.config.paired import FILE_NAME, PAIRED
from edge_app.config.sealed import Seal, closed, is_sealed, replace_file
from edge_app.config.settings import (
    SETTINGS,
    allowed_path,
    ledger_path,
    settings_path,
    store_path,
)
from edge_app.privacy.guard.gate import ALLOWED
from edge_app.privacy.ledger import SPENT, reseal, spent_path
from models.folders import state_folder


def put_under(old: str | None, new: str | None) -> None:
    """Have the ledger, the profile, the settings, allowed phrases, what each server was
    told, what pairing gave and the key of 'serve' under another key, or plain without
    one; what was there is overwritten.

    Raises:
        OSError: a file cannot be written.
        StoreBusyError: a text is being written.
        StoreLockedError: a file was sealed with another key than the old one.
    """
    for path, what in _files():
        data = path.read_bytes()
        if is_sealed(data):
            data = Seal(old or new or "").opened(data.decode("ascii", "replace"), what)
        replace_file(path.resolve(), closed(data, what, new))
    reseal(ledger_path(), old, new)


def _files() -> Iterator[tuple[Path, str]]:
    """The files that are there, and what each is."""
    # llama.cpp, which this module loads, takes a while.
    from edge_app.service.profiles import PROFILE, profile_path

    candidates = [
        (settings_path(), SETTINGS),
        (allowed_path(), ALLOWED),
        (spent_path(ledger_path()), SPENT),
        (state_folder() / FILE_NAME, PAIRED),
        (key_path(), KEY),
        (profile_path(store_path()), PROFILE),
    ]
    yield from ((path, what) for path, what in candidates if path.is_file())
