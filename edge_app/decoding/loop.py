"""The loop of one text: draft, verify, accept, recover.

A generator of settled blocks, so that the screen, the command line and the tests are
callers of one function. `decode_loop` puts its parts together, for the product, the
benchmarks and the tests alike. The loop knows a session with a verifier, never an
address.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator, Sequence
from typing import NewType

from decoding_core.errors import ContextFullError
from decoding_core.messages import TokenBlock, Verdict
from decoding_core.protocols import Engine, Method
from decoding_core.settings import MethodSettings
from decoding_core.verifier import role_of
from edge_app.decoding.deciders import (
    ComparingDecider,
    Decider,
    DeviceCouples,
    DeviceDecides,
    Draft,
    Drafter,
    NobodyDecides,
    ServerDecides,
)
from edge_app.decoding.events import EventEmitter, FinishReason
from edge_app.decoding.session import VerifierSession

MOST_REFUSALS = 200
"""So many refusals in a row at one place end a text that only drafts again."""

OwnIds = NewType("OwnIds", list[int])
"""Token ids as the person reads them."""
PublicIds = NewType("PublicIds", list[int])
"""Token ids as the server knows them."""


class Transcript:
    """The settled text, in the form the person reads and in the form the server knows.

    The two are equal until something is kept from the server and replaced by a
    placeholder. The specialist reads the first; generalist and base read the second,
    and positions on the wire count it.
    """

    def __init__(self) -> None:
        self.own = OwnIds([])
        self.public = PublicIds([])

    def settle(self, token_ids: Sequence[int]) -> None:
        """Append tokens that both sides may read."""
        self.own.extend(token_ids)
        self.public.extend(token_ids)


def decode_loop(
    settings: MethodSettings,
    method: Method,
    engine: Engine,
    private_ids: Sequence[int],
    session: VerifierSession,
    emitter: EventEmitter,
    *,
    max_tokens: int,
    end_ids: Collection[int] = (),
    stop: threading.Event | None = None,
) -> DecodeLoop:
    """The loop that writes one text with a method, which `settings` name.

    `engine` is the specialist, which reads the private prompt; the session has been
    opened with the public one. Draft and target are drawn by one `Draw`, so that noise
    which both share is computed once.
    """
    draw, shares_noise = settings.draw(), method.shares_noise
    drafter = Drafter(
        engine, private_ids, draw, end_ids, shares_noise=shares_noise, stop=stop
    )
    alone: Decider = NobodyDecides(settings.draft_length)
    kinds: dict[str, type[ComparingDecider]] = {
        "server": ServerDecides,
        "device": DeviceCouples if shares_noise else DeviceDecides,
    }
    decider = alone
    if kind := kinds.get(method.decided_by):
        role = role_of(settings.terms(), method)
        decider = kind(drafter, method, draw, role, settings.threshold)
    return DecodeLoop(
        drafter,
        session,
        decider,
        alone,
        emitter,
        max_tokens=max_tokens,
        end_ids=end_ids,
    )


class DecodeLoop:
    """Writes one text."""

    def __init__(
        self,
        drafter: Drafter,
        session: VerifierSession,
        decider: Decider,
        alone: Decider,
        emitter: EventEmitter,
        *,
        max_tokens: int,
        end_ids: Collection[int],
    ) -> None:
        """Prepare to write; the session has been opened. `alone` decides while no
        verifier answers."""
        self._drafter = drafter
        self._session = session
        self._decider = decider
        self._alone = alone
        self._emitter = emitter
        self._max_tokens = max_tokens
        self._end_ids = end_ids
        self._text = Transcript()
        self._refusals = 0
        self.ended: FinishReason = "length"

    def blocks(self) -> Iterator[TokenBlock]:
        """Settled blocks until the text ends; `ended` then says why.

        Raises:
            StoppedError: the person stopped.
            CloudError: as `VerifierSession.submit` says.
        """
        while len(self._text.own) < self._max_tokens:
            try:
                block = self._round()
            except ContextFullError:
                self.ended = "full"
                return
            self._emitter.settled(block)
            yield block
            if block.token_ids and block.token_ids[-1] in self._end_ids:
                self.ended = "end"
                return
            self._refusals = 0 if block.token_ids else self._refusals + 1
            if self._refusals == MOST_REFUSALS:
                self.ended = "refused"
                return

    def _round(self) -> TokenBlock:
        """Draft on the device, have it verified, accept what stays, recover the token
        after it."""
        text, room = self._text, self._max_tokens - len(self._text.own)
        self._session.return_if_due(text.public)

        # Draft, where the method does; while the device is alone, always.
        decider = self._alone if self._session.alone else self._decider
        draft, length = Draft(), min(decider.draft_length, room)
        if length:
            attempt, on_token = (
                decider.attempt(self._session.epoch),
                self._emitter.drafted,
            )
            draft = self._drafter.draft(text.own, length, on_token, attempt)

        # Verify; no verdict: the server has just been lost.
        started = time.perf_counter()
        draft, verdict = self._verify(draft)
        seconds = time.perf_counter() - started

        # Accept, up to the token that ends the text; recover the one after.
        ends = (i for i, token in enumerate(draft.token_ids) if token in self._end_ids)
        most = min(room, next(ends, room) + 1)
        decider = self._alone if verdict is None else self._decider
        decision = decider.decide(draft, verdict, text.own, most)
        if verdict is not None:
            self._emitter.verified(decision.kept, seconds, decision.truncation_bound)

        # Roll back to what stays, and settle it.
        kept = draft.token_ids[: decision.kept]
        self._drafter.keep(len(kept))
        self._session.settle(text.public, len(kept), len(draft.token_ids))
        recovered = () if decision.redrawn is None else (decision.redrawn,)
        block = TokenBlock(
            (*kept, *recovered),
            (*[decider.origin] * len(kept), *[decision.origin] * len(recovered)),
        )
        text.settle(block.token_ids)
        return block

    def _verify(self, draft: Draft) -> tuple[Draft, Verdict | None]:
        """The verdict on a draft, or on as much of it as the verifier has room for;
        None where no verifier answers."""
        while True:
            try:
                self._session.submit(
                    self._text.public, draft.token_ids, self._decider.threshold.value
                )
                return draft, self._session.collect()
            except ContextFullError:
                fewer = len(draft.token_ids) // 2
                if not fewer:
                    raise
                draft = self._drafter.shorten(fewer)
                self._emitter.shortened(fewer)
