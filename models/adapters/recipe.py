"""What an adapter is trained on, and how: without the libraries that train it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from decoding_core.errors import InvalidSettingsError

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lesson:
    """A text to be learnt."""

    prompts: tuple[Ids, ...]
    """What may stand before it; one for each pass, in turn."""
    text: Ids


@dataclass(frozen=True, slots=True)
class AdapterRecipe:
    """How an adapter is trained."""

    rank: int = 8
    alpha: float = 16.0
    """The change counts alpha / rank."""
    passes: int = 5
    """How often each text is read."""
    batch: int = 4
    """Texts a step."""
    rate: float = 1e-3
    """Of AdamW; it rises for a few steps and falls to zero."""
    seed: int = 0
    """Of the beginning, and of the order of the texts."""
    precision: str = "float32"
    """Of the model's weights while they are read: `float32` or `bfloat16`."""

    def __post_init__(self) -> None:
        for name, value, highest in (
            ("rank", self.rank, 512),
            ("passes", self.passes, 1000),
            ("batch", self.batch, 1024),
        ):
            if not 1 <= value <= highest:
                raise InvalidSettingsError(
                    f"{name} must lie between 1 and {highest}, not {value}"
                )
        for name, number in (("alpha", self.alpha), ("rate", self.rate)):
            if not (math.isfinite(number) and number > 0):
                raise InvalidSettingsError(f"{name} must be above 0, not {number}")
