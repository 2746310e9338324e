"""A low-rank change of a model's weights: W + scale * alpha / rank * B A.

`Lora` holds the matrices in the order of rows that Hugging Face has. llama.cpp's files
of the architecture `llama` hold the rows of the query and key matrices in another one,
as its rotation pairs neighbours where theirs pairs halves; `permuted` goes there and
`unpermuted` back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]

_PARTS = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
"""The matrices of a layer: llama.cpp's names, and Hugging Face's."""
TARGETS = tuple(name.partition(".")[2] for name in _PARTS.values())
"""What training puts an adapter on."""
_GGUF = re.compile(rf"blk\.([0-9]{{1,4}})\.({'|'.join(_PARTS)})\.weight")
_HUGGING_FACE = re.compile(
    rf"model\.layers\.([0-9]{{1,4}})\.({'|'.join(map(re.escape, _PARTS.values()))})"
)
_OURS = {theirs: ours for ours, theirs in _PARTS.items()}
ARCHITECTURES = {
    "llama": "llama",
    "mistral": "llama",
    "qwen2": "qwen2",
    "qwen3": "qwen3",
    "gemma2": "gemma2",
    "gemma3_text": "gemma3",
}
"""llama.cpp's name for each `model_type` of Hugging Face whose layers hold these
matrices by these names."""


@dataclass(frozen=True, slots=True)
class Heads:
    """How many heads of attention a layer has."""

    query: int
    key: int


@dataclass(frozen=True, slots=True, eq=False)
class Lora:
    """The matrices of a LoRA, by Hugging Face's names of those they change."""

    alpha: float
    rank: int
    matrices: Mapping[str, tuple[Matrix, Matrix]]
    """A (rank, in) and B (out, rank)."""

    @property
    def strength(self) -> float:
        """What B A counts, before the person's own scale."""
        return self.alpha / self.rank


def gguf_name(module: str) -> str | None:
    """llama.cpp's name for the weight of a module such as
    `model.layers.0.self_attn.q_proj`; None where it is no matrix of a layer."""
    match = _HUGGING_FACE.fullmatch(module)
    return match and f"blk.{int(match[1])}.{_OURS[match[2]]}.weight"


def module_name(weight: str) -> str | None:
    """The module of a weight by llama.cpp's name such as `blk.0.attn_q.weight`; None
    where it is no matrix of a layer."""
    match = _GGUF.fullmatch(weight)
    return match and f"model.layers.{int(match[1])}.{_PARTS[match[2]]}"


def permuted(weight: str, b: Matrix, architecture: str, heads: Heads) -> Matrix:
    """B (out, rank) of a weight by llama.cpp's name, its rows in llama.cpp's order.

    Source: `permute` in llama.cpp's convert_hf_to_gguf.py.
    """
    count = _rotated(weight, architecture, heads)
    if not count:
        return b
    halves = b.reshape(count, 2, len(b) // count // 2, -1)
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(b.shape))


def unpermuted(weight: str, b: Matrix, architecture: str, heads: Heads) -> Matrix:
    """B (out, rank) in Hugging Face's order of rows: undoes `permuted`."""
    count = _rotated(weight, architecture, heads)
    if not count:
        return b
    pairs = b.reshape(count, len(b) // count // 2, 2, -1)
    return np.ascontiguousarray(pairs.swapaxes(1, 2).reshape(b.shape))


def _rotated(weight: str, architecture: str, heads: Heads) -> int:
    """How many heads the rows of a weight belong to, if they are in another order; 0 if
    they are not."""
    if architecture != "llama":
        return 0
    if weight.endswith(".attn_q.weight"):
        return heads.query
    return heads.key if weight.endswith(".attn_k.weight") else 0
