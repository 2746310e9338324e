"""The specialist alone: the device writes, no server is asked.

With history this is retrieval-augmented writing on the device; without it, the base.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from decoding_core.messages import Candidates
from decoding_core.sampling import Floats, log_softmax
from decoding_core.settings import MethodSettings


@dataclass(frozen=True, slots=True)
class Method:
    """A baseline, and what writing offline means."""

    name: ClassVar[str] = "specialist"
    decided_by: ClassVar[Literal["server", "device", "nobody"]] = "nobody"
    drafts: ClassVar[bool] = True
    uses_specialist: ClassVar[bool] = True
    uses_base: ClassVar[bool] = False
    shares_noise: ClassVar[bool] = False

    @classmethod
    def from_settings(cls, settings: MethodSettings) -> Method:
        """The method; it has no parameters of its own."""
        return cls()

    def acceptance(self, generalist: Floats, base: Floats) -> Floats:
        """Every token is kept."""
        return np.ones_like(generalist)

    def redraw(self, specialist: Floats, row: Candidates) -> Floats:
        """The specialist itself."""
        return np.asarray(np.exp(log_softmax(specialist)))

    def bonus(self, specialist: Floats, row: Candidates) -> Floats | None:
        """None: the next draft begins there."""
        return None
