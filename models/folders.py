"""Where state lies: the platform's usual folder, or `SPECSTEER_HOME` when set."""

from __future__ import annotations

import os
from pathlib import Path

from platformdirs import user_data_path


def state_folder() -> Path:
    """The folder of store, ledger, settings and caches; made if absent, for the user's
    eyes only."""
    home = os.environ.get("SPECSTEER_HOME")
    folder = Path(home).expanduser() if home else user_data_path("specsteer")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
