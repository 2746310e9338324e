"""The loop: draft, verify, keep, redraw, roll back, yield.

A generator of settled blocks, so that the screen, the command line and the tests are
callers of one function. It knows a session with a verifier, never an address.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from decoding_core.errors import ContextFullError
from decoding_core.messages import Origin, TokenBlock, Verdict
from decoding_core.protocols import Method
from decoding_core.sampling import Draw
from decoding_core.settings import START, Threshold
from decoding_core.verifier import RunningThreshold
from edge_app.decoding.deciders import Decider, Decision
from edge_app.decoding.drafter import Draft, Drafter
from edge_app.decoding.emitter import EventEmitter
from edge_app.decoding.events import FinishReason
from edge_app.decoding.session import VerifierSession
from edge_app.decoding.transcript import Transcript

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
        session: VerifierSession,
        method: Method,
        draw: Draw,
        limits: Limits,
        narrator: EventEmitter,
        *,
        threshold: Threshold = START,
    ) -> None:
        """Prepare to write; the session has been opened."""
        self._drafter = drafter
        self._session = session
        self._method = method
        self._limits = limits
        self._narrator = narrator
        self._decider = Decider(drafter, method, draw)
        self._threshold = RunningThreshold(threshold)
        self._transcript = Transcript()
        self._refusals = 0
        self.ended: FinishReason = "length"

    def blocks(self) -> Iterator[TokenBlock]:
        """Settled blocks until the text ends; `ended` then says why.

        Raises:
            StoppedError: the person stopped.
            CloudError: as `VerifierSession.verify` says.
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
        self._session.return_if_due(self._transcript.public)
        draft = self._draft()
        started = time.perf_counter()
        draft, verdict = self._verify(draft)
        seconds = time.perf_counter() - started
        decision = Decision(len(draft.token_ids))
        if verdict is not None:
            decision = self._decide(draft, verdict)
            self._narrator.judged(decision.kept, seconds, decision.truncation_bound)
        self._drafter.keep(decision.kept)
        return self._settle(draft, decision)

    def _draft(self) -> Draft:
        alone = self._session.alone
        if not (alone or self._method.drafts):
            return Draft()
        text = self._transcript.own
        room = self._limits.max_tokens - len(text)
        length = min(self._limits.draft_length, room)
        again = self._method.drafts_again and not alone
        attempt = self._session.epoch if again else 0
        return self._drafter.draft(text, length, self._narrator.drafted, attempt)

    def _verify(self, draft: Draft) -> tuple[Draft, Verdict | None]:
        """The verdict on a draft, or on as much of it as the verifier has room for."""
        text = self._transcript.public
        while True:
            try:
                return draft, self._session.verify(
                    text, draft.token_ids, self._threshold.value
                )
            except ContextFullError:
                fewer = len(draft.token_ids) // 2
                if not fewer:
                    raise
                draft = self._drafter.shorten(fewer)
                self._narrator.shortened(fewer)

    def _decide(self, draft: Draft, verdict: Verdict) -> Decision:
        if self._method.decided_by == "server":
            self._threshold.learn(verdict.mean_ratio, len(draft.token_ids))
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
        self._session.settle(self._transcript.public, len(kept), len(draft.token_ids))
        origins: list[Origin] = ["local" if self._session.alone else "accepted"]
        origins *= len(kept)
        if decision.redrawn is not None:
            kept = [*kept, decision.redrawn]
            origins.append(decision.origin)
        self._transcript.settle(kept)
        return TokenBlock(tuple(kept), tuple(origins))
