"""Steering with one noise: the text is that of step-by-step steered sampling.

Draft and target at a position are both the argmax of their log-probabilities plus one
shared Gumbel vector. The device keeps the draft while the two agree, else it takes the
target. Whatever was drafted, the text equals plain sampling of T with that seed, token
for token, for any strength; at temperature 0 it is the argmax of T. The price is a row
of candidates at every drafted position, and a lower acceptance than the ratio rule's.
T is renormalised on the row's candidates.

Source: the Gumbel-max coupling; acceptance is at least (1 - TV)/(1 + TV).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from decoding_core.errors import DecodingError
from decoding_core.messages import Candidates
from decoding_core.methods.steering import steered
from decoding_core.sampling import Floats
from decoding_core.settings import MethodSettings


@dataclass(frozen=True, slots=True)
class Method:
    """Exact sampling of the steered target by coupling."""

    strength: float = 1.0

    name: ClassVar[str] = "coupled"
    decided_by: ClassVar[Literal["server", "device", "nobody"]] = "device"
    drafts: ClassVar[bool] = True
    uses_specialist: ClassVar[bool] = True
    uses_base: ClassVar[bool] = True
    shares_noise: ClassVar[bool] = True

    @classmethod
    def from_settings(cls, settings: MethodSettings) -> Method:
        """The method with the given parameters."""
        return cls(settings.strength)

    def acceptance(self, generalist: Floats, base: Floats) -> Floats:
        """The server does not decide."""
        raise DecodingError("the device decides in the coupled method")

    def redraw(self, specialist: Floats, row: Candidates) -> Floats:
        """The target on the row's candidates."""
        return steered(
            specialist, row.generalist_logprobs, row.base_logprobs, self.strength
        )

    def bonus(self, specialist: Floats, row: Candidates) -> Floats | None:
        """The target, as everywhere."""
        return self.redraw(specialist, row)
