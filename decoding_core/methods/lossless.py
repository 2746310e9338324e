"""Exact sampling of the steered target: the device decides.

The server sends L and B for candidates at every drafted position. The device forms T
on them, keeps a draft x with min(1, T(x)/S(x)) and else draws from the positive part
of T - S; after a full block it draws T. What is emitted is T cut to the candidates, for
any strength; what the cut can cost is bounded and reported. No rule keeps more: a draft
stays with probability 1 - TV(S, T).

The candidates are the likeliest by the generalist alone. The drafted token is not added
to them, so the cut does not depend on what was drafted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from decoding_core.base import BaseMethod
from decoding_core.messages import Candidates
from decoding_core.methods.steering import steered
from decoding_core.residual import truncation_bound
from decoding_core.sampling import Floats
from decoding_core.settings import MethodSettings


@dataclass(frozen=True, slots=True)
class Method(BaseMethod):
    """Exact sampling of the steered target by rejection."""

    strength: float = 1.0

    name: ClassVar[str] = "lossless"
    summary: ClassVar[str] = "exactly the steered model; the device decides"
    decided_by: ClassVar[Literal["server", "device", "nobody"]] = "device"

    @classmethod
    def from_settings(cls, settings: MethodSettings) -> Method:
        """The method with the given parameters."""
        return cls(settings.strength)

    def target(self, specialist: Floats, row: Candidates) -> Floats:
        """T on the row's candidates."""
        return steered(specialist, row, self.strength)

    def truncation_bound(self, specialist: Floats, row: Candidates) -> float | None:
        """The bound of `residual.truncation_bound`."""
        return truncation_bound(specialist, row, self.strength)
