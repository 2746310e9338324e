"""Quantising a GGUF file with llama.cpp."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import gguf
import llama_cpp

from decoding_core.errors import InvalidSettingsError, ModelError
from training.config import Export

_K_SUFFIX = {"Q3_K": "_M", "Q4_K": "_M", "Q5_K": "_M"}
"""llama.cpp names a mixture after its main kind; `pure` leaves only that."""
_THREADS = 2


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _silence(_level: int, _text: bytes, _data: Any) -> None:
    """llama.cpp tells of every tensor; the caller hears of failures anyway."""


def quantise(source: Path, target: Path, kinds: Export) -> None:
    """Write `source` with its matrices in these kinds, norms in 32 bits.

    Raises:
        InvalidSettingsError: a kind that does not exist, or not for rows this long.
    """
    settings = llama_cpp.llama_model_quantize_default_params()
    _tensor_type(kinds.matrices)
    kind = kinds.matrices
    name = "ALL_F32" if kind == "F32" else f"MOSTLY_{kind}{_K_SUFFIX.get(kind, '')}"
    settings.ftype = getattr(llama_cpp, f"LLAMA_FTYPE_{name}")
    settings.pure = True
    settings.nthread = _THREADS
    pairs = [("^token_embd", kinds.embedding), ("ffn_down", kinds.down)]
    given = [(pattern, kind) for pattern, kind in pairs if kind]
    # The name keeps the array alive; its last entry is empty and ends it.
    overrides = (llama_cpp.llama_model_tensor_override * (len(given) + 1))()
    for place, (pattern, kind) in zip(overrides, given, strict=False):
        place.pattern, place.type = pattern.encode(), _tensor_type(kind)
    settings.tt_overrides = overrides
    llama_cpp.llama_log_set(_silence, ctypes.c_void_p(0))
    failed = llama_cpp.llama_model_quantize(
        str(source).encode(), str(target).encode(), settings
    )
    if failed:
        raise ModelError(f"{source} could not be quantised")
    # llama.cpp silently takes another kind where rows are too short for one.
    for name, kind in kinds_in(target).items():
        if kind != wanted(name, kinds):
            raise InvalidSettingsError(
                f"{name} cannot be {wanted(name, kinds)}, llama.cpp made it {kind}: "
                "choose another kind in [export]"
            )


def kinds_in(path: Path) -> dict[str, str]:
    """The kind of each matrix in a file, by the matrix's name."""
    tensors = gguf.GGUFReader(path).tensors
    return {t.name: t.tensor_type.name for t in tensors if len(t.shape) > 1}


def wanted(name: str, kinds: Export) -> str:
    """The kind that a matrix is to have."""
    if name == "token_embd.weight":
        return kinds.embedding
    if name.endswith("ffn_down.weight"):
        return kinds.down or kinds.matrices
    return kinds.matrices


def _tensor_type(kind: str) -> int:
    if kind not in gguf.GGMLQuantizationType.__members__:
        raise InvalidSettingsError(f"{kind} is no kind of quantisation")
    return int(gguf.GGMLQuantizationType[kind])
