"""The contrast of CoPe: the specialist's own delta steers the specialist; no server.

T(v) = S(v) * (S(v)/B(v))^strength / Z on the tokens that are plausible,
S(v) >= plausibility * max S, and 0 elsewhere: where both models think a token absurd,
their ratio is noise. Generalist and candidates play no part; the base runs on this
device and gives its opinion of the whole vocabulary. Drafts of the specialist stay with
min(1, T/S), so what comes out is T.

CoPe scores log S - a * log B with a = 0.1. At temperature 0 that is this method at the
strength a / (1 - a).

Source: CoPe (scripts/OPPU_sft+dpo.py, `contrastive_decoding`: a = 0.1, plausibility
0.1); the cut is that of contrastive decoding (Li et al. 2022, arXiv 2210.15097).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from decoding_core.messages import Candidates
from decoding_core.methods import BaseMethod
from decoding_core.methods.steering import log_steered
from decoding_core.sampling import TIED, Floats, log_softmax
from decoding_core.settings import MethodSettings


def plausible(specialist: Floats, share: float) -> Floats:
    """Which tokens have at least `share` of the largest probability, as 0 and minus
    infinity (V,), from log-probabilities (V,) that may lack a constant."""
    if share == 0.0:
        return np.zeros_like(specialist)
    least = specialist.max() + np.log(share) - TIED
    return np.where(specialist >= least, 0.0, -np.inf)


@dataclass(frozen=True, slots=True)
class Contrast(BaseMethod):
    """Exact sampling of the contrast of specialist and base."""

    strength: float = 1.0
    plausibility: float = 0.1

    name: ClassVar[str] = "contrast"
    summary: ClassVar[str] = "the small model against itself; nothing is sent"
    decided_by: ClassVar[Literal["server", "device", "nobody"]] = "device"
    needs_generalist: ClassVar[bool] = False

    @classmethod
    def from_settings(cls, settings: MethodSettings) -> Contrast:
        """The method with the given parameters."""
        return cls(settings.strength, settings.plausibility)

    def target(self, specialist: Floats, row: Candidates) -> Floats:
        """T on the row's tokens."""
        logs = log_steered(specialist, specialist, row.base, self.strength)
        cut = plausible(specialist, self.plausibility)
        return np.asarray(np.exp(log_softmax(logs + cut)))

    def truncation_bound(self, specialist: Floats, row: Candidates) -> float | None:
        """Nothing: the row is the whole vocabulary."""
        return 0.0
