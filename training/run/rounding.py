"""Weights rounded as the exported file will hold them, while they are still learnt.

The last part of a run computes with rounded weights and corrects the exact ones by the
gradients found there (straight-through; Courbariaux and others, 2015). What is learnt
then is what the file holds: quantising costs next to nothing afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from decoding_core.errors import InvalidSettingsError
from training.config import Export

_BLOCK = 32
"""Weights that share a scale in all of these kinds."""


def rounded(weights: Tensor, kind: str) -> Tensor:
    """The weights, rows a multiple of 32 long, as llama.cpp's `kind` holds them.

    Raises:
        InvalidSettingsError: this kind cannot be rounded to here.
    """
    if kind not in _KINDS:
        known = ", ".join(_KINDS)
        raise InvalidSettingsError(
            f"weights cannot be learnt as {kind}, only as {known}: set round_from = 1"
        )
    blocks = weights.reshape(-1, _BLOCK).float()
    return _KINDS[kind](blocks).reshape(weights.shape).type_as(weights)


@contextmanager
def as_exported(network: nn.Module, export: Export) -> Iterator[None]:
    """Let all matrices be their rounded selves for a while; gradients found meanwhile
    stay with the exact ones."""
    exact = {}
    for name, weight in network.named_parameters():
        if weight.ndim == 2:
            exact[weight] = weight.data
            weight.data = rounded(weight.data, kind_of(name, export))
    try:
        yield
    finally:
        for weight, values in exact.items():
            weight.data = values


def kind_of(name: str, export: Export) -> str:
    """The kind in which a matrix of this name is written."""
    if name.startswith("embedding"):
        return export.embedding
    if name.endswith("down.weight"):
        return export.down or export.matrices
    return export.matrices


def _signed(levels: int) -> Callable[[Tensor], Tensor]:
    """Whole steps from -levels to levels - 1, the largest weight at -levels."""

    def apply(blocks: Tensor) -> Tensor:
        largest = blocks.gather(1, blocks.abs().argmax(1, keepdim=True))
        step = largest / -levels
        scaled = blocks * _inverse(step) + (levels + 0.5)
        whole = scaled.trunc().clamp(max=2 * levels - 1) - levels
        return whole * step.half().float()

    return apply


def _even(blocks: Tensor) -> Tensor:
    """Whole steps from -127 to 127."""
    step = blocks.abs().amax(1, keepdim=True) / 127
    scaled = blocks * _inverse(step)
    # Halves go away from zero, as in C.
    whole = scaled.sign() * (scaled.abs() + 0.5).floor()
    return whole * step.half().float()


def _inverse(step: Tensor) -> Tensor:
    return torch.where(step == 0, 0.0, 1.0 / step)


_KINDS: dict[str, Callable[[Tensor], Tensor]] = {
    "Q4_0": _signed(8),
    "Q5_0": _signed(16),
    "Q8_0": _even,
    "F32": lambda blocks: blocks,
}
