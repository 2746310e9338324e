"""Who reckons what each draw tells of the history: the interface that drafter and
decider know. `edge_app.privacy.budget` keeps such an account."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from decoding_core.messages import Candidates
from decoding_core.mixture import Probabilities
from decoding_core.sampling import Floats

Outcomes = Callable[[Floats, Probabilities, Candidates, int], Floats]
"""Probabilities (1 + K,) of what becomes of a draft, as in `decoding_core.residual`."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A draft on which the device decides."""

    token: int
    row: Candidates
    target: Floats
    """T (K,), before top-p."""
    without: Floats
    """T (K,) if there were no history."""
    logits: Floats
    """The specialist's (V,)."""
    outcomes: Outcomes


class DrawAccount(Protocol):
    """Hears of every draw, and is asked before it what may be drawn from; the answer
    None stands for what would be drawn from without an account. `text_ids` are all
    before the place that is drawn for, drafted ones too."""

    @property
    def binds(self) -> bool:
        """Whether it limits what draws may tell."""

    def before_draft(
        self, logits: Floats, text_ids: Sequence[int], epoch: int
    ) -> Floats | None:
        """Probabilities (V,) in place of the specialist's, whose logits (V,) these are.
        Raises what `Engine.evaluate` does."""

    def before_redraw(
        self, target: Floats, without: Floats | None, text_ids: Sequence[int]
    ) -> Floats | None:
        """Probabilities (K,) in place of the target's (K,). `without` (K,) is the
        target if there were no history; None: it is the same."""

    def before_decision(self, judged: Judged, text_ids: Sequence[int]) -> Floats | None:
        """Probabilities (1 + K,) of the outcomes for a draft."""

    def drawn(self, index: int, token: int) -> None:
        """What was asked about last was drawn: which of the probabilities, and the
        token that stands there now."""
