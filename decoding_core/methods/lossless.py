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
from typing import ClassVar, Literal, Self

from decoding_core.messages import Candidates
from decoding_core.methods import BaseMethod
from decoding_core.methods.steering import steered
from decoding_core.residual import truncation_bound
from decoding_core.sampling import Floats
from decoding_core.settings import MethodSettings


@dataclass(frozen=True, slots=True)
class Lossless(BaseMethod):
    """Exact sampling of the steered target by rejection."""

    strength: float = 1.0

    name: ClassVar[str] = "lossless"
    summary: ClassVar[str] = "exactly the steered model; the device decides"
    decided_by: ClassVar[Literal["server", "device", "nobody"]] = "device"

    @classmethod
    def from_settings(cls, settings: MethodSettings) -> Self:
        """The method with the given parameters."""
        return cls(settings.strength)

    def target(self, specialist: Floats, row: Candidates) -> Floats:
        """T on the row's candidates."""
        return steered(specialist, row, self.strength)

    def truncation_bound(self, specialist: Floats, row: Candidates) -> float | None:
        """The bound of `residual.truncation_bound`."""
        return truncation_bound(specialist, row, self.strength)


@dataclass(frozen=True, slots=True)
class Coupled(Lossless):
    """Exact sampling of the steered target by coupling: with one noise, the text is
    that of step-by-step steered sampling.

    Draft and target at a position are both the argmax of their log-probabilities plus
    one shared Gumbel vector. The device keeps the draft while the two agree, else it
    takes the target. Whatever was drafted, the text equals plain sampling of T with
    that seed, token for token, for any strength; at temperature 0 it is the argmax of
    T. The price is a lower acceptance than `lossless` has.

    Source: the Gumbel-max coupling; acceptance is at least (1 - TV)/(1 + TV).
    """

    name: ClassVar[str] = "coupled"
    summary: ClassVar[str] = "the same, token for token as step by step"
    shares_noise: ClassVar[bool] = True
