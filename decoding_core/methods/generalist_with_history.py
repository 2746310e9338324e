"""The generalist reading the history: an upper bound, for evaluation alone.

The private prompt goes to the server, which therefore must be on this device: whoever
runs the method looks at `reads_history` and refuses any other before anything is sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from decoding_core.methods import generalist
from decoding_core.settings import MethodSettings


@dataclass(frozen=True, slots=True)
class Method(generalist.Method):
    """A baseline: no privacy at all."""

    name: ClassVar[str] = "generalist_with_history"
    summary: ClassVar[str] = "the large model reads it too; on this device"
    reads_history: ClassVar[Literal["specialist", "nobody", "generalist"]] = (
        "generalist"
    )

    @classmethod
    def from_settings(cls, settings: MethodSettings) -> Method:
        """The method; it has no parameters of its own."""
        return cls()
