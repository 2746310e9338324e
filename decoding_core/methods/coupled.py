"""Steering with one noise: the text is that of step-by-step steered sampling.

Draft and target at a position are both the argmax of their log-probabilities plus one
shared Gumbel vector. The device keeps the draft while the two agree, else it takes the
target. Whatever was drafted, the text equals plain sampling of T with that seed, token
for token, for any strength; at temperature 0 it is the argmax of T. The price is a row
of candidates at every drafted position, and a lower acceptance than `lossless` has.
T is cut to the row's candidates, which do not depend on the draft.

Source: the Gumbel-max coupling; acceptance is at least (1 - TV)/(1 + TV).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from decoding_core.methods import lossless
from decoding_core.settings import MethodSettings


@dataclass(frozen=True, slots=True)
class Method(lossless.Method):
    """Exact sampling of the steered target by coupling."""

    name: ClassVar[str] = "coupled"
    summary: ClassVar[str] = "the same, token for token as step by step"
    shares_noise: ClassVar[bool] = True

    @classmethod
    def from_settings(cls, settings: MethodSettings) -> Method:
        """The method with the given parameters."""
        return cls(settings.strength)
