"""Standard speculative decoding: the specialist drafts, the text is the generalist's.

The device keeps a draft x with min(1, L(x)/S(x)), else draws from the positive part of
L - S; after a full block it draws L. What is emitted is L cut to the candidates: the
history makes no difference to the text, only to how much is kept.

Source: Leviathan et al. 2023 (arXiv 2211.17192); Chen et al. 2023 (arXiv 2302.01318).
It is `lossless` with strength 0, which needs no base.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from decoding_core.methods import generalist
from decoding_core.settings import MethodSettings


@dataclass(frozen=True, slots=True)
class Method(generalist.Method):
    """A baseline: speed without steering."""

    name: ClassVar[str] = "speculative"
    summary: ClassVar[str] = "the large model's text, sped up by drafts"
    decided_by: ClassVar[Literal["server", "device", "nobody"]] = "device"
    drafts: ClassVar[bool] = True

    @classmethod
    def from_settings(cls, settings: MethodSettings) -> Method:
        """The method; it has no parameters of its own."""
        return cls()
