"""What a draft must pass before it leaves the device: the interface of a gate.

The gate looks at the text as the person reads it, token by token, and says of each
stretch whether the verifier may read it or what it reads in its place. A stretch of
which that is not clear yet stays here until more is drafted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from edge_app.decoding.events import HeldBack


@dataclass(frozen=True, slots=True)
class Piece:
    """What becomes of the next tokens of a text."""

    length: int
    """How many tokens, as the person reads them."""
    stand_in: tuple[int, ...] = ()
    """What the verifier reads in their place."""
    held: HeldBack | None = None
    """What was found in them; None: the verifier reads them as they are."""


class Gate(Protocol):
    """Decides what may leave."""

    def next(
        self, token_ids: Sequence[int], start: int, *, final: bool
    ) -> Piece | None:
        """What becomes of the tokens from `start` on, of a text that holds them all;
        None: that is not clear before more is drafted. With `final`, nothing follows.

        The answer depends on the tokens alone, so it is the same however a text is cut
        into blocks.
        """
