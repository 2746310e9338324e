"""The loop of one text: draft, verify, accept, recover.

A generator of settled blocks, so that the screen, the command line and the tests are
callers of one function. `decode_loop` puts its parts together, for the product, the
benchmarks and the tests alike. The loop knows a session with a verifier, never an
address.

While a block is out, the device drafts on as if all of it stayed, and sends the next,
up to as many as the window allows. When all stays, the next block is already on its
way; a refusal voids what was drafted behind it. What is drawn at a place depends on the
text before it and on the seed alone, so the text is the same however long the drafts
are, whatever the window and whenever verdicts come. A bonus breaks this: with one, the
window is one and the length of drafts fixed.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from decoding_core.draft_length import DraftLengths
from decoding_core.errors import ContextFullError, StoppedError
from decoding_core.messages import TokenBlock, Verdict
from decoding_core.protocols import Engine, Method
from decoding_core.settings import FIXED_LENGTH, MethodSettings
from decoding_core.verifier import role_of
from edge_app.decoding.deciders import (
    ComparingDecider,
    Decider,
    DeviceCouples,
    DeviceDecides,
    Drafter,
    Draws,
    NobodyDecides,
    ServerDecides,
)
from edge_app.decoding.events import EventEmitter, FinishReason
from edge_app.decoding.gate import HELD, Gate, HeldStretch, Passage
from edge_app.decoding.session import VerifierSession
from models.never_drawn import NeverDrawn

MOST_REFUSALS = 200
"""Refusals in a row at one place that end a text which only drafts again."""


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
    never: NeverDrawn | None = None,
    stop: threading.Event | None = None,
    draws: Draws | None = None,
    gate: Gate | None = None,
    given_ids: Sequence[int] = (),
) -> DecodeLoop:
    """The loop that writes one text with a method, which `settings` name.

    `engine` is the specialist, which reads the private prompt; the session has been
    opened with the public one. A text holds nothing that `never` forbids. `draws` is a
    privacy account, if one is kept; by default nothing is reckoned. What leaves passes
    the gate, if there is one. The text goes on from `given_ids`, which `max_tokens`
    counts and the gate judges as what was written here.
    """
    draws = draws or Draws(settings.draw())
    draws.shares_noise = method.shares_noise
    drafter = Drafter(engine, private_ids, draws, never)
    role = role_of(settings.terms(), method)
    length = settings.draft_length
    alone: Decider = NobodyDecides(FIXED_LENGTH if length == "auto" else length)
    kinds: dict[str, type[ComparingDecider]] = {
        "server": ServerDecides,
        "device": DeviceCouples if method.shares_noise else DeviceDecides,
    }
    decider = alone
    if kind := kinds.get(method.decided_by):
        decider = kind(drafter, method, role, settings.threshold)
    fixed = role.draws_bonus or not role.draft_limit
    lengths = DraftLengths(
        role.draft_limit if fixed else length,
        1 if fixed else settings.window,
        role.draft_limit,
        # A limit counts what drawn tokens tell, not what the ends of blocks do.
        by_confidence=not draws.binds,
    )
    return DecodeLoop(
        drafter,
        session,
        decider,
        alone,
        lengths,
        emitter,
        Passage(gate, emitter, given_ids),
        max_tokens=max_tokens,
        end_ids=end_ids,
        stop=stop or threading.Event(),
        gated=gate is not None,
    )


@dataclass(frozen=True, slots=True)
class _Sent:
    """A block that waits for its verdict; times are of `time.perf_counter`."""

    start: int
    """How many own tokens stand before it."""
    length: int
    sent: float
    read: float
    """When the verifier is expected to have read it."""
    expected: float
    """When the verdict is expected."""
    handling: float
    """How long it took to send it."""
    leaves: bool
    """Whether a verifier is to read it."""


class DecodeLoop:
    """Writes one text."""

    def __init__(
        self,
        drafter: Drafter,
        session: VerifierSession,
        decider: Decider,
        alone: Decider,
        lengths: DraftLengths,
        emitter: EventEmitter,
        text: Passage,
        *,
        max_tokens: int,
        end_ids: Collection[int],
        stop: threading.Event,
        gated: bool,
    ) -> None:
        """Prepare to write; the session has been opened. `alone` decides while no
        verifier answers."""
        self._drafter = drafter
        self._session = session
        self._decider = decider
        self._alone = alone
        self._lengths = lengths
        self._emitter = emitter
        self._text = text
        self._max_tokens = max_tokens
        self._end_ids = end_ids
        self._stop = stop
        self._gated = gated
        self._out: deque[_Sent] = deque()
        self._full = False  # whether the specialist has no room for another token
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
        """Draft and have it verified, accept what stays of the oldest block, recover
        the token after it."""
        text, drafter = self._text, self._drafter
        if not (self._out or text.held):
            text.pass_settled()
            self._session.return_if_due(text.public)
        block, verdict = self._verified()
        began = time.perf_counter()
        decider = self._alone if verdict is None else self._decider

        # Accept, up to the token that ends the text; recover the one after.
        draft, room = drafter.draft(block.length), self._max_tokens - len(text.own)
        ends = (i for i, token in enumerate(draft.token_ids) if token in self._end_ids)
        most = min(room, next(ends, room) + 1)
        decision = decider.decide(draft, verdict, text.own, most)
        kept = draft.token_ids[: decision.kept]
        recovered = () if decision.redrawn is None else (decision.redrawn,)
        refused = len(kept) < block.length
        if verdict is not None and isinstance(block, _Sent):
            self._learn(block, verdict, len(kept), decision.truncation_bound, began)
        if self._emitter.weighs:
            gone = draft.token_ids[len(kept)] if refused else None
            stays = (*kept, *recovered)
            rows = [decider.row_at(verdict, at) for at in range(len(stays))]
            self._emitter.weighed(drafter.weighed(stays, rows, gone))

        # Roll back to what stays, and settle it in both forms.
        replaced = refused or bool(recovered)
        drafter.settle(len(kept), replaced=replaced)
        if isinstance(block, HeldStretch):
            self._session.stands_in(text.settle_held(kept))
        else:
            self._session.settle(text.public, len(kept), refused=refused)
            leaves = len(kept) if block.leaves else 0
            text.settle((*kept, *recovered), leaves=leaves, replaced=replaced)
            self._lengths.handled(block.handling + time.perf_counter() - began)
        if replaced:
            self._out.clear()
            self._full = False
        return TokenBlock(
            (*kept, *recovered),
            (*[decider.origin] * len(kept), *[decision.origin] * len(recovered)),
        )

    def _verified(self) -> tuple[_Sent | HeldStretch, Verdict | None]:
        """Draft on and send; the oldest block and its verdict. None: no verifier reads
        it, as it is held, or as nobody answers and the device writes on alone."""
        while True:
            self._draft_on()
            if (held := self._text.held_next()) is not None:
                return held, None
            try:
                verdict = self._session.collect(self._text.public)
            except ContextFullError:
                self._shorten()
            else:
                return self._out.popleft(), verdict

    def _learn(
        self, block: _Sent, verdict: Verdict, kept: int, bound: float | None, now: float
    ) -> None:
        """Report a verdict, and fit the length of drafts to it."""
        waited = now - block.sent
        self._emitter.verified(block.length, kept, waited, bound)
        confidences = self._drafter.confidences[: block.length]
        models = min(verdict.seconds, waited)
        self._lengths.verified(block.length, kept, models, waited, confidences)

    def _draft_on(self) -> None:
        """Draft, and send each block that is long enough, until the window is full, the
        text cannot go on, or a verdict is there."""
        text, drafter, lengths = self._text, self._drafter, self._lengths
        while text.held_next() is None:
            alone, drafted = self._session.alone, drafter.token_ids
            decider = self._alone if alone else self._decider
            taken = sum(block.length for block in self._out) + text.held
            pending = len(drafted) - taken
            done = (
                self._full
                or len(text.own) + len(drafted) >= self._max_tokens
                or bool(drafted and drafted[-1] in self._end_ids)
            )
            begin = len(text.own) + taken
            threshold, wanted = decider.threshold.at(begin, len(text.own))
            if alone:
                wanted = self._alone.draft_length
            else:
                behind = drafter.confidences[taken:]
                wanted = min(wanted, lengths.next(len(self._out), behind))
            if pending >= wanted or done:
                room = len(self._out) < (1 if alone else lengths.window)
                if not room or threshold is None or (self._out and not pending):
                    return
                if not pending and wanted and (done or not text.waits):
                    # Nothing drafted, and no room to draft.
                    raise ContextFullError("the text no longer fits")
                clear = pending if alone else text.next(drafted, taken, wanted, done)
                if clear is not None:
                    if clear != HELD:
                        self._send(taken, clear, threshold)
                    continue
            if self._out and not (
                (pending or lengths.begins_a_block(drafter.confidences))
                and not self._session.ready()
                and self._has_time()
            ):
                return
            if self._stop.is_set():
                raise StoppedError("stopped while drafting")
            began = time.perf_counter()
            try:
                epoch = self._session.epoch
                token = drafter.next(text.own, decider.attempt(epoch), epoch)
            except ContextFullError:
                self._full = True
                continue
            if text.own or drafted[1:]:  # the first may have read a prompt
                lengths.drafted(time.perf_counter() - began, len(self._out))
            self._emitter.drafted(token)

    def _has_time(self) -> bool:
        """Whether to draft one more token before the verdict on the oldest block."""
        oldest, confidences = self._out[0], self._drafter.confidences
        left = oldest.expected - time.perf_counter()
        return self._lengths.worth_a_token(confidences, oldest.length, left)

    def _send(self, taken: int, length: int, threshold: float) -> None:
        """Submit `length` drafted tokens behind those that are out or held."""
        text, drafter = self._text, self._drafter
        if not length:
            # Drafted to see what a redrawn token begins, and for nothing else.
            drafter.cut(taken)
            self._emitter.shortened(taken)
        costs, now = self._lengths.costs, time.perf_counter()
        half = costs.round_trip / 2
        last = self._out[-1] if self._out else None
        read = max(now + half, last.read if last else 0.0) + costs.block(length)
        before = text.stand_ins_from(last.start + last.length if last else 0)
        drafted = drafter.token_ids[taken : taken + length]
        self._session.submit(text.public, drafted, threshold, before)
        took = time.perf_counter() - now
        leaves = not (self._session.alone and self._gated)
        start = len(text.own) + taken
        sent = _Sent(start, length, now, read, read + half, took, leaves)
        self._out.append(sent)

    def _shorten(self) -> None:
        """Send half of the oldest block again, as the verifier has no room for all of
        it; raises ContextFullError if it has none."""
        fewer = self._out[0].length // 2
        if not fewer:
            raise ContextFullError("the text no longer fits into the server's model")
        self._out.clear()
        self._text.void()
        self._session.void()
        self._drafter.cut(fewer)
        self._full = False
        self._emitter.shortened(fewer)
        begin = len(self._text.own)
        threshold, _ = self._decider.threshold.at(begin, begin)
        assert threshold is not None
        self._send(0, fewer, threshold)
