"""The command that adds an optional part of this project to where it runs.

Never `pip install specsteer[...]`: the project lies on no index, where anybody could
take that name. A clone is installed from its own folder; elsewhere, the libraries that
the part consists of are named.
"""

import shlex
import sys
from pathlib import Path

_ROOT = Path(__file__).absolute().parent.parent


def how_to_add(extra: str) -> str:
    """The command for an extra of pyproject.toml, to be typed as it stands."""
    if (_ROOT / "pyproject.toml").is_file():
        return how_to_install("--editable", f"{_ROOT}[{extra}]")
    from importlib import metadata  # seldom reached, and 20 ms to import

    wanted = f"extra == '{extra}'"
    required = (one.partition(";") for one in metadata.requires("specsteer") or [])
    return how_to_install(
        *(name for name, _, when in required if wanted in when.replace('"', "'"))
    )


def how_to_install(*words: str) -> str:
    """The command for these arguments of `pip install`, and for the Python that runs
    now; with `-P`, nothing in the current folder stands in for pip."""
    python = sys.executable or "python"
    return shlex.join([python, "-P", "-m", "pip", "install", *words])
