"""The specialist without the history: the base alone, on the device.

What the history adds is what `specialist` has beyond this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from decoding_core.methods import specialist
from decoding_core.settings import MethodSettings


@dataclass(frozen=True, slots=True)
class Method(specialist.Method):
    """A baseline: the small model reads the request alone."""

    name: ClassVar[str] = "specialist_without_history"
    summary: ClassVar[str] = "the small model alone; no history"
    reads_history: ClassVar[Literal["specialist", "nobody", "generalist"]] = "nobody"

    @classmethod
    def from_settings(cls, settings: MethodSettings) -> Method:
        """The method; it has no parameters of its own."""
        return cls()
