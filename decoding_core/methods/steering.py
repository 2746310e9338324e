"""SpecSteer: draft on the device, verify on the server, recover from both.

The target is T(v) = L(v) * (S(v)/B(v))^beta / Z. For beta = 1 the ratio T/S is
(L/B)/Z: the private distribution cancels, so the server can verify a draft without it.
Z is replaced by the threshold. What the stochastic rule then emits is a mixture,
A * S*min(L/B, threshold)/norm + (1 - A) * T, with A the share of S that is kept:
equal to T only if the threshold is no smaller than the largest L/B.

Source: SpecSteer (arXiv 2603.16219), equations 6 to 8 and appendix D.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from decoding_core.messages import Candidates
from decoding_core.methods import BaseMethod
from decoding_core.sampling import TIED, Floats, log_softmax
from decoding_core.settings import AcceptanceRule, BonusFrom, MethodSettings


def log_steered(
    specialist: Floats, generalist: Floats, base: Floats, strength: float
) -> Floats:
    """Logarithm of the target T (..., V) from log-probabilities (..., V), nats;
    equation 8."""
    if strength == 0.0:
        return log_softmax(generalist)
    return log_softmax(generalist + strength * (specialist - base))


def steered(specialist: Floats, row: Candidates, strength: float) -> Floats:
    """The target T (K,) on a row's candidates."""
    logs = log_steered(specialist, row.generalist_logprobs, row.base, strength)
    return np.asarray(np.exp(logs))


def clipped_share(log_ratio: Floats, threshold: float) -> Floats:
    """min(1, (L/B) / threshold) from log L/B (N,)."""
    if threshold == 0.0:
        return np.ones_like(log_ratio)
    return np.asarray(np.exp(np.minimum(log_ratio - np.log(threshold), 0.0)))


@dataclass(frozen=True, slots=True)
class Steering(BaseMethod):
    """SpecSteer with its published variants as flags."""

    strength: float = 1.0
    rule: AcceptanceRule = "greedy"
    bonus_from: BonusFrom = "none"

    name: ClassVar[str] = "steering"
    summary: ClassVar[str] = "the server checks your draft; the usual one"
    decided_by: ClassVar[Literal["server", "device", "nobody"]] = "server"

    @classmethod
    def from_settings(cls, settings: MethodSettings) -> Steering:
        """The method with the given parameters."""
        return cls(settings.strength, settings.acceptance_rule, settings.bonus_from)

    @property
    def delta_weight(self) -> float:
        """Beta."""
        return self.strength

    @property
    def takes_bonus(self) -> bool:
        """As the flag says."""
        return self.bonus_from != "none"

    def acceptance(self, generalist: Floats, base: Floats, threshold: float) -> Floats:
        """Greedy: 1 where L/B lies above the threshold, equality refuses.
        Stochastic: min(1, (L/B) / threshold)."""
        log_ratio = generalist - base
        if self.rule == "stochastic" or threshold == 0.0:
            return clipped_share(log_ratio, threshold)
        return np.where(log_ratio - np.log(threshold) > TIED, 1.0, 0.0)

    def target(self, specialist: Floats, row: Candidates) -> Floats:
        """T on the row's candidates."""
        return steered(specialist, row, self.strength)

    def bonus(self, specialist: Floats, row: Candidates) -> Floats:
        """T, or the generalist alone, as the flag says."""
        if self.bonus_from == "generalist":
            return np.asarray(np.exp(log_softmax(row.generalist_logprobs)))
        return self.target(specialist, row)

    def bonus_waits(self, likeliest: int, row: Candidates) -> bool:
        """A word that only this person uses is hardly ever a candidate; a bonus would
        break it off. As a draft it is a candidate. Published variants do not wait."""
        return self.bonus_from == "steered" and likeliest not in row.token_ids

    def truncation_bound(self, specialist: Floats, row: Candidates) -> float | None:
        """None: what is emitted is a mixture, for which no bound is known."""
        return None
