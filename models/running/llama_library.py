"""llama.cpp's low-level API as a library, with its log kept."""

from __future__ import annotations

import ctypes
import os
from collections import deque
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("GGML_NO_BACKTRACE", "1")  # else an assertion starts gdb
if "OMP_WAIT_POLICY" not in os.environ:
    # libgomp's threads spin while they wait for each other, by default so long that two
    # models on the same cores took six times as long over their prompts in every third
    # run (docs/log.md). So many turns are enough within a step.
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")

import llama_cpp as library

_WARNING, _CONTINUED = 3, 5  # levels of llama.cpp's log
_complaints: deque[str] = deque(maxlen=8)


@library.llama_log_callback  # type: ignore[untyped-decorator]
def _keep(level: int, text: bytes, _data: Any) -> None:
    if _WARNING <= level < _CONTINUED:
        _complaints.append(text.decode("utf-8", "replace").strip())


@cache
def load_library() -> Any:
    """Load the API and redirect its log to `last_complaint`."""
    library.llama_log_set(_keep, ctypes.c_void_p(0))
    library.llama_backend_init()
    common_kernels()  # else llama.cpp's description of itself changes when they come
    return library


@cache
def common_kernels() -> int | None:
    """llama.cpp's device of the kernels for AVX2, which give the same bits on every
    processor that has it; None if it has not, or if this build has no such library.
    The other devices are registered before."""
    folder = Path(library.__file__).parent / "lib"
    kernels = folder / "libggml-cpu-haswell.so"
    if not kernels.exists():
        return None
    load = ctypes.CDLL(str(folder / "libggml.so")).ggml_backend_load
    device = ctypes.CDLL(str(folder / "libggml-base.so")).ggml_backend_reg_dev_get
    load.restype = device.restype = ctypes.c_void_p
    registry = load(str(kernels).encode())
    return device(ctypes.c_void_p(registry), ctypes.c_size_t(0)) if registry else None


def last_complaint() -> str:
    """The last warning or error that llama.cpp logged."""
    return _complaints[-1] if _complaints else "llama.cpp gave no reason"
