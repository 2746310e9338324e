"""Where state lies: the platform's usual folder, or `SPECSTEER_HOME` when set.

Where several people write under one account of a machine, each but one has a folder in
it, which `SPECSTEER_WRITER` names; what is of the machine they share.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from platformdirs import user_data_path

from base.owner_only import close_to_others, make_folder
from decoding_core.errors import InvalidSettingsError
from decoding_core.foreign_text import one_line

WRITER_VARIABLE = "SPECSTEER_WRITER"
WRITERS = "writers"
"""The folder of those who write besides the one."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def state_folder() -> Path:
    """The folder of a writer's store, drafts, ledger and settings; made if absent, for
    the user's eyes only.

    Raises:
        InvalidSettingsError: it cannot be made, or the writer has no name for a folder.
    """
    name, machine = os.environ.get(WRITER_VARIABLE, ""), machine_folder()
    if not name:
        return machine
    if not _NAME.fullmatch(name):
        raise InvalidSettingsError(
            f"a writer's name has letters, digits, - and _ only, not {one_line(name)!r}"
        )
    folder = machine / WRITERS / name.lower()
    try:
        make_folder(folder)
    except OSError as error:
        raise InvalidSettingsError(f"the folder {folder} cannot be made") from error
    return folder


def machine_folder() -> Path:
    """The folder of what all writers share, such as models that were pulled; made if
    absent, for the user's eyes only. One that was open to others is closed, if it is
    the usual one or empty: `SPECSTEER_HOME` may name a folder that holds other things.

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
