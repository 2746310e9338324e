"""A personal LoRA: weights trained on one writer's texts.

An engine holds adapters per context, and what a context read with one adapter is worth
nothing with another. So an adapter belongs to the specialist's own context and is put
on before its first token; the base, a second context over the same weights, wears none:
that difference is the personal delta, as a history in the prompt is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from decoding_core.errors import InvalidSettingsError

ADAPTER_FILE = "adapter.gguf"
"""The name of the GGUF file in the folder of an adapter that was trained here."""
_STRONGEST = 100.0


@dataclass(frozen=True, slots=True)
class PersonalAdapter:
    """A LoRA: a GGUF file, or a folder as peft writes it, which may hold both."""

    path: Path
    scale: float = 1.0
    """How strongly it counts; 0 is as without it."""

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
