"""Redraft only: the server answers with a count, and no vector ever leaves it.

The server keeps a draft with min(1, (L/B) / threshold). After a refusal it sends no
candidates; the device drafts again from there, with fresh noise. This is rejection
sampling: what is emitted is exactly S * min(L/B, threshold) / norm at every position,
and T at strength 1 if the threshold is no smaller than the largest L/B. The strength
plays no part. A place where all drafts are refused ends the text.

At temperature 0 the same draft would be refused for ever, so it must be above.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from decoding_core.errors import InvalidSettingsError
from decoding_core.methods import BaseMethod
from decoding_core.methods.steering import clipped_share
from decoding_core.sampling import Floats
from decoding_core.settings import MethodSettings


@dataclass(frozen=True, slots=True)
class Rejection(BaseMethod):
    """Exact sampling of the clipped target."""

    name: ClassVar[str] = "rejection"
    summary: ClassVar[str] = "the server counts, your device drafts again"
    decided_by: ClassVar[Literal["server", "device", "nobody"]] = "server"
    drafts_again: ClassVar[bool] = True
    needs_specialist: ClassVar[bool] = False

    @classmethod
    def from_settings(cls, settings: MethodSettings) -> Rejection:
        """The method; raises InvalidSettingsError at temperature 0."""
        if settings.temperature == 0.0:
            raise InvalidSettingsError(
                "the method 'rejection' needs a temperature above 0: at 0 the device "
                "would draft the refused token again"
            )
        return cls()

    def acceptance(self, generalist: Floats, base: Floats, threshold: float) -> Floats:
        """min(1, (L/B) / threshold)."""
        return clipped_share(generalist - base, threshold)
