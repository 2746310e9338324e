"""Where state lies: the platform's usual folder, or `SPECSTEER_HOME` if set.

If several people write under one account of a machine, each but one has a folder in it,
which `SPECSTEER_WRITER` names; they share what is of the machine.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from collections.abc import Iterable
from pathlib import Path

from platformdirs import user_data_path

from base.owner_only import close_to_others, exposure, make_folder
from decoding_core.errors import InvalidSettingsError
from decoding_core.foreign_text import one_line

WRITER_VARIABLE = "SPECSTEER_WRITER"
WRITERS = "writers"  # the folder of those who write besides the one
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def state_folder() -> Path:
    """The folder of a writer's store, drafts, ledger and settings; made if absent, for
    the user's eyes only. Raises InvalidSettingsError if it cannot be made, or the
    writer's name cannot name a folder."""
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
    """The folder of what all writers share, such as pulled models; made if absent, for
    the user's eyes only. One that is open to others is closed, if it is the usual one
    or empty: `SPECSTEER_HOME` may name a folder that holds other things. Raises
    InvalidSettingsError if it cannot be made."""
    home = os.environ.get("SPECSTEER_HOME")
    folder = Path(home) if home else user_data_path("specsteer")
    try:
        folder = folder.expanduser()
        make_folder(folder)
        # A folder such as /tmp is shared on purpose.
        shared = home and folder.stat().st_mode & stat.S_ISVTX
        if not home or not (shared or any(folder.iterdir())):
            close_to_others(folder)
    except (OSError, RuntimeError) as error:
        raise InvalidSettingsError(
            f"the folder {folder} cannot be made; SPECSTEER_HOME can name another"
        ) from error
    return folder


def check_private(folder: Path, inner: Iterable[Path]) -> str:
    """A sentence that a folder and these paths in it are for their owner alone. Raises
    InvalidSettingsError that names those which others reach: in a closed folder, only
    what a link leads to."""
    if os.name == "nt":
        return f"who else can read {folder} is not looked at on Windows"
    exposes = bool(exposure(folder))
    reachable = [path for path in inner if exposes or path.is_symlink()]
    exposed = {path: how for path in (folder, *reachable) if (how := exposure(path))}
    if exposed:
        paths = " ".join(shlex.quote(str(path)) for path in exposed)
        raise InvalidSettingsError(
            "; ".join(f"{path} {how}" for path, how in exposed.items())
            + f". 'chmod go= {paths}' hides what is yours; what is another "
            "user's does not belong here"
        )
    return f"{folder} is for your eyes alone"
