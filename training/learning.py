"""AdamW, rounded weights, and what the machine computes fast."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.optim import AdamW

from decoding_core.errors import InvalidSettingsError
from training.config import Export, Schedule

_FAST_FLAGS = {"amx_bf16", "avx512_bf16"}
"""What Linux says of a CPU that computes in bfloat16 by itself."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What a run computes on."""

    device: str = "cpu"
    threads: int = 0  # 0: as many as torch takes by itself
    compiled: bool = False  # whether torch compiles the network first


def fast_bfloat16(device: torch.device, cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether 16 bits are faster than 32; without such units they are far slower."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu" or not cpuinfo.exists():
        return False
    return bool(_FAST_FLAGS & set(cpuinfo.read_text("utf-8").split()))


_BETAS = (0.9, 0.95)
_DECAY = 0.01  # weight decay of the matrices; norms have none


def optimiser(network: nn.Module, rate: float) -> AdamW:
    """AdamW for all weights of a network."""
    weights = list(network.parameters())
    matrices = [weight for weight in weights if weight.ndim == 2]
    others = [weight for weight in weights if weight.ndim != 2]
    groups = [
        {"params": matrices, "weight_decay": _DECAY},
        {"params": others, "weight_decay": 0.0},
    ]
    return AdamW(groups, lr=rate, betas=_BETAS, fused=True)


def rate_at(tokens: int, schedule: Schedule) -> float:
    """Learning rate after `tokens`: up in a line, then down along a cosine."""
    if tokens < schedule.warmup:
        risen = (tokens + schedule.batch) / (schedule.warmup + schedule.batch)
        return schedule.rate * risen
    share = (tokens - schedule.warmup) / max(1, schedule.tokens - schedule.warmup)
    falling = 0.5 * (1 + math.cos(math.pi * min(share, 1.0)))
    return schedule.rate * (schedule.floor + (1 - schedule.floor) * falling)


_BLOCK = 32  # weights that share a scale in all of these kinds


def rounded(weights: Tensor, kind: str) -> Tensor:
    """The weights, rows a multiple of 32 long, as llama.cpp's `kind` holds them. Raises
    InvalidSettingsError if this kind cannot be rounded to here."""
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
