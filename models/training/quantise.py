"""Quantising a GGUF file with llama.cpp."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import llama_cpp

from decoding_core.errors import ModelError


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _silence(_level: int, _text: bytes, _data: Any) -> None:
    """llama.cpp tells of every tensor; the caller hears of failures anyway."""


def quantise(source: Path, target: Path) -> None:
    """Write `source` as Q8_0, the one kind that computes alike in every batch."""
    llama_cpp.llama_log_set(_silence, ctypes.c_void_p(0))
    settings = llama_cpp.llama_model_quantize_default_params()
    settings.ftype = llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0
    settings.nthread = 1
    failed = llama_cpp.llama_model_quantize(
        str(source).encode(), str(target).encode(), settings
    )
    if failed:
        raise ModelError(f"{source} could not be quantised")
