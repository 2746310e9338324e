"""The generalist alone: every token from the large model, nothing drafted.

The specialist and its history play no part. Each token costs a round trip, and is
drawn from the row of candidates that the server sends: at temperature 0 this is the
generalist's own argmax; above, the tail beyond the K candidates is never drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from decoding_core.base import BaseMethod
from decoding_core.messages import Candidates
from decoding_core.residual import left_out_of_generalist
from decoding_core.sampling import Floats, log_softmax
from decoding_core.settings import MethodSettings


@dataclass(frozen=True, slots=True)
class Method(BaseMethod):
    """A baseline: what the server would write without the device."""

    name: ClassVar[str] = "generalist"
    summary: ClassVar[str] = "the large model alone; no history"
    decided_by: ClassVar[Literal["server", "device", "nobody"]] = "server"
    drafts: ClassVar[bool] = False
    needs_specialist: ClassVar[bool] = False
    needs_base: ClassVar[bool] = False

    @classmethod
    def from_settings(cls, settings: MethodSettings) -> Method:
        """The method; it has no parameters of its own."""
        return cls()

    def target(self, specialist: Floats, row: Candidates) -> Floats:
        """The generalist on the row's candidates."""
        return np.asarray(np.exp(log_softmax(row.generalist_logprobs)))

    def truncation_bound(self, specialist: Floats, row: Candidates) -> float | None:
        """What the generalist gives to other tokens."""
        return left_out_of_generalist(row)
