"""What a run computes on, and what that machine does fast."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

_FAST_FLAGS = {"amx_bf16", "avx512_bf16"}
"""What Linux says of a CPU that computes in bfloat16 by itself."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What a run computes on."""

    device: str = "cpu"
    threads: int = 0
    """0: as many as torch takes by itself."""
    compiled: bool = False
    """Whether torch compiles the network first."""


def fast_bfloat16(device: torch.device, cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether 16 bits are faster than 32; without such units they are far slower."""
    if device.type == "cuda":
        import torch

        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu" or not cpuinfo.exists():
        return False
    return bool(_FAST_FLAGS & set(cpuinfo.read_text("utf-8").split()))
