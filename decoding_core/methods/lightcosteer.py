"""LightCoSteer: CoSteer with one step, a strength of beta / (lambda + 1 / eta), which
is 0.476190 times beta unless set otherwise.

Source: CoSteer (arXiv 2507.04756), its light variant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from decoding_core.methods import costeer
from decoding_core.settings import MethodSettings

STEPS = 1


@dataclass(frozen=True, slots=True)
class Method(costeer.Method):
    """Step-by-step steering with LightCoSteer's strength."""

    strength: float = costeer.steps_as_strength(STEPS)

    name: ClassVar[str] = "lightcosteer"
    summary: ClassVar[str] = "every token is steered, 1 step; a trip each"

    @classmethod
    def from_settings(cls, settings: MethodSettings) -> Method:
        """The method; the strength counts as the paper's beta."""
        return cls(costeer.looped_strength(settings, STEPS))
