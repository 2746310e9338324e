"""The loop of one text: draft, send, take the verdict, accept or redraw.

A generator of settled blocks, so that the screen, the command line and the tests are
callers of one class, in the product, the benchmarks and the tests alike. The loop knows
a session with a verifier, never an address.

While a block is out, the device drafts on as if all of it stayed, and sends the next,
up to as many as the window allows. When all stays, the next block is already on its
way; a refusal voids what was drafted behind it. What is drawn at a place depends on the
text before it and on the seed alone, so the text is the same however long the drafts
are, whatever the window and whenever verdicts come. A bonus breaks this: with one, the
window is one and the length of drafts fixed.

`Passage` keeps the text as the person and as the verifier read it, and hands the loop
what may leave. A `Gate` decides that: it reads the text as the person does and says of
each stretch whether the verifier reads it as it is, or what stands in its place.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Protocol

from decoding_core.draft_length import DraftLengths
from decoding_core.errors import ContextFullError, StoppedError
from decoding_core.messages import TokenBlock, Verdict
from decoding_core.protocols import Engine, Method
from decoding_core.settings import FIXED_LENGTH, MethodSettings
from decoding_core.verifier import role_of
from edge_app.decoding.deciders import (
    Decider,
    DeviceDecides,
    Drafter,
    Draws,
    NobodyDecides,
    ServerDecides,
)
from edge_app.decoding.events import EventEmitter, FinishReason, HeldBack
from edge_app.decoding.session import VerifierSession
from edge_app.decoding.shaping import Shape
from models.never_drawn import NeverDrawn

MOST_REFUSALS = 200  # in a row at one place, for methods that only draft again
_LOOKAHEAD = 12  # tokens drafted beyond a block, at most, to make its end clear
_HELD = -1


@dataclass(frozen=True, slots=True)
class _Sent:
    """A block that waits for its verdict; times are of `time.perf_counter`."""

    start: int  # how many own tokens stand before it
    length: int
    sent: float
    read: float  # when the verifier is expected to have read it
    expected: float  # when the verdict is expected
    handling: float  # how long it took to send it
    leaves: bool  # whether a verifier is to read it


class DecodeLoop:
    """Writes one text with a method, which `settings` name."""

    def __init__(
        self,
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
        shape: Shape | None = None,
        stop: threading.Event | None = None,
        draws: Draws | None = None,
        gate: Gate | None = None,
        given_ids: Sequence[int] = (),
        waiting: Callable[[], AbstractContextManager[None]] | None = None,
    ) -> None:
        """`engine` is the specialist, which reads the private prompt; the session has
        been opened with the public one. A text holds nothing that `never` forbids, and
        `shape` shifts what the specialist thinks.
        `draws` is a privacy account; by default none is kept. What leaves passes the
        gate, if there is one. The text goes on from `given_ids`, which `max_tokens`
        counts and the gate judges as what was written here. Beside other texts
        nothing is drafted ahead, and `waiting` is entered while a verdict is waited
        for."""
        draws = draws or Draws(settings.draw())
        draws.shares_noise = method.shares_noise
        self._drafter = Drafter(engine, private_ids, draws, never, shape)
        self._session, self._waiting = session, waiting or nullcontext
        self._drafts_ahead = waiting is None
        self._emitter = emitter
        self._text = Passage(gate, emitter, given_ids)
        self._max_tokens = max_tokens
        self._end_ids = end_ids
        self._stop = stop or threading.Event()
        role, length = role_of(settings.terms(), method), settings.draft_length
        self._alone: Decider = NobodyDecides()  # while no verifier answers
        self._length_alone = FIXED_LENGTH if length == "auto" else length
        self._decider: Decider = self._alone
        if method.decided_by != "nobody":
            kind = ServerDecides if method.decided_by == "server" else DeviceDecides
            self._decider = kind(self._drafter, method, role, settings.threshold)
        fixed = role.draws_bonus or not role.draft_limit
        self._lengths = DraftLengths(
            role.draft_limit if fixed else length,
            1 if fixed or waiting else settings.window,
            role.draft_limit,
            # A limit counts what drawn tokens tell, not what the ends of blocks do.
            by_confidence=not draws.binds and waiting is None,
            together=waiting is not None,
        )
        self._out: deque[_Sent] = deque()
        self._full = False  # whether the specialist has no room for another token
        self._refusals = 0
        self.ended: FinishReason = "length"

    def blocks(self) -> Iterator[TokenBlock]:
        """Settled blocks until the text ends; `ended` then says why. Raises
        StoppedError if the person stopped, and CloudError as `VerifierSession.submit`
        says."""
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
        """Draft and send, take a verdict, accept what stays, redraw the next."""
        text, drafter = self._text, self._drafter
        if not (self._out or text.held):
            text.pass_settled()
            self._session.return_if_due(text.public)

        # Draft and send, until the oldest block has its verdict.
        block, verdict = self._verified()
        began = time.perf_counter()

        # Accept, up to the token that ends the text; redraw the one after.
        decider = self._alone if verdict is None else self._decider
        draft = drafter.token_ids[: block.length]
        room = self._max_tokens - len(text.own)
        ends = (i for i, token in enumerate(draft) if token in self._end_ids)
        most = min(room, next(ends, room) + 1)
        decision = decider.decide(block.length, verdict, text.own, most)
        kept = draft[: decision.kept]
        redrawn = () if decision.redrawn is None else (decision.redrawn,)
        refused = len(kept) < block.length
        if verdict is not None and isinstance(block, _Sent):
            self._learn(block, verdict, len(kept), decision.truncation_bound, began)
        stays = (*kept, *redrawn)
        if self._emitter.weighs:
            gone = draft[len(kept)] if refused else None
            rows = [decider.row_at(verdict, at) for at in range(len(stays))]
            self._emitter.weighed(drafter.weighed(stays, rows, gone))

        # Roll back to what stays, and settle it in both forms.
        replaced = refused or bool(redrawn)
        drafter.settle(len(kept), replaced=replaced)
        if isinstance(block, HeldStretch):
            self._session.stands_in(text.settle_held(kept))
        else:
            self._session.settle(text.public, len(kept), refused=refused)
            leaves = len(kept) if block.leaves else 0
            text.settle(stays, leaves=leaves, replaced=replaced)
            self._lengths.handled(block.handling + time.perf_counter() - began)
        if replaced:
            self._out.clear()
            self._full = False
        origins = [decider.origin] * len(kept) + [decision.origin] * len(redrawn)
        return TokenBlock(stays, tuple(origins))

    def _verified(self) -> tuple[_Sent | HeldStretch, Verdict | None]:
        """The oldest block and its verdict; None: held, or no verifier answers."""
        while True:
            while not self._text.held_is_next and self._draft_block():
                pass
            if self._text.held_is_next:
                return self._text.held[0], None
            try:
                with self._waiting():
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
        if not self._drafts_ahead:  # meanwhile the others are drafted
            waited = models
        self._lengths.verified(block.length, kept, models, waited, confidences)

    def _draft_block(self) -> bool:
        """Draft until a block can be sent or held. False: the window is full, the text
        cannot go on, or a verdict is there."""
        text, drafter, lengths = self._text, self._drafter, self._lengths
        alone = self._session.alone
        decider, window = (self._alone, 1) if alone else (self._decider, lengths.window)
        taken = sum(one.length for one in self._out)
        taken += sum(one.length for one in text.held)
        threshold, most = decider.threshold.at(len(text.own) + taken, len(text.own))
        epoch = self._session.epoch
        attempt = epoch if decider.redrafts else 0
        while True:
            drafted = drafter.token_ids
            pending = len(drafted) - taken
            done = (
                self._full
                or len(text.own) + len(drafted) >= self._max_tokens
                or bool(drafted and drafted[-1] in self._end_ids)
            )
            wanted = self._length_alone
            if not alone:
                behind = drafter.confidences[taken:]
                wanted = min(most, lengths.next(len(self._out), behind))
            if pending >= wanted or done:
                if len(self._out) >= window or threshold is None:
                    return False
                if self._out and not pending:
                    return False
                if not pending and wanted and (done or not text.waits):
                    # Nothing drafted, and no room to draft.
                    raise ContextFullError("the text no longer fits")
                clear = pending if alone else text.next(drafted, taken, wanted, done)
                if clear is not None:
                    if clear != _HELD:
                        self._send(taken, clear, threshold)
                    return True
            if self._out and not (
                self._drafts_ahead
                and (pending or lengths.begins_a_block(drafter.confidences))
                and not self._session.ready()
                and self._has_time()
            ):
                return False
            self._draft_token(attempt, epoch)

    def _draft_token(self, attempt: int, epoch: int) -> None:
        if self._stop.is_set():
            raise StoppedError("stopped while drafting")
        began = time.perf_counter()
        try:
            token = self._drafter.next(self._text.own, attempt, epoch)
        except ContextFullError:
            self._full = True
            return
        if self._text.own or self._drafter.token_ids[1:]:  # the first reads a prompt
            self._lengths.drafted(time.perf_counter() - began, len(self._out))
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
        leaves = not (self._session.alone and text.gated)
        start = len(text.own) + taken
        sent = _Sent(start, length, now, read, read + half, took, leaves)
        self._out.append(sent)

    def _shorten(self) -> None:
        """Send half of the oldest block again, for want of room; raises
        ContextFullError if it was one token."""
        fewer = self._out[0].length // 2
        if not fewer:
            raise ContextFullError("the text no longer fits into the server's model")
        self._out.clear()
        self._text.held.clear()  # the gate will be asked about them again
        self._session.void()
        self._drafter.cut(fewer)
        self._full = False
        self._emitter.shortened(fewer)
        begin = len(self._text.own)
        threshold, _ = self._decider.threshold.at(begin, begin)
        assert threshold is not None
        self._send(0, fewer, threshold)


@dataclass(frozen=True, slots=True)
class Piece:
    """What becomes of the next tokens of a text."""

    length: int  # how many tokens, as the person reads them
    stand_in: tuple[int, ...] = ()  # what the verifier reads in their place
    held: HeldBack | None = None  # what was found; None: the verifier reads them


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


@dataclass(frozen=True, slots=True)
class HeldStretch:
    """Drafted tokens that no verifier reads."""

    start: int  # how many tokens stand before it in the text that the person reads
    length: int  # how many drafted tokens it takes
    piece: Piece


class Passage:
    """The settled text in both forms, and the stretches of the draft that are held.

    The two forms are equal until something is kept from the server and replaced by a
    stand-in. The specialist reads `own`; generalist and base read `public`, and
    positions on the wire count it. A redrawn token is settled at once, and public when
    it has passed the gate.
    """

    def __init__(
        self, gate: Gate | None, emitter: EventEmitter, given_ids: Sequence[int] = ()
    ) -> None:
        """`given_ids` are settled and pass the gate as what is written here does."""
        self._gate = gate
        self._emitter = emitter
        self._passed = 0  # own tokens that the public ones stand for
        self.held: deque[HeldStretch] = deque()
        self.own = list(given_ids)  # token ids as the person reads them
        self.public: list[int] = []  # token ids as the server knows them

    @property
    def gated(self) -> bool:
        """Whether anything may be held."""
        return self._gate is not None

    @property
    def waits(self) -> bool:
        """Whether settled tokens wait at the gate."""
        return self._passed < len(self.own)

    @property
    def held_is_next(self) -> bool:
        """Whether the settled text ends before a held stretch."""
        return bool(self.held) and self.held[0].start == len(self.own)

    def stand_ins_from(self, place: int) -> list[int]:
        """What stands in for the held stretches from a place of the own text on."""
        held = (one for one in self.held if one.start >= place)
        return [token for one in held for token in one.piece.stand_in]

    def settle(self, token_ids: Sequence[int], *, leaves: int, replaced: bool) -> None:
        """Append tokens, the first `leaves` of which were sent; `replaced` voids what
        is held behind them."""
        self.own.extend(token_ids)
        self._publish(leaves)
        if replaced:
            self.held.clear()

    def settle_held(self, token_ids: Sequence[int]) -> int:
        """Settle the next held stretch as drafted; the length of its stand-in."""
        piece = self.held.popleft().piece
        self.own.extend(token_ids)
        self._pass(piece)
        return len(piece.stand_in)

    def pass_settled(self) -> None:
        """Let the settled tokens that wait at the gate pass, as far as it is clear."""
        while self.waits:
            piece: Piece | None = Piece(len(self.own) - self._passed)
            if self._gate is not None:
                piece = self._gate.next(self.own, self._passed, final=False)
            if piece is None:
                return
            self._pass(piece)

    def next(
        self, draft: Sequence[int], taken: int, wanted: int, final: bool
    ) -> int | None:
        """How many tokens of the draft, up to `wanted`, may leave now behind the first
        `taken`, which are out; `_HELD`: the next ones are held from now on; None: more
        is to be drafted before that is clear, or before a block is long enough.

        What is settled and waits passes on the way, unless something is out. With
        `final`, nothing follows the draft.
        """
        if self._gate is None:
            return len(draft) - taken
        token_ids = [*self.own, *draft]
        place = len(self.own) + taken if taken else self._passed
        while place < len(token_ids):
            piece = self._gate.next(token_ids, place, final=final)
            if piece is None:
                return None
            waiting = max(0, len(self.own) - place)
            clear = piece.length - waiting
            if piece.held is not None:
                self._emitter.stands_in(piece.stand_in)
                if clear > 0:
                    start = max(place, len(self.own))
                    self.held.append(HeldStretch(start, clear, piece))
                    return _HELD
                self._pass(piece)
            else:
                self._publish(min(piece.length, waiting))
                if clear >= 0 and not wanted:
                    return 0
                if clear > 0:
                    break
            place += piece.length
        else:
            return None if wanted else 0
        if clear < wanted and not final:
            behind = self._gate.next(token_ids, place + piece.length, final=False)
            if behind is None and len(draft) - taken < wanted + _LOOKAHEAD:
                return None
        return min(clear, wanted)

    def _pass(self, piece: Piece) -> None:
        """Let the next own tokens pass, as they are or as what stands in for them."""
        if piece.held is None:
            self._publish(piece.length)
            return
        self._emitter.held_back(
            replace(piece.held, position=self._passed, tokens=piece.length)
        )
        self.public.extend(piece.stand_in)
        self._passed += piece.length

    def _publish(self, length: int) -> None:
        self.public.extend(self.own[self._passed : self._passed + length])
        self._passed += length
