"""What becomes of a draft, given the server's verdict: how many tokens stay, and which
token comes after them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from decoding_core.errors import ContextFullError
from decoding_core.messages import Candidates, Origin, Verdict
from decoding_core.protocols import Method
from decoding_core.residual import keep_probability, residual
from decoding_core.sampling import Draw, Floats, Use, likeliest, log_softmax
from edge_app.decoding.drafter import Draft, Drafter

_NOTHING = np.empty(0)


@dataclass(frozen=True, slots=True)
class Decision:
    """So many drafted tokens stay; the one drawn after them, if any."""

    kept: int
    redrawn: int | None = None
    origin: Origin = "bonus"
    truncation_bound: float | None = None
    """How much of a target lay outside of its candidates at most; None: not known."""


class Decider:
    """Decides on one draft after the other by one method."""

    def __init__(self, drafter: Drafter, method: Method, draw: Draw) -> None:
        self._drafter = drafter
        self._method = method
        self._draw = draw
        self._text: list[int] = []
        self._left_out: float | None = None

    def decide(
        self, draft: Draft, verdict: Verdict, text_ids: list[int], most: int
    ) -> Decision:
        """What becomes of a draft after the text; after `most` of its tokens the text
        is at its end.

        Raises:
            MessageError: the verdict names tokens that the specialist does not have.
        """
        self._text, self._left_out = text_ids, None
        self._check(verdict)
        decide = self._compare
        if self._method.decided_by == "server":
            decide = self._follow
        try:
            return decide(draft, verdict, most)
        except ContextFullError:
            # Only what follows a full block is still to be read: it stays without.
            if not draft.token_ids:
                raise
            return Decision(len(draft.token_ids), truncation_bound=self._left_out)

    def _check(self, verdict: Verdict) -> None:
        """Before anything is looked up by the server's ids. Where no specialist takes
        part, they are drawn from alone, and the vocabulary refuses the one drawn."""
        if verdict.rows and (self._method.drafts or self._method.uses_specialist):
            size = len(self._drafter.logits_at(self._text, 0))
            for row in verdict.rows:
                row.check(size)

    def _follow(self, draft: Draft, verdict: Verdict, most: int) -> Decision:
        """The server decided: draw the token after those it kept."""
        kept = verdict.accepted
        if kept >= most or not verdict.rows:  # without a row, the next draft goes on
            return Decision(kept)
        row, refused = verdict.rows[0], kept < len(draft.token_ids)
        if not refused and self._waits(row, kept):
            return Decision(kept)
        pick = self._method.target if refused else self._method.bonus
        probs = pick(self._specialist(row, kept), row)
        if probs is None:
            return Decision(kept)
        self._note(row, kept)
        index = self._draw.from_probs(probs, Use.REDRAW, len(self._text) + kept)
        return self._redrawn(kept, row, index, refused)

    def _waits(self, row: Candidates, kept: int) -> bool:
        """Whether the next draft takes the place of a bonus, after one kept token at
        least. A word that only this person uses is hardly ever a candidate; a bonus
        would break it off."""
        if not (self._method.bonus_can_wait and kept):
            return False
        own = likeliest(self._drafter.logits_at(self._text, kept))
        return own not in row.token_ids

    def _compare(self, draft: Draft, verdict: Verdict, most: int) -> Decision:
        """The device decides: keep the draft while it may stand for the target."""
        for kept, row in enumerate(verdict.rows[: len(draft.token_ids)]):
            if kept >= most:
                return Decision(kept, truncation_bound=self._left_out)
            self._note(row, kept)
            index = self._refusal(draft, row, kept)
            if index is not None:
                return self._redrawn(kept, row, index, True)
        kept = len(draft.token_ids)
        if kept >= most:
            return Decision(kept, truncation_bound=self._left_out)
        row = verdict.rows[kept]
        self._note(row, kept)
        return self._redrawn(kept, row, self._drawn(row, kept), False)

    def _refusal(self, draft: Draft, row: Candidates, kept: int) -> int | None:
        """Place in the row of the token that replaces a drafted one; None: it stays."""
        drafted, position = draft.token_ids[kept], len(self._text) + kept
        if self._method.shares_noise:
            index = self._drawn(row, kept)
            return None if row.token_ids[index] == drafted else index
        target = self._draw.distribution(self._target(row, kept))
        specialist = self._draw.distribution_of(draft.logits[kept])
        stays = keep_probability(target, specialist, row, drafted)
        if self._draw.noise.keeps(stays, position):
            return None
        left = residual(target, specialist, row)
        return self._draw.from_distribution(left, position)

    def _drawn(self, row: Candidates, kept: int) -> int:
        """Place in the row of a token drawn from the target."""
        probs, position = self._target(row, kept), len(self._text) + kept
        if not self._method.shares_noise:
            target = self._draw.distribution(probs)
            return self._draw.from_distribution(target, position)
        with np.errstate(divide="ignore"):
            logprobs = np.log(probs)
        return self._draw.coupled(logprobs, position, row.token_ids)

    def _target(self, row: Candidates, kept: int) -> Floats:
        return self._method.target(self._specialist(row, kept), row)

    def _specialist(self, row: Candidates, kept: int) -> Floats:
        """The specialist's log-probabilities (K,) of a row's tokens, but for a
        constant, which no target depends on."""
        if not self._method.uses_specialist:
            return np.zeros_like(row.generalist_logprobs)
        logits = self._drafter.logits_at(self._text, kept)
        return self._draw.unnormalised(logits[row.token_ids])

    def _note(self, row: Candidates, kept: int) -> None:
        """Note how much of the target the row may lack."""
        specialist: Floats = _NOTHING
        if self._method.uses_specialist:
            logits = self._drafter.logits_at(self._text, kept)
            specialist = log_softmax(logits.astype(float), self._draw.temperature)
        lacking = self._method.truncation_bound(specialist, row)
        if lacking is not None:
            self._left_out = max(lacking, self._left_out or 0.0)

    def _redrawn(
        self, kept: int, row: Candidates, index: int, refused: bool
    ) -> Decision:
        origin: Origin = "recovered" if refused else "bonus"
        return Decision(kept, int(row.token_ids[index]), origin, self._left_out)
