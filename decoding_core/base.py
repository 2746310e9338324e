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
    needs_specialist: ClassVar[bool] = True
    needs_base: ClassVar[bool] = True
    needs_generalist: ClassVar[bool] = True
    shares_noise: ClassVar[bool] = False
    reads_history: ClassVar[Literal["specialist", "nobody", "generalist"]] = (
        "specialist"
    )

    @property
    def takes_bonus(self) -> bool:
        """No."""
        return False

    @property
    def delta_weight(self) -> float:
        """The method's own strength; 0 where the delta plays no part."""
        return float(getattr(self, "strength", 0.0))

    def acceptance(self, generalist: Floats, base: Floats, threshold: float) -> Floats:
        """An error: the server does not decide unless a method says how."""
        raise DecodingError(f"the server verifies nothing in the {self.name} method")

    def target(self, specialist: Floats, row: Candidates) -> Floats:
        """An error: nothing is drawn from a row unless a method says how."""
        raise DecodingError(f"nothing is drawn from a row in the {self.name} method")

    def bonus(self, specialist: Floats, row: Candidates) -> Floats:
        """The target, as at every other position."""
        return self.target(specialist, row)

    def bonus_waits(self, likeliest: int, row: Candidates) -> bool:
        """False: a bonus is always drawn from the candidates."""
        return False

    def truncation_bound(self, specialist: Floats, row: Candidates) -> float | None:
        """None: not known."""
        return None
