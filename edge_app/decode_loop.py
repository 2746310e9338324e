"""The loop: draft, verify, keep, redraw, roll back, yield.

A generator of settled blocks, so that the screen, the command line and the tests are
callers of one function. It knows a `Verifier`, never an address.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from decoding_core.errors import CloudUnreachableError, ContextFullError
from decoding_core.messages import (
    Candidates,
    DraftBlock,
    Origin,
    TokenBlock,
    Verdict,
    digest,
)
from decoding_core.methods import specialist
from decoding_core.protocols import Method, Verifier
from decoding_core.sampling import Draw, Floats, Use
from edge_app.drafter import Draft, Drafter
from edge_app.events import FinishReason
from edge_app.narrator import Narrator
from edge_app.offline import OfflineVerifier
from edge_app.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Limits:
    """When to end."""

    max_tokens: int
    draft_length: int
    end_ids: Collection[int]


@dataclass(frozen=True, slots=True)
class _Decision:
    kept: int
    redrawn: int | None = None
    origin: Origin = "bonus"


class DecodeLoop:
    """Writes one text."""

    def __init__(
        self,
        drafter: Drafter,
        verifier: Verifier,
        method: Method,
        draw: Draw,
        limits: Limits,
        narrator: Narrator,
        *,
        may_go_offline: bool = True,
    ) -> None:
        self._drafter = drafter
        self._verifier = verifier
        self._method = method
        self._draw = draw
        self._limits = limits
        self._narrator = narrator
        self._may_go_offline = may_go_offline
        self._transcript = Transcript()
        self._epoch = self._round = self._known_to_server = 0
        self.ended: FinishReason = "length"

    def blocks(self) -> Iterator[TokenBlock]:
        """Settled blocks until the text ends; `ended` then says why.

        Raises:
            StoppedError: the person stopped.
            CloudError: the server refused, or is gone and that must not be.
        """
        while len(self._transcript.own) < self._limits.max_tokens:
            try:
                block = self._one_round()
            except ContextFullError:
                self.ended = "full"
                return
            self._narrator.settled(block)
            yield block
            if block.token_ids and block.token_ids[-1] in self._limits.end_ids:
                self.ended = "end"
                return

    def _one_round(self) -> TokenBlock:
        draft = self._draft()
        started = time.perf_counter()
        verdict = self._verify(self._block(draft))
        seconds = time.perf_counter() - started
        decision = self._decide(draft, verdict)
        if not self._verifier.local:
            self._narrator.judged(decision.kept, seconds)
        self._drafter.keep(decision.kept)
        return self._settle(draft, decision)

    def _draft(self) -> Draft:
        if not self._method.drafts:
            return Draft()
        text = self._transcript.own
        room = self._limits.max_tokens - len(text)
        length = min(self._limits.draft_length, room)
        return self._drafter.draft(text, length, self._narrator.drafted)

    def _block(self, draft: Draft) -> DraftBlock:
        public, position = self._transcript.public, self._known_to_server
        return DraftBlock(
            self._epoch,
            self._round,
            position,
            digest(public[:position]),
            tuple(public[position:]),
            tuple(draft.token_ids),
        )

    def _verify(self, block: DraftBlock) -> Verdict:
        try:
            return self._verifier.verify(block)
        except CloudUnreachableError as error:
            if not self._may_go_offline:
                raise
            self._narrator.notice(f"{error}; the rest is written on this device alone")
            self._verifier, self._method = OfflineVerifier(), specialist.Method()
            return self._verifier.verify(block)

    def _decide(self, draft: Draft, verdict: Verdict) -> _Decision:
        if self._verifier.local:
            return _Decision(len(draft.token_ids))
        if self._method.decided_by == "device":
            return self._compare(draft, verdict)
        return self._follow(draft, verdict)

    def _follow(self, draft: Draft, verdict: Verdict) -> _Decision:
        """The server decided: draw the token after those it kept."""
        kept = verdict.accepted
        if self._ends(draft, kept):
            return _Decision(kept)
        row, refused = verdict.rows[0], kept < len(draft.token_ids)
        pick = self._method.redraw if refused else self._method.bonus
        probs = pick(self._specialist(row, kept), row)
        if probs is None:
            return _Decision(kept)
        position = len(self._transcript.own) + kept
        index = self._draw.from_probs(probs, Use.REDRAW, position)
        return _Decision(
            kept, int(row.token_ids[index]), "recovered" if refused else "bonus"
        )

    def _compare(self, draft: Draft, verdict: Verdict) -> _Decision:
        """The device decides: keep the draft while it is what the target draws."""
        start = len(self._transcript.own)
        for kept, row in enumerate(verdict.rows):
            if self._ends(draft, kept):
                return _Decision(kept)
            token = self._target(row, kept, start + kept)
            if kept == len(draft.token_ids):
                return _Decision(kept, token, "bonus")
            if token != draft.token_ids[kept]:
                return _Decision(kept, token, "recovered")
        return _Decision(len(draft.token_ids))

    def _target(self, row: Candidates, index: int, position: int) -> int:
        probs = self._method.redraw(self._specialist(row, index), row)
        with np.errstate(divide="ignore"):
            logprobs = np.log(probs)
        return int(row.token_ids[self._draw.coupled(logprobs, position, row.token_ids)])

    def _specialist(self, row: Candidates, index: int) -> Floats:
        """The specialist's log-probabilities (K,) of a row's tokens, but for a
        constant, which no redraw depends on."""
        if not self._method.uses_specialist:
            return np.zeros_like(row.generalist_logprobs)
        logits = self._drafter.logits_at(self._transcript.own, index)
        return self._draw.unnormalised(logits[row.token_ids])

    def _ends(self, draft: Draft, kept: int) -> bool:
        """Whether the text ends, or is long enough, with the kept tokens."""
        if len(self._transcript.own) + kept >= self._limits.max_tokens:
            return True
        return bool(kept) and draft.token_ids[kept - 1] in self._limits.end_ids

    def _settle(self, draft: Draft, decision: _Decision) -> TokenBlock:
        kept = draft.token_ids[: decision.kept]
        origins: list[Origin] = ["local" if self._verifier.local else "accepted"]
        origins *= len(kept)
        self._known_to_server = len(self._transcript.public) + len(kept)
        if decision.redrawn is not None:
            kept = [*kept, decision.redrawn]
            origins.append(decision.origin)
        self._transcript.settle(kept)
        self._epoch += decision.kept < len(draft.token_ids)
        self._round += 1
        return TokenBlock(tuple(kept), tuple(origins))
