"""The generalist alone: every token from the large model, nothing drafted.

The specialist and its history play no part. Each token costs a round trip, and is
drawn from the row of candidates that the server sends: at temperature 0 this is the
generalist's own argmax; above, the tail beyond the K candidates is never drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from decoding_core.messages import Candidates
from decoding_core.methods import BaseMethod
from decoding_core.residual import left_out_of_generalist
from decoding_core.sampling import Floats, log_softmax


@dataclass(frozen=True, slots=True)
class Generalist(BaseMethod):
    """A baseline: what the server would write without the device."""

    name: ClassVar[str] = "generalist"
    summary: ClassVar[str] = "the large model alone; no history"
    decided_by: ClassVar[Literal["server", "device", "nobody"]] = "server"
    drafts: ClassVar[bool] = False
    needs_specialist: ClassVar[bool] = False
    needs_base: ClassVar[bool] = False

    def target(self, specialist: Floats, row: Candidates) -> Floats:
        """The generalist on the row's candidates."""
        return np.asarray(np.exp(log_softmax(row.generalist_logprobs)))

    def truncation_bound(self, specialist: Floats, row: Candidates) -> float | None:
        """What the generalist gives to other tokens."""
        return left_out_of_generalist(row)


@dataclass(frozen=True, slots=True)
class GeneralistWithHistory(Generalist):
    """The generalist reads the history too: an upper bound, for evaluation alone.

    The private prompt goes to the server, which therefore must be on this device:
    whoever runs the method checks `reads_history` and refuses any other server before
    anything is sent.
    """

    name: ClassVar[str] = "generalist_with_history"
    summary: ClassVar[str] = "the large model reads it too; on this device"
    reads_history: ClassVar[Literal["specialist", "nobody", "generalist"]] = (
        "generalist"
    )


@dataclass(frozen=True, slots=True)
class Speculative(Generalist):
    """Standard speculative decoding: the specialist drafts, the text is the
    generalist's.

    The device keeps a draft x with min(1, L(x)/S(x)), else draws from the positive part
    of L - S. What is emitted is L cut to the candidates: the history changes only how
    much is kept. It is `lossless` with strength 0, which needs no base.

    Source: Leviathan et al. 2023 (arXiv 2211.17192); Chen et al. 2023 (arXiv
    2302.01318).
    """

    name: ClassVar[str] = "speculative"
    summary: ClassVar[str] = "the large model's text, sped up by drafts"
    decided_by: ClassVar[Literal["server", "device", "nobody"]] = "device"
    drafts: ClassVar[bool] = True
