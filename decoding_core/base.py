"""What most methods have in common; a method says where it differs."""

from __future__ import annotations

from typing import ClassVar, Literal

from decoding_core.errors import DecodingError
from decoding_core.messages import Candidates
from decoding_core.sampling import Floats


class BaseMethod:
    """The specialist drafts with the history; generalist and base are compared."""

    __slots__ = ()

    name: ClassVar[str]
    drafts: ClassVar[bool] = True
    drafts_again: ClassVar[bool] = False
    uses_specialist: ClassVar[bool] = True
    uses_base: ClassVar[bool] = True
    uses_generalist: ClassVar[bool] = True
    shares_noise: ClassVar[bool] = False
    reads_history: ClassVar[Literal["specialist", "nobody", "generalist"]] = (
        "specialist"
    )

    @property
    def bonus_can_wait(self) -> bool:
        """It need not: what is drawn is cut to the candidates at every position."""
        return False

    @property
    def delta_weight(self) -> float:
        """The method's own strength; 0 where the delta plays no part."""
        return float(getattr(self, "strength", 0.0))

    def acceptance(self, generalist: Floats, base: Floats, threshold: float) -> Floats:
        """The server does not decide."""
        raise DecodingError(f"the server judges nothing in the {self.name} method")

    def target(self, specialist: Floats, row: Candidates) -> Floats:
        """There is none."""
        raise DecodingError(f"nothing is drawn from a row in the {self.name} method")

    def bonus(self, specialist: Floats, row: Candidates) -> Floats | None:
        """The target, as everywhere."""
        return self.target(specialist, row)

    def truncation_bound(self, specialist: Floats, row: Candidates) -> float | None:
        """Not known."""
        return None
