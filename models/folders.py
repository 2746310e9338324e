"""Where state lies: the platform's usual folder, or `SPECSTEER_HOME` when set."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from platformdirs import user_data_path

from decoding_core.errors import InvalidSettingsError
from models.owner_only import close_to_others, make_folder


def state_folder() -> Path:
    """The folder of store, ledger, settings and caches; made if absent, for the user's
    eyes only. One that was open to others is closed, if it is the usual one or empty:
    `SPECSTEER_HOME` may name a folder that holds other things.

    Raises:
        InvalidSettingsError: it cannot be made.
    """
    home = os.environ.get("SPECSTEER_HOME")
    folder = Path(home) if home else user_data_path("specsteer")
    try:
        folder = folder.expanduser()
        make_folder(folder)
        if home:  # a folder such as /tmp is shared on purpose
            shared = folder.stat().st_mode & stat.S_ISVTX
            ours = not shared and next(folder.iterdir(), None) is None
        else:
            ours = True
        if ours:
            close_to_others(folder)
    except (OSError, RuntimeError) as error:
        raise InvalidSettingsError(
            f"the folder {folder} cannot be made; SPECSTEER_HOME can name another"
        ) from error
    return folder
