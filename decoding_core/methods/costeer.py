"""CoSteer: every token is steered, nothing is drafted.

Its loop of T steps is linear in log space, so it collapses to steering with a strength:
log pi_T = log L + c_T * beta * (log S - log B) + const, where c_0 = 0 and
c_t = (t + alpha * sum of c_i for i < t + c_{t-1}/eta) / (t*lambda + 1/eta).

Source: CoSteer (arXiv 2507.04756), equation 7, and its defaults.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from decoding_core.errors import InvalidSettingsError
from decoding_core.messages import Candidates
from decoding_core.methods import BaseMethod
from decoding_core.methods.steering import steered
from decoding_core.residual import truncation_bound
from decoding_core.sampling import Floats
from decoding_core.settings import STRENGTH_LIMIT, MethodSettings

STEPS, LIGHT_STEPS = 20, 1  # the papers' T, of CoSteer and of LightCoSteer


def steps_as_strength(
    steps: int, *, alpha: float = 2.0, lam: float = 2.0, eta: float = 10.0
) -> float:
    """c_T: the strength that `steps` of the loop amount to."""
    total, last = 0.0, 0.0
    for step in range(1, steps + 1):
        total += last
        last = (step + alpha * total + last / eta) / (step * lam + 1.0 / eta)
    return last


def looped_strength(settings: MethodSettings, steps: int) -> float:
    """c_T * beta, with the settings' alpha, lambda and eta. Raises InvalidSettingsError
    if it is more than any strength may be."""
    found = settings.strength * steps_as_strength(
        steps,
        alpha=settings.costeer_alpha,
        lam=settings.costeer_lambda,
        eta=settings.costeer_eta,
    )
    if not found <= STRENGTH_LIMIT:
        raise InvalidSettingsError(
            f"these settings of costeer amount to a strength of {found:.4g}, and "
            f"{STRENGTH_LIMIT:g} is the highest: take fewer steps, a lower alpha or "
            "strength, or a higher lambda"
        )
    return found


@dataclass(frozen=True, slots=True)
class CoSteer(BaseMethod):
    """Step-by-step steering with CoSteer's strength."""

    strength: float = steps_as_strength(STEPS)

    name: ClassVar[str] = "costeer"
    summary: ClassVar[str] = "every token is steered, in steps; a trip each"
    decided_by: ClassVar[Literal["server", "device", "nobody"]] = "server"
    drafts: ClassVar[bool] = False

    @classmethod
    def from_settings(cls, settings: MethodSettings) -> CoSteer:
        """The method; the strength counts as the paper's beta."""
        return cls(looped_strength(settings, settings.costeer_steps))

    def target(self, specialist: Floats, row: Candidates) -> Floats:
        """The steered distribution on the row's candidates."""
        return steered(specialist, row, self.strength)

    def truncation_bound(self, specialist: Floats, row: Candidates) -> float | None:
        """The bound of `residual.truncation_bound`, at this strength."""
        return truncation_bound(specialist, row, self.strength)


@dataclass(frozen=True, slots=True)
class LightCoSteer(CoSteer):
    """Step-by-step steering with the strength of one step, beta / (lambda + 1 / eta),
    which is 0.476190 times beta unless set otherwise."""

    strength: float = steps_as_strength(LIGHT_STEPS)

    name: ClassVar[str] = "lightcosteer"
    summary: ClassVar[str] = "every token is steered, 1 step; a trip each"

    @classmethod
    def from_settings(cls, settings: MethodSettings) -> LightCoSteer:
        """The method; the strength counts as the paper's beta."""
        return cls(looped_strength(settings, LIGHT_STEPS))
