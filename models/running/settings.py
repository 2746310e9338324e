"""How a model is run on this machine, and with which personal LoRA.

An engine holds adapters per context, and what a context read with one adapter is
invalid with another. So an adapter belongs to the specialist's own context from its
first token; the base, a second context over the same weights, has none: the difference
is the personal delta, as with a history in the prompt."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from decoding_core.errors import InvalidSettingsError

DEVICES = ("auto", "cpu", "cuda", "mps")
PRECISIONS = ("auto", "float32", "bfloat16")
_MOST_THREADS = 512  # llama.cpp's own limit, which it does not check


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_threads() -> int:
    """Half of the cores: the screen, the socket and the other model need the rest, and
    llama.cpp's threads spin while they wait."""
    return min(max(1, usable_cores() // 2), _MOST_THREADS)


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Settings of an engine; equal on device and server where figures must agree."""

    engine: str = "auto"
    """A module of `models.engines`; auto: the one that the model's files ask for."""
    device: str = "auto"
    """Where transformers computes: cpu, cuda, mps; auto: the fastest of them here."""
    precision: str = "auto"
    """The numbers of transformers' computing and of llama.cpp's cache: float32,
    bfloat16; auto: float32 on a CPU and bfloat16 elsewhere, float16 in the cache."""
    threads: int | None = None
    """None: half of the cores until `machine.fit_threads` finds a better number."""
    gpu_layers: int | None = None
    """Layers that llama.cpp runs on Metal or CUDA, -1 for all. None: all if its build
    finds such a device, else none."""
    flash_attention: bool = False
    """Off on CPUs, where it is up to four times slower at long context."""
    extra_buffers: bool | None = None
    """Repacked and AMX weights. None: on if a trial showed that they work."""
    kv_tokens: int | None = None
    """Tokens of all texts of a model together, in one pool of llama.cpp; None: a cache
    of its own for each text."""
    exact: bool = False
    """Never decode a single token, so that a block and single steps give the same
    bits (F16, Q8_0, Q5_0 and Q4_0 on x86), of every processor with AVX2 if llama.cpp
    has kernels for that alone. Each single step then costs about that of two tokens."""

    @property
    def thread_count(self) -> int:
        """How many threads a context begins with."""
        return default_threads() if self.threads is None else self.threads

    def __post_init__(self) -> None:
        for name, value, lowest, highest in (
            ("threads", self.thread_count, 1, _MOST_THREADS),
            ("gpu_layers", self.gpu_layers or 0, -1, 10_000),
        ):
            if not lowest <= value <= highest:
                raise InvalidSettingsError(
                    f"{name} must lie between {lowest} and {highest}, not {value}"
                )
        for name, word, choices in (
            ("device", self.device, DEVICES),
            ("precision", self.precision, PRECISIONS),
        ):
            if word not in choices:
                raise InvalidSettingsError(
                    f"{name} must be one of {', '.join(choices)}, not {word!r}"
                )


ADAPTER_FILE = "adapter.gguf"
"""The name of the GGUF file in the folder of an adapter that was trained here."""
_STRONGEST = 100.0


@dataclass(frozen=True, slots=True)
class PersonalAdapter:
    """A LoRA: a GGUF file, or a folder as peft writes it, which may hold both."""

    path: Path
    scale: float = 1.0  # how strongly it counts; 0: not at all

    def __post_init__(self) -> None:
        if not (math.isfinite(self.scale) and abs(self.scale) <= _STRONGEST):
            raise InvalidSettingsError(
                f"lora_scale must lie between {-_STRONGEST:g} and {_STRONGEST:g}, not "
                f"{self.scale}"
            )

    @property
    def name(self) -> str:
        """For the screen: that of the folder, or of the file."""
        return self.path.name if self.path.is_dir() else self.path.stem

    @property
    def file(self) -> Path:
        """The GGUF file."""
        return self.path / ADAPTER_FILE if self.path.is_dir() else self.path
