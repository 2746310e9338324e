"""Isolated Python child processes.

A plain `python -m` searches the current folder first: a `json.py` there would run in
place of the library's, and could read every variable. Our children are started isolated
(`-I`), work in the folder of this code, import what this process imports, and get a
short list of variables. Secrets go through their pipe.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).absolute().parent
# Looked up now: the name may be relative to a folder that is left later.
_PYTHON = Path(sys.executable).absolute() if sys.executable else Path()
_START = """\
import sys
from importlib import import_module
end = 2 + int(sys.argv[1])
path = sys.argv[2:end]
sys.path[:] = path + [folder for folder in sys.path if folder not in path]
module, function = sys.argv[end].split(":")
sys.argv = sys.argv[end:]
sys.exit(getattr(import_module(module), function)())
"""
_KEPT = {
    *("HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER"),
    *("SPECSTEER_EXTRA_BUFFERS", "SPECSTEER_HOME", "SPECSTEER_THREADS"),
    # Where a llama.cpp that was built for a GPU finds its libraries.
    *("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
    # Windows.
    *("APPDATA", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "PATHEXT", "SYSTEMROOT"),
    *("TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR"),
}
_KEPT_BEGINNINGS = (
    *("LC_", "XDG_", "MALLOC_"),
    *("OMP_", "GOMP_", "KMP_", "OPENBLAS_", "MKL_", "VECLIB_"),  # threads
    *("CUDA_", "NVIDIA_", "HIP_", "HSA_", "ROCR_", "GGML_", "GPU_", "ZE_", "ONEAPI_"),
)


def start(
    entry: str, *arguments: str, more: Mapping[str, str] | None = None, **streams: Any
) -> subprocess.Popen[Any]:
    """Start a process that exits with what `package.module:function` returns, with
    `arguments` as its `sys.argv[1:]` and `more` variables; Popen takes `streams`."""
    path = _search_path()
    flags = ["-I", "-X", "utf8", *["-B"] * sys.dont_write_bytecode]
    return subprocess.Popen(
        [str(_PYTHON), *flags, "-c", _START, str(len(path)), *path, entry, *arguments],
        cwd=_FOLDER,
        env={**environment(), **(more or {})},
        **streams,
    )


def environment() -> dict[str, str]:
    """The variables of a child: those that Python, llama.cpp and we need by name;
    never a passphrase or a token."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in _KEPT or name.startswith(_KEPT_BEGINNINGS)
    }
    home = kept.get("SPECSTEER_HOME")
    if home:
        with suppress(RuntimeError):  # nobody has such a home: the child says so
            kept["SPECSTEER_HOME"] = str(Path(home).expanduser().absolute())
    if "PATH" in kept:
        folders = kept["PATH"].split(os.pathsep)
        kept["PATH"] = os.pathsep.join(f for f in folders if Path(f).is_absolute())
    return kept


def _search_path() -> list[str]:
    """Where this process imports from, without the current folder unless it holds our
    code."""
    try:
        here = Path.cwd()
    except OSError:  # it was removed
        return [folder for folder in sys.path if Path(folder).is_absolute()]
    folders = [Path(folder).absolute() for folder in sys.path]
    return [str(f) for f in folders if f == _FOLDER.parent or f != here]
