"""The specialist alone: the device writes, no server is asked.

With history this is retrieval-augmented writing on the device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from decoding_core.methods import BaseMethod
from decoding_core.sampling import Floats


@dataclass(frozen=True, slots=True)
class Specialist(BaseMethod):
    """A baseline, and what writing offline means."""

    name: ClassVar[str] = "specialist"
    summary: ClassVar[str] = "the small model alone; nothing is sent"
    decided_by: ClassVar[Literal["server", "device", "nobody"]] = "nobody"
    needs_specialist: ClassVar[bool] = False
    needs_base: ClassVar[bool] = False
    needs_generalist: ClassVar[bool] = False

    def acceptance(self, generalist: Floats, base: Floats, threshold: float) -> Floats:
        """Every token is kept."""
        return np.ones_like(generalist)


@dataclass(frozen=True, slots=True)
class SpecialistWithoutHistory(Specialist):
    """The base alone, on the device: `specialist` less what the history adds."""

    name: ClassVar[str] = "specialist_without_history"
    summary: ClassVar[str] = "the small model alone; no history"
    reads_history: ClassVar[Literal["specialist", "nobody", "generalist"]] = "nobody"
