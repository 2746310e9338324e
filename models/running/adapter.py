"""A personal LoRA: weights trained on one writer's texts. An interface for now.

llama.cpp holds adapters per context, and what a context read with one adapter is worth
nothing with another. So an adapter belongs to the specialist's own context and is put
on before its first token; the base, a second context over the same weights, wears none:
that difference is the personal delta, as a history in the prompt is.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from decoding_core.errors import InvalidSettingsError


@dataclass(frozen=True, slots=True)
class PersonalAdapter:
    """A LoRA in a GGUF file."""

    path: Path
    scale: float = 1.0
    """How strongly it counts."""


class Adaptable(Protocol):
    """A context that can wear an adapter; `TextSlots` is to become one."""

    def wear(self, adapter: PersonalAdapter | None) -> None:
        """Forget what was read, and read on with the adapter, or with none.

        Raises:
            ModelError: the adapter is missing, or made for another model.
        """


def refuse_adapter(adapter: PersonalAdapter) -> None:
    """Say that no engine here is `Adaptable` yet; raises InvalidSettingsError."""
    raise InvalidSettingsError(
        f"a personal LoRA cannot be used yet; take the line that names {adapter.path} "
        "out of settings.toml"
    )
