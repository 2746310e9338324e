"""Where state lies: the platform's usual folder, or `SPECSTEER_HOME` when set."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_data_path

from decoding_core.errors import InvalidSettingsError


def state_folder() -> Path:
    """The folder of store, ledger, settings and caches; made if absent, for the user's
    eyes only.

    Raises:
        InvalidSettingsError: it cannot be made.
    """
    home = os.environ.get("SPECSTEER_HOME")
    folder = Path(home) if home else user_data_path("specsteer")
    try:
        folder = folder.expanduser()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        raise InvalidSettingsError(
            f"the folder {folder} cannot be made; SPECSTEER_HOME can name another"
        ) from error
    return folder
