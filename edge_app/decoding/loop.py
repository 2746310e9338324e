"""The loop of one text: draft, verify, accept, recover.

A generator of settled blocks, so that the screen, the command line and the tests are
callers of one function. `decode_loop` puts its parts together, for the product, the
benchmarks and the tests alike. The loop knows a session with a verifier, never an
address.

While a block is out, the device drafts on as if it were kept whole, and sends the next:
so many at once as the window allows. When all is kept, the next block is already on its
way; a refusal voids what was drafted behind it. What is drawn at a place depends on the
text before it and on the seed alone, so the text is the same however long the drafts
are, whatever the window and whenever verdicts come. Where a bonus is drawn it is not;
then the window is one and the length of drafts fixed.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NewType

from decoding_core.draft_length import DraftLengths
from decoding_core.errors import ContextFullError, StoppedError
from decoding_core.messages import Origin, TokenBlock
from decoding_core.protocols import Engine, Method
from decoding_core.settings import FIXED_LENGTH, MethodSettings
from decoding_core.verifier import role_of
from edge_app.decoding.deciders import (
    ComparingDecider,
    Decider,
    DeviceCouples,
    DeviceDecides,
    Drafter,
    NobodyDecides,
    ServerDecides,
)
from edge_app.decoding.draw_account import DrawAccount
from edge_app.decoding.events import EventEmitter, FinishReason
from edge_app.decoding.gate import Gate, Piece
from edge_app.decoding.session import VerifierSession
from models.never_drawn import NeverDrawn

_LOOKAHEAD = 12
"""So many more tokens than a block is to hold are drafted at most to fill it, where the
gate does not let the last ones pass yet."""
MOST_REFUSALS = 200
"""So many refusals in a row at one place end a text that only drafts again."""

OwnIds = NewType("OwnIds", list[int])
"""Token ids as the person reads them."""
PublicIds = NewType("PublicIds", list[int])
"""Token ids as the server knows them."""


class Transcript:
    """The settled text, in the form the person reads and in the form the server knows.

    The two are equal until something is kept from the server and replaced by a
    stand-in. The specialist reads the first; generalist and base read the second,
    and positions on the wire count it. A token that was redrawn is settled at once and
    public when it has passed the gate.
    """

    def __init__(self) -> None:
        self.own = OwnIds([])
        self.public = PublicIds([])
        self.passed = 0
        """How many of the own tokens the public ones stand for."""

    @property
    def waiting(self) -> int:
        """How many settled tokens wait at the gate."""
        return len(self.own) - self.passed

    def settle(self, token_ids: Sequence[int]) -> None:
        """Append tokens to what the person reads."""
        self.own.extend(token_ids)

    def publish(self, length: int, public_ids: Sequence[int] | None = None) -> None:
        """Let the next own tokens pass, as they are or as `public_ids`."""
        if public_ids is None:
            public_ids = self.own[self.passed : self.passed + length]
        self.public.extend(public_ids)
        self.passed += length


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
    account: DrawAccount | None = None,
    gate: Gate | None = None,
    given_ids: Sequence[int] = (),
) -> DecodeLoop:
    """The loop that writes one text with a method, which `settings` name; a text holds
    nothing that `never` forbids, and `account` hears of all that is drawn. What leaves
    passes the gate; without one, all may leave. The text goes on from `given_ids`,
    which `max_tokens` counts and the gate judges as what was written here.

    `engine` is the specialist, which reads the private prompt; the session has been
    opened with the public one. Draft and target are drawn by one `Draw`, so that noise
    which both share is computed once.
    """
    draw, shares_noise = settings.draw(), method.shares_noise
    drafter = Drafter(
        *(engine, private_ids, draw),
        shares_noise=shares_noise,
        never=never,
        account=account,
    )
    role = role_of(settings.terms(), method)
    length = settings.draft_length
    alone: Decider = NobodyDecides(FIXED_LENGTH if length == "auto" else length)
    kinds: dict[str, type[ComparingDecider]] = {
        "server": ServerDecides,
        "device": DeviceCouples if shares_noise else DeviceDecides,
    }
    decider = alone
    if kind := kinds.get(method.decided_by):
        decider = kind(drafter, method, draw, role, settings.threshold, account)
    fixed = role.draws_bonus or not role.draft_limit
    lengths = DraftLengths(
        role.draft_limit if fixed else length,
        1 if fixed else settings.window,
        role.draft_limit,
        # A limit counts what drawn tokens tell, not what the ends of blocks do.
        by_confidence=account is None or not account.binds,
    )
    return DecodeLoop(
        drafter,
        session,
        decider,
        alone,
        lengths,
        emitter,
        max_tokens=max_tokens,
        end_ids=end_ids,
        stop=stop or threading.Event(),
        gate=gate,
        given_ids=given_ids,
    )


@dataclass(frozen=True, slots=True)
class _Out:
    """A block that waits for its verdict, or a stretch that was held back and waits for
    the blocks before it."""

    length: int
    """How many drafted tokens it takes."""
    sent: float
    """On the clock of `time.perf_counter`, as all times here."""
    read: float
    """When the verifier is expected to have read it."""
    expected: float
    """When the verdict is expected."""
    handling: float
    """How long it took to send it."""
    has_left: bool = True
    """Whether a verifier is to read it."""
    held: Piece | None = None
    """What stands in for a stretch that was held back."""


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
        *,
        max_tokens: int,
        end_ids: Collection[int],
        stop: threading.Event,
        gate: Gate | None = None,
        given_ids: Sequence[int] = (),
    ) -> None:
        """Prepare to write; the session has been opened. `alone` decides while no
        verifier answers."""
        self._drafter = drafter
        self._session = session
        self._decider = decider
        self._alone = alone
        self._lengths = lengths
        self._emitter = emitter
        self._max_tokens = max_tokens
        self._end_ids = end_ids
        self._stop = stop
        self._gate = gate
        self._text = Transcript()
        self._text.settle(given_ids)
        self._out: deque[_Out] = deque()
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
        """Draft on the device, have it verified, accept what stays of the oldest block,
        recover the token after it."""
        text, drafter = self._text, self._drafter
        if not self._out:
            self._pass_settled()
            self._session.return_if_due(text.public)

        # Draft and send, then wait for the verdict on the oldest block; None: nobody
        # answers, and the device writes on alone.
        while True:
            self._draft_on()
            if self._out[0].held is not None:
                return self._hold_back()
            try:
                verdict = self._session.collect(text.public)
                break
            except ContextFullError:
                self._shorten()
        block = self._out.popleft()
        collected = time.perf_counter()
        waited = collected - block.sent

        # Accept, up to the token that ends the text; recover the one after.
        draft, room = drafter.draft(block.length), self._max_tokens - len(text.own)
        ends = (i for i, token in enumerate(draft.token_ids) if token in self._end_ids)
        most = min(room, next(ends, room) + 1)
        decider = self._alone if verdict is None else self._decider
        decision = decider.decide(draft, verdict, text.own, most)
        kept, redrawn = draft.token_ids[: decision.kept], decision.redrawn
        if verdict is not None:
            bound = decision.truncation_bound
            self._emitter.verified(block.length, len(kept), waited, bound)
            confidences = drafter.confidences[: block.length]
            times = min(verdict.seconds, waited), waited
            self._lengths.verified(block.length, len(kept), *times, confidences)

        # Tell what was thought of what stays; roll back to it, and settle it.
        refused = len(kept) < block.length
        replaced = refused or redrawn is not None
        recovered = () if redrawn is None else (redrawn,)
        if self._emitter.weighs:
            gone = draft.token_ids[len(kept)] if refused else None
            stays = enumerate((*kept, *recovered))
            self._emitter.weighed(
                [
                    drafter.weighed(
                        at,
                        token,
                        decider.row_at(verdict, at),
                        gone if at == len(kept) else None,
                    )
                    for at, token in stays
                ]
            )
        drafter.settle(len(kept), replaced=replaced)
        self._session.settle(text.public, len(kept), refused=refused)
        if replaced:
            self._out.clear()
            self._full = False
        settled = TokenBlock(
            (*kept, *recovered),
            (*[decider.origin] * len(kept), *[decision.origin] * len(recovered)),
        )
        text.settle(settled.token_ids)
        if block.has_left:
            text.publish(len(kept))
        self._lengths.handled(block.handling + time.perf_counter() - collected)
        return settled

    def _draft_on(self) -> None:
        """Draft, and send each block that is long enough, until the window is full, the
        text cannot go on, or a verdict is there."""
        text, drafter, lengths = self._text.own, self._drafter, self._lengths
        while not (self._out and self._out[0].held):
            decider = self._alone if self._session.alone else self._decider
            sent = sum(block.length for block in self._out)
            begin, drafted = len(text) + sent, drafter.token_ids
            pending = len(drafted) - sent
            done = (
                self._full
                or len(text) + len(drafted) >= self._max_tokens
                or bool(drafted and drafted[-1] in self._end_ids)
            )
            wanted = decider.threshold.room(begin)
            if self._session.alone:
                wanted = self._alone.draft_length
            else:
                behind = drafter.confidences[sent:]
                wanted = min(wanted, lengths.next(len(self._out), behind))
            threshold = decider.threshold.at(begin, len(text))
            if pending >= wanted or done:
                out = sum(block.held is None for block in self._out)
                room = out < (1 if self._session.alone else lengths.window)
                if not room or threshold is None or (self._out and not pending):
                    return
                if not pending and wanted and (done or not self._text.waiting):
                    # Nothing drafted, and no room to draft.
                    raise ContextFullError("the text no longer fits")
                if self._send_clear(pending, wanted, threshold, final=done):
                    continue
            if self._out and not pending:
                waiting = lengths.chance(drafter.confidences)
                if not lengths.worth_a_block(waiting):
                    return
            if self._out and (self._session.ready() or not self._has_time()):
                return
            if self._stop.is_set():
                raise StoppedError("stopped while drafting")
            began = time.perf_counter()
            try:
                epoch = self._session.epoch
                token = drafter.next(text, decider.attempt(epoch), epoch)
            except ContextFullError:
                self._full = True
                continue
            if text or drafted[1:]:  # the first may have read a prompt
                lengths.drafted(time.perf_counter() - began, len(self._out))
            self._emitter.drafted(token)

    def _send_clear(
        self, pending: int, wanted: int, threshold: float, *, final: bool
    ) -> bool:
        """Send what the gate lets pass of the `pending` tokens, up to `wanted`, or take
        what it holds back out of the draft; False: more is to be drafted before that is
        clear, or before a block is long enough."""
        text, gate = self._text, self._gate
        if gate is None or self._session.alone:
            self._send(pending, threshold)
            return True
        token_ids = [*text.own, *self._drafter.token_ids]
        start, waiting = len(token_ids) - pending, 0
        if not self._out:
            # What was redrawn has not passed yet.
            start, waiting = text.passed, text.waiting
        if start == len(token_ids):
            self._send(0, threshold)
            return True
        piece = gate.next(token_ids, start, final=final)
        if piece is None:
            return False
        if piece.held is not None:
            self._emitter.stands_in(piece.stand_in)
            if piece.length <= waiting:
                self._stand_in(piece)
            else:
                length, now = piece.length - waiting, time.perf_counter()
                held = _Out(length, now, now, now, 0.0, has_left=False, held=piece)
                self._out.append(held)
            return True
        text.publish(min(piece.length, waiting))
        clear = piece.length - waiting
        if clear < 0 or (clear == 0 and wanted):
            return waiting > 0
        if not wanted:
            # Drafted to see what a redrawn token begins, and for nothing else.
            self._drafter.cut(0)
            self._emitter.shortened(0)
        elif clear < wanted and not final:
            behind = gate.next(token_ids, start + piece.length, final=False)
            if behind is None and pending < wanted + _LOOKAHEAD:
                return False
        self._send(min(clear, wanted), threshold)
        return True

    def _pass_settled(self) -> None:
        """Let what is settled and waits at the gate pass, as far as it is clear."""
        text, gate = self._text, self._gate
        while text.waiting:
            piece = Piece(text.waiting)
            if gate is not None:
                found = gate.next(text.own, text.passed, final=False)
                if found is None:
                    return
                piece = found
            if piece.held is None:
                text.publish(piece.length)
            else:
                self._stand_in(piece)

    def _stand_in(self, piece: Piece) -> None:
        """Let a stand-in pass for the next own tokens."""
        assert piece.held is not None
        position = self._text.passed
        self._emitter.held_back(
            replace(piece.held, position=position, tokens=piece.length)
        )
        self._text.publish(piece.length, piece.stand_in)

    def _hold_back(self) -> TokenBlock:
        """Settle a stretch that was held back, as it was drafted; the verifier goes on
        behind what stands in for it."""
        block = self._out.popleft()
        assert block.held is not None
        token_ids = self._drafter.draft(block.length).token_ids
        if self._emitter.weighs:
            self._emitter.weighed(
                [
                    self._drafter.weighed(at, token, None)
                    for at, token in enumerate(token_ids)
                ]
            )
        self._drafter.settle(block.length, replaced=False)
        self._text.settle(token_ids)
        self._stand_in(block.held)
        self._session.stands_in(len(block.held.stand_in))
        origins: list[Origin] = ["local"] * len(token_ids)
        return TokenBlock(tuple(token_ids), tuple(origins))

    def _has_time(self) -> bool:
        """Whether to draft one more token before the verdict on the oldest block."""
        oldest = self._out[0]
        left = oldest.expected - time.perf_counter()
        confidences, lengths = self._drafter.confidences, self._lengths
        first = lengths.chance(confidences[: oldest.length])
        return lengths.worth_a_token(lengths.chance(confidences), first, left)

    def _send(self, length: int, threshold: float) -> None:
        """Submit the next `length` drafted tokens behind the blocks that are out."""
        sent = sum(block.length for block in self._out)
        drafted = self._drafter.token_ids[sent : sent + length]
        costs, now = self._lengths.costs, time.perf_counter()
        half = costs.round_trip / 2
        idle = self._out[-1].read if self._out else 0.0
        read = max(now + half, idle) + costs.block(length)
        before: list[int] = []
        for block in self._out:
            before = [*before, *block.held.stand_in] if block.held is not None else []
        self._session.submit(self._text.public, drafted, threshold, before)
        took, alone = time.perf_counter() - now, self._session.alone
        left = not alone or self._gate is None
        self._out.append(_Out(length, now, read, read + half, took, has_left=left))

    def _shorten(self) -> None:
        """Send half of the oldest block again, where the verifier has no room for more;
        raises ContextFullError where it has none."""
        fewer = self._out[0].length // 2
        if not fewer:
            raise ContextFullError("the text no longer fits into the server's model")
        self._out.clear()
        self._session.void()
        self._drafter.cut(fewer)
        self._full = False
        self._emitter.shortened(fewer)
        threshold = self._decider.threshold.at(len(self._text.own), len(self._text.own))
        assert threshold is not None
        self._send(fewer, threshold)
