"""The llama.cpp library: loaded once, quiet, with its complaints kept for errors."""

from __future__ import annotations

import ctypes
import os
from collections import deque
from functools import cache
from typing import Any

os.environ.setdefault("GGML_NO_BACKTRACE", "1")  # else an assertion starts gdb

import llama_cpp as library

_WARNING = 3
_CONTINUED = 5
_complaints: deque[str] = deque(maxlen=8)


@library.llama_log_callback  # type: ignore[untyped-decorator]
def _keep(level: int, text: bytes, _data: Any) -> None:
    if _WARNING <= level < _CONTINUED:
        _complaints.append(text.decode("utf-8", "replace").strip())


@cache
def load_library() -> Any:
    """The low-level API, with logging sent to `last_complaint`."""
    library.llama_log_set(_keep, ctypes.c_void_p(0))
    library.llama_backend_init()
    return library


def last_complaint() -> str:
    """What llama.cpp last said that was at least a warning."""
    return _complaints[-1] if _complaints else "llama.cpp gave no reason"
