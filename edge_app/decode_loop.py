"""The loop: draft, verify, keep, redraw, roll back, yield.

A generator of settled blocks, so that the screen, the command line and the tests are
callers of one function. It knows a `Verifier`, never an address.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from decoding_core.errors import CloudUnreachableError, ContextFullError
from decoding_core.messages import (
    DraftBlock,
    Origin,
    TokenBlock,
    Verdict,
    digest,
)
from decoding_core.methods import specialist
from decoding_core.protocols import Method, Verifier
from decoding_core.sampling import Draw
from decoding_core.threshold import START, RunningThreshold, Threshold
from edge_app.deciding import Decider, Decision
from edge_app.drafter import Draft, Drafter
from edge_app.events import FinishReason
from edge_app.narrator import Narrator
from edge_app.offline import OfflineVerifier
from edge_app.transcript import Transcript

MOST_REFUSALS = 200
"""So many refusals in a row at one place end a text that only drafts again."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When to end."""

    max_tokens: int
    draft_length: int
    end_ids: Collection[int]


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
        threshold: Threshold = START,
        may_go_offline: bool = True,
    ) -> None:
        self._drafter = drafter
        self._verifier = verifier
        self._method = method
        self._limits = limits
        self._narrator = narrator
        self._may_go_offline = may_go_offline
        self._decider = Decider(drafter, method, draw)
        self._threshold = RunningThreshold(threshold)
        self._transcript = Transcript()
        self._epoch = self._round = self._known_to_server = 0
        self._refusals = 0
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
            self._refusals = 0 if block.token_ids else self._refusals + 1
            if self._refusals == MOST_REFUSALS:
                self.ended = "refused"
                return

    def _one_round(self) -> TokenBlock:
        draft = self._draft()
        started = time.perf_counter()
        verdict = self._verify(self._block(draft))
        seconds = time.perf_counter() - started
        decision = self._decide(draft, verdict)
        if not self._verifier.local:
            self._narrator.judged(decision.kept, seconds, decision.left_out)
        self._drafter.keep(decision.kept)
        return self._settle(draft, decision)

    def _draft(self) -> Draft:
        if not self._method.drafts:
            return Draft()
        text = self._transcript.own
        room = self._limits.max_tokens - len(text)
        length = min(self._limits.draft_length, room)
        attempt = self._epoch if self._method.drafts_again else 0
        return self._drafter.draft(text, length, self._narrator.drafted, attempt)

    def _block(self, draft: Draft) -> DraftBlock:
        public, position = self._transcript.public, self._known_to_server
        return DraftBlock(
            self._epoch,
            self._round,
            position,
            digest(public[:position]),
            tuple(public[position:]),
            tuple(draft.token_ids),
            self._threshold.value,
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

    def _decide(self, draft: Draft, verdict: Verdict) -> Decision:
        if self._verifier.local:
            return Decision(len(draft.token_ids))
        if self._method.decided_by == "server":
            looked_at = verdict.looked_at(len(draft.token_ids))
            self._threshold.learn(verdict.mean_ratio, looked_at)
        most = self._most_kept(draft)
        return self._decider.decide(draft, verdict, self._transcript.own, most)

    def _most_kept(self, draft: Draft) -> int:
        """With how many drafted tokens the text ends, or is long enough."""
        room = self._limits.max_tokens - len(self._transcript.own)
        ends = self._limits.end_ids
        ending = (i + 1 for i, token in enumerate(draft.token_ids) if token in ends)
        return min(room, next(ending, room))

    def _settle(self, draft: Draft, decision: Decision) -> TokenBlock:
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
