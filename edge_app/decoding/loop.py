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
from dataclasses import dataclass
from typing import NewType

from decoding_core.draft_length import DraftLengths
from decoding_core.errors import ContextFullError, StoppedError
from decoding_core.messages import TokenBlock
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
    never_ids: Collection[int] = (),
    stop: threading.Event | None = None,
    account: DrawAccount | None = None,
) -> DecodeLoop:
    """The loop that writes one text with a method, which `settings` name; a text holds
    none of `never_ids`, and `account` hears of all that is drawn.

    `engine` is the specialist, which reads the private prompt; the session has been
    opened with the public one. Draft and target are drawn by one `Draw`, so that noise
    which both share is computed once.
    """
    draw, shares_noise = settings.draw(), method.shares_noise
    drafter = Drafter(
        *(engine, private_ids, draw),
        shares_noise=shares_noise,
        never_ids=never_ids,
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
    )


@dataclass(frozen=True, slots=True)
class _Out:
    """A block that waits for its verdict."""

    length: int
    sent: float
    """On the clock of `time.perf_counter`, as all times here."""
    read: float
    """When the verifier is expected to have read it."""
    expected: float
    """When the verdict is expected."""
    handling: float
    """How long it took to send it."""


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
        self._text = Transcript()
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
            self._session.return_if_due(text.public)

        # Draft and send, then wait for the verdict on the oldest block; None: nobody
        # answers, and the device writes on alone.
        while True:
            self._draft_on()
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
            self._lengths.verified(block.length, len(kept), verdict.seconds, waited)

        # Roll back to what stays, and settle it.
        refused = len(kept) < block.length
        replaced = refused or redrawn is not None
        drafter.settle(len(kept), replaced=replaced)
        self._session.settle(text.public, len(kept), refused=refused)
        if replaced:
            self._out.clear()
            self._full = False
        recovered = () if redrawn is None else (redrawn,)
        settled = TokenBlock(
            (*kept, *recovered),
            (*[decider.origin] * len(kept), *[decision.origin] * len(recovered)),
        )
        text.settle(settled.token_ids)
        self._lengths.handled(block.handling + time.perf_counter() - collected)
        return settled

    def _draft_on(self) -> None:
        """Draft, and send each block that is long enough, until the window is full, the
        text cannot go on, or a verdict is there."""
        text, drafter, lengths = self._text.own, self._drafter, self._lengths
        while True:
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
                wanted = min(wanted, lengths.next(len(self._out)))
            threshold = decider.threshold.at(begin, len(text))
            if pending >= wanted or done:
                room = len(self._out) < (1 if self._session.alone else lengths.window)
                if not room or threshold is None or (self._out and not pending):
                    return
                if not pending and wanted:
                    # Nothing drafted, and no room to draft.
                    raise ContextFullError("the text no longer fits")
                self._send(pending, threshold)
                continue
            if self._out and not pending and not lengths.worth_a_block(sent):
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

    def _has_time(self) -> bool:
        """Whether to draft one more token before the verdict on the oldest block."""
        oldest = self._out[0]
        left = oldest.expected - time.perf_counter()
        drafted = len(self._drafter.token_ids)
        return self._lengths.worth_a_token(drafted, oldest.length, left)

    def _send(self, length: int, threshold: float) -> None:
        """Submit the next `length` drafted tokens behind the blocks that are out."""
        sent = sum(block.length for block in self._out)
        drafted = self._drafter.token_ids[sent : sent + length]
        costs, now = self._lengths.costs, time.perf_counter()
        half = costs.round_trip / 2
        idle = self._out[-1].read if self._out else 0.0
        read = max(now + half, idle) + costs.block(length)
        self._session.submit(self._text.public, drafted, threshold)
        took = time.perf_counter() - now
        self._out.append(_Out(length, now, read, read + half, took))

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
