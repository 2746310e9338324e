"""The generalist alone: every token from the large model, nothing drafted.

The specialist and its history play no part. Each token costs a round trip, and is
drawn from the row of candidates that the server sends: at temperature 0 this is the
generalist's own argmax; above, the tail beyond the K candidates is never drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from decoding_core.errors import DecodingError
from decoding_core.messages import Candidates
from decoding_core.sampling import Floats, log_softmax
from decoding_core.settings import MethodSettings


@dataclass(frozen=True, slots=True)
class Method:
    """A baseline: what the server would write without the device."""

    name: ClassVar[str] = "generalist"
    decided_by: ClassVar[Literal["server", "device", "nobody"]] = "server"
    drafts: ClassVar[bool] = False
    uses_specialist: ClassVar[bool] = False
    uses_base: ClassVar[bool] = False
    shares_noise: ClassVar[bool] = False

    @classmethod
    def from_settings(cls, settings: MethodSettings) -> Method:
        """The method; it has no parameters of its own."""
        return cls()

    def acceptance(self, generalist: Floats, base: Floats) -> Floats:
        """Nothing is drafted."""
        raise DecodingError("nothing is drafted in the generalist method")

    def redraw(self, specialist: Floats, row: Candidates) -> Floats:
        """The generalist on the row's candidates."""
        return np.asarray(np.exp(log_softmax(row.generalist_logprobs)))

    def bonus(self, specialist: Floats, row: Candidates) -> Floats | None:
        """The generalist, as everywhere."""
        return self.redraw(specialist, row)
