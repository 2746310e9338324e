"""The engine of the server: one thread that owns both models, the slots in which they
hold texts, and what is read next.

The event loop hands rounds to the `EngineThread`: a round is a block to verify, or a
text to read before its first block comes. The thread's `Scheduler` takes the oldest
round of every session that waits and has a `Slot`, and reads each model once for all of
them. A long prompt is read in chunks beside the blocks that are ready, so that nobody
waits for another's prompt; a text whose first block has not come yet is read in small
chunks, while no block waits at all.

A device drafts on while its blocks are out, so several rounds of a session may wait:
each follows the one before as if that were kept whole. A refusal begins a new epoch,
and a session may begin another text. A round of an earlier epoch or text is *stale*,
and never computed.

A `Slot` is a cache in each model and holds one text. There may be more texts than
slots, and to read a text anew costs as much as many blocks of it. So a slot is *lent*:
whoever holds one keeps it, while others wait, until it has read several times what its
text would cost to be read anew, or until its device has been silent for a while
(`SlotPool.leaving`). Time is passed in.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from cloud_api import logs
from cloud_api.engine.models import Models
from cloud_api.errors import StaleBlockError, StoppingError
from decoding_core.errors import (
    CloudBusyError,
    DecodingError,
    EngineError,
    MessageError,
    SessionLostError,
)
from decoding_core.messages import Verdict, check_finite
from decoding_core.protocols import BatchEngine, Reading, Rows
from decoding_core.verifier import common_prefix, evaluate_rows

CHUNK = 256
"""Tokens of a long text that are read in one step."""
BESIDE = 64
"""The same beside blocks that are ready, which are answered when all is read."""
AHEAD = 64
"""Tokens that are read ahead in one step: a block that comes meanwhile waits for it."""
ROWS = 512
"""Rows of logits that one step may give; the rest waits for the next."""
PATIENCE_SECONDS = 1.0
"""How long a session without a block keeps its slot while another waits for one."""
LONGEST_PATIENCE_SECONDS = 4.0
"""The same for a device that takes long over its drafts: twice its last pause, up to
this."""

TENURE = 10
"""How many times the length of its text a holder may read while others wait. Lending a
slot anew costs one reading of the text, so swaps cost at most about a tenth."""
Result = Verdict | Exception
Logits = tuple[Rows, Rows | None]
"""Rows of the generalist and of the base; None where the base is not used."""
Key = tuple[int, int, int]
"""Text, epoch and round: the name of a block in its session, in the order in which
they come. The texts of a session are counted, for each may begin with epoch 0."""


class SlotCache:
    """What one model has read in one slot."""

    def __init__(self, model: BatchEngine, number: int) -> None:
        self._model = model
        self._number = number
        self._read: tuple[int, ...] = ()
        self.count = 0
        """How many tokens the model has read for the slot's holder, those that were
        rolled back too."""

    def __len__(self) -> int:
        return len(self._read)

    def start(self, token_ids: tuple[int, ...], rows: int) -> int:
        """From where the model must read to give the last `rows` rows of logits."""
        return min(common_prefix(self._read, token_ids), len(token_ids) - rows)

    def prepare(
        self,
        token_ids: tuple[int, ...],
        rows: int,
        candidates: int | None = None,
        asked: Sequence[int] = (),
    ) -> Reading:
        """Roll back to where the cache and `token_ids` differ; what is then to be
        read. Call `advance` when it was read."""
        start = self.start(token_ids, rows)
        if start < len(self._read):
            self._model.rollback(self._number, start)
            self._read = self._read[:start]
        return Reading(self._number, token_ids[start:], rows, candidates, asked)

    def advance(self, token_ids: tuple[int, ...]) -> None:
        """Note that the model has read `token_ids`."""
        self.count += len(token_ids) - len(self._read)
        self._read = token_ids

    def clear(self) -> None:
        """Forget the text, before another session takes the slot or after a fault."""
        self._model.rollback(self._number, 0)
        self._read = ()


class Slot:
    """One cache in each model."""

    def __init__(self, models: Models, number: int) -> None:
        self.generalist = SlotCache(models.generalist, number)
        self._base = None if models.base is None else SlotCache(models.base, number)
        self.kept_until = -float("inf")
        """Until when a holder without a block keeps the slot while another waits; one
        whose text was only read ahead leaves at once."""

    @property
    def base(self) -> SlotCache:
        """The cache of the base; asked for in sessions that use the base alone."""
        assert self._base is not None
        return self._base

    @property
    def used_up(self) -> bool:
        """Whether its holder has read so much that another may have the slot."""
        return self.generalist.count > TENURE * len(self.generalist)

    def clear(self) -> None:
        """Forget the text in each model."""
        self.generalist.clear()
        if self._base is not None:
            self._base.clear()

    def vacate(self) -> None:
        """Forget the text and its holder."""
        self.clear()
        self.generalist.count = 0
        self.kept_until = -float("inf")


class SlotPool:
    """All slots, and the sessions that hold them."""

    def __init__(self, models: Models) -> None:
        self._free = [Slot(models, number) for number in range(models.slots)]
        self._free.reverse()
        self._size = len(self._free)
        self._held: dict[str, Slot] = {}

    @property
    def has_free(self) -> bool:
        """Whether a slot is held by nobody."""
        return bool(self._free)

    def held(self, session_id: str) -> Slot | None:
        """The slot that a session holds, or None."""
        return self._held.get(session_id)

    def take(self, session_id: str) -> Slot | None:
        """The session's slot, or a free one, or None."""
        if session_id not in self._held and self._free:
            self._held[session_id] = self._free.pop()
        return self._held.get(session_id)

    def leaving(self, waiting: Collection[str]) -> tuple[str, float]:
        """The holder that is the first to leave for another, and from when on: one
        whose text was only read ahead, or that has used its slot up, at any time; one
        that is not in `waiting` for a block, at the end of its patience; any other,
        never (infinity). The pool must not be empty."""

        def leaves(session_id: str) -> float:
            slot = self._held[session_id]
            if slot.used_up:
                return -float("inf")
            return float("inf") if session_id in waiting else slot.kept_until

        # Of those that may leave now, a text that nobody writes at costs least.
        first = min(
            self._held,
            key=lambda one: (leaves(one), one in waiting, self._held[one].kept_until),
        )
        return first, leaves(first)

    def has_spare(self, session_id: str) -> bool:
        """Whether a session may read ahead: it has a slot, or two are free, of which
        the other is left to the next block that comes. A single slot is lent."""
        free = len(self._free)
        return session_id in self._held or free > 1 or free == self._size

    def release(self, session_id: str) -> None:
        """Clear the slot of a session that ended, or leaves it to another."""
        slot = self._held.pop(session_id, None)
        if slot is not None:
            slot.vacate()
            self._free.append(slot)


@dataclass(slots=True, eq=False)
class Round:
    """A block to verify: what to read, and what to do with the logits."""

    session_id: str
    token_ids: tuple[int, ...]
    rows: int
    uses_base: bool
    verify: Callable[[Rows, Rows | None], Verdict] | None = None
    """None: the text is only read ahead, before its first block comes, and `done` is
    not called."""
    key: Key = (0, 0, 0)
    position: int = 0
    """How many tokens stand before the block."""
    whole: int = 0
    """How many tokens a verdict keeps that refuses none; 0 where the device decides,
    and the server knows of no refusal."""
    done: Callable[[Result], None] = lambda _: None
    candidates: int | None = None
    """How many of a row's likeliest tokens its verdict is made of; None: not known."""
    asked: tuple[int, ...] = ()
    """The tokens that it looks up besides."""
    user: str = ""
    """Whose text it is."""


@dataclass(slots=True, eq=False)
class _Turn:
    """What one step reads of a round: all of it, or of a long text the next chunk."""

    round: Round
    slot: Slot
    chunk: int | None = None
    seconds: float = 0.0
    """How long the models took for the step, once it was done."""

    @property
    def rest(self) -> int:
        """How many tokens of the round are still to be read."""
        ids, rows = self.round.token_ids, self.round.rows
        start = self.slot.generalist.start(ids, rows)
        if self.round.uses_base:
            start = min(start, self.slot.base.start(ids, rows))
        return len(ids) - start


@dataclass(slots=True, eq=False)
class _Text:
    """What the scheduler knows of a session."""

    rounds: deque[Round] = field(default_factory=deque)
    """Its blocks that wait, in the order in which they came."""
    epoch: tuple[int, int] = (0, 0)
    """The earliest text and epoch whose blocks are wanted."""
    failed: Round | None = None
    """A block that a model failed on: what stands behind it is stale until it has come
    again, under its name or a later one."""
    answered: float | None = None
    """When the last of its blocks was answered."""
    pause: float = 0.0
    """How long its device then took until the next block."""

    def is_stale(self, round_: Round) -> bool:
        """Whether a block follows what is no part of the text."""
        failed = self.failed
        return round_.key[:2] < self.epoch or (
            failed is not None
            and round_.key[:2] == failed.key[:2]
            and round_.position > failed.position
        )


class Scheduler:
    """The rounds that wait, in the order in which they came, and the slots. Used by the
    engine thread alone."""

    def __init__(
        self, models: Models, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._models = models
        self._clock = clock
        self._pool = SlotPool(models)
        self._texts: dict[str, _Text] = {}
        self._waiting: dict[str, None] = {}
        """Sessions with blocks. Those that have no slot are in the order in which they
        began to wait for one; those that have, in the order of their next turn."""
        self._ahead: dict[str, Round] = {}
        """By session: what is read while no block waits."""
        self._second: ThreadPoolExecutor | None = None
        if models.at_once and models.base is not None:
            self._second = ThreadPoolExecutor(1, "base")

    def pause(self) -> float | None:
        """Seconds until a step would do something; None: not before a command comes."""
        ready = any(self._pool.held(one) for one in self._waiting)
        if ready or any(map(self._pool.has_spare, self._ahead)):
            return 0.0
        if not self._waiting:
            return None
        if self._pool.has_free:
            return 0.0
        _, when = self._pool.leaving(self._waiting)
        return max(0.0, when - self._clock())

    def add(self, round_: Round) -> None:
        """Let a round wait for the next step. One of a later epoch makes those of
        earlier epochs stale."""
        text = self._texts.setdefault(round_.session_id, _Text())
        text.epoch = max(text.epoch, round_.key[:2])
        if round_.verify is not None:
            if not text.is_stale(round_):
                text.failed = None
            if not text.rounds and text.answered is not None:
                text.pause = self._clock() - text.answered
            text.rounds.append(round_)
            self._waiting.setdefault(round_.session_id)
        self._drop_stale(text)
        if text.rounds:
            # What a block reads needs not be read ahead, and the cache of a session
            # never goes back behind its own block.
            self._ahead.pop(round_.session_id, None)
        elif round_.verify is None:
            self._ahead[round_.session_id] = round_

    def release(self, session_id: str) -> None:
        """Drop the rounds of a session that ended, and free its slot."""
        self._ahead.pop(session_id, None)
        text = self._texts.pop(session_id, _Text())
        for round_ in list(text.rounds):
            self._finish(text, round_, SessionLostError("the session has ended"))
        self._pool.release(session_id)

    def close(self, error: DecodingError) -> None:
        """Answer everything that waits with an error; nothing is read any more."""
        self._ahead.clear()
        for text in self._texts.values():
            for round_ in list(text.rounds):
                self._finish(text, round_, error)
        if self._second is not None:
            self._second.shutdown()

    def step(self) -> None:
        """Read what is most urgent, and answer the blocks that were read whole."""
        self._lend_slots()
        batch = self._schedule()
        if batch:
            outcomes = self._run(batch)
            self._postprocess(batch, outcomes)

    def _lend_slots(self) -> None:
        """Give slots to the sessions that wait for one, the first that came first,
        while there are free ones or holders that may leave."""
        now = self._clock()
        line = [one for one in self._waiting if self._pool.held(one) is None]
        for session_id in line:
            while self._pool.take(session_id) is None:
                leaving, when = self._pool.leaving(self._waiting)
                if when > now:
                    return  # nor is there one for those who came later
                self._pool.release(leaving)
                if leaving in self._waiting:  # it waits again, behind the others
                    del self._waiting[leaving]
                    self._waiting[leaving] = None

    def _schedule(self) -> list[_Turn]:
        """The blocks that are ready, and a chunk of one that is not; where no block
        waits, the next chunk of a text to read ahead."""
        ready: list[_Turn] = []
        long: list[_Turn] = []
        rows = 0
        for session_id in self._waiting:
            slot = self._pool.held(session_id)
            if slot is None:
                continue
            turn = _Turn(self._texts[session_id].rounds[0], slot)
            if self._models.in_pieces and turn.rest > CHUNK:
                long.append(turn)
            elif not ready or rows + turn.round.rows <= ROWS:
                rows += turn.round.rows
                ready.append(turn)
        if long:
            long[0].chunk = BESIDE if ready else CHUNK
        if ready or long:
            return ready + long[:1]
        for session_id, round_ in list(self._ahead.items()):
            if not self._pool.has_spare(session_id):
                continue
            slot = self._pool.take(session_id)
            assert slot is not None
            size = AHEAD if self._models.in_pieces else len(round_.token_ids)
            turn = _Turn(round_, slot, size)
            if turn.rest:
                return [turn]
            del self._ahead[session_id]
        return []

    def _run(self, batch: Sequence[_Turn]) -> list[Logits | DecodingError]:
        """Logits for each turn, or its error. After a fault the slots are cleared and
        each turn is read alone, so that one fault has one victim."""
        with_base = [turn for turn in batch if turn.round.uses_base]
        started = time.perf_counter()
        try:
            generalist, base = self._evaluate(batch, with_base)
        except CloudBusyError as error:
            # A server of the engine's is away. It is no round's fault, and whatever
            # was read is not lost.
            return [error for _ in batch]
        except Exception as error:  # noqa: BLE001 - the thread must go on
            for turn in batch:
                turn.slot.clear()
            if len(batch) == 1:
                return [_known(error)]
            return [outcome for turn in batch for outcome in self._run([turn])]
        by_turn = dict(zip(with_base, base, strict=True))
        # As it travels in a frame, so that both twins say the same.
        seconds = float(np.float32(time.perf_counter() - started))
        for turn in batch:
            turn.seconds = seconds
        return [
            (logits, by_turn.get(turn))
            for turn, logits in zip(batch, generalist, strict=True)
        ]

    def _evaluate(
        self, batch: Sequence[_Turn], with_base: Sequence[_Turn]
    ) -> tuple[Sequence[Rows], Sequence[Rows]]:
        """Rows of the generalist for each turn of the batch, and of the base for those
        that use it; both models read at once where they have cores enough."""
        models = self._models
        generalist = partial(
            _read, models.generalist, [(turn, turn.slot.generalist) for turn in batch]
        )
        if not with_base:
            return generalist(), []
        assert models.base is not None
        base = partial(
            _read, models.base, [(turn, turn.slot.base) for turn in with_base]
        )
        if self._second is None:
            return generalist(), base()
        aside = self._second.submit(base)
        try:
            return generalist(), aside.result()
        finally:
            wait([aside])  # a cache that is being read cannot be cleared

    def _postprocess(
        self, batch: Sequence[_Turn], outcomes: Sequence[Logits | DecodingError]
    ) -> None:
        """Answer what was read to its end, and put what was not behind the others."""
        for turn, outcome in zip(batch, outcomes, strict=True):
            round_, text = turn.round, self._texts[turn.round.session_id]
            failed = isinstance(outcome, DecodingError)
            if round_.verify is None:
                if failed or not turn.rest:
                    self._ahead.pop(round_.session_id, None)
                continue
            # Others have their turn first.
            del self._waiting[round_.session_id]
            self._waiting[round_.session_id] = None
            if turn.chunk is not None and not failed:
                continue
            result: Result
            try:
                if isinstance(outcome, DecodingError):
                    raise outcome
                verdict = round_.verify(*outcome)
                result = replace(verdict, seconds=turn.seconds)
                check_finite(result)
            except Exception as error:  # noqa: BLE001 - the thread must go on
                result = _known(error)
                text.failed = round_
            else:
                if result.accepted < round_.whole:
                    text.epoch = round_.key[0], round_.key[1] + 1
            self._finish(text, round_, result)
            self._drop_stale(text)
            text.answered = self._clock()
            patience = max(PATIENCE_SECONDS, 2 * text.pause)
            turn.slot.kept_until = text.answered + min(
                patience, LONGEST_PATIENCE_SECONDS
            )

    def _drop_stale(self, text: _Text) -> None:
        for round_ in list(text.rounds):
            if text.is_stale(round_):
                error = StaleBlockError("the block follows a refusal")
                self._finish(text, round_, error)

    def _finish(self, text: _Text, round_: Round, result: Result) -> None:
        text.rounds.remove(round_)
        if not text.rounds:
            self._waiting.pop(round_.session_id)
        round_.done(result)


class EngineThread:
    """Loads the models, then verifies rounds until it is closed."""

    def __init__(self, load: Callable[[], Models]) -> None:
        self._load = load
        self._commands: queue.SimpleQueue[Round | str | None] = queue.SimpleQueue()
        """Rounds, ids of sessions that ended, and None to wake it at the end."""
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._closing = False
        self.models: Models | None = None
        """None while they are being loaded."""
        self.failure: str | None = None
        """Why the models could not be loaded; the server then ends."""

    def start(self) -> None:
        """Begin to load the models."""
        self._thread.start()

    def submit(self, round_: Round) -> asyncio.Future[Verdict]:
        """Hand over a round at once; the verdict on its block, or what the engine
        raised. To be called on the event loop."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Verdict] = loop.create_future()

        def settle(result: Result) -> None:
            if future.cancelled():
                return
            if isinstance(result, Exception):
                future.set_exception(result)
            else:
                future.set_result(result)

        def done(result: Result) -> None:
            """Called in the engine thread."""
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, result)

        round_.done = done
        self._commands.put(round_)
        return future

    def warm(self, round_: Round) -> None:
        """Read a text before its first block comes; nobody waits for it."""
        self._commands.put(round_)

    def release(self, session_id: str) -> None:
        """Free what a session that ended holds."""
        self._commands.put(session_id)

    def close(self, seconds: float) -> bool:
        """End the thread; False when it is still in a call after `seconds`."""
        self._closing = True
        self._commands.put(None)
        if self.models is not None:
            for model in self.models.each():
                model.interrupt()
        if self._thread.is_alive():
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        """The thread, from loading the models to closing them."""
        try:
            models = self._load()
        except DecodingError as error:
            self.failure = str(error)
            return
        except Exception as error:  # noqa: BLE001 - logged by type; the server ends
            logs.fault("loading the models")
            self.failure = f"the models could not be loaded ({type(error).__name__})"
            return
        self.models = models
        scheduler = Scheduler(models)
        try:
            while self._take_commands(scheduler):
                scheduler.step()
        except Exception:  # noqa: BLE001 - logged by type; the server ends
            # Not even clearing the caches worked: the server must start anew.
            logs.fault("the engine thread")
            self.failure = "the engine failed and cannot go on"
        while not self._commands.empty():
            # Nobody will verify these rounds any more, but each is to be answered.
            command = self._commands.get()
            if isinstance(command, Round):
                scheduler.add(command)
        scheduler.close(StoppingError("the server is stopping"))
        for model in models.each():
            model.close()

    def _take_commands(self, scheduler: Scheduler) -> bool:
        """Take every command that waits; while a step would do nothing, wait for one,
        or until a step would do something; False at the end."""
        while not self._closing:
            pause = scheduler.pause()
            try:
                command = self._commands.get(block=pause != 0.0, timeout=pause)
            except queue.Empty:
                return True
            if isinstance(command, Round):
                scheduler.add(command)
            elif command is not None:
                scheduler.release(command)
        return False


def _read(
    model: BatchEngine, turns: Sequence[tuple[_Turn, SlotCache]]
) -> Sequence[Rows]:
    """Read what the turns ask for in one pass through a model; each turn comes with its
    cache in that model."""
    texts, readings = [], []
    for turn, cache in turns:
        ids, rows = turn.round.token_ids, turn.round.rows
        candidates, asked = turn.round.candidates, turn.round.asked
        if turn.chunk is not None:
            # Up to where the rows of logits begin; a model always gives one.
            end = min(cache.start(ids, rows) + turn.chunk, len(ids) - rows)
            ids, rows, candidates, asked = ids[:end], 1, 0, ()
        texts.append(ids)
        readings.append(cache.prepare(ids, rows, candidates, asked))
    logits = evaluate_rows(model, readings)
    for (_, cache), ids in zip(turns, texts, strict=True):
        cache.advance(ids)
    return logits


def _known(error: Exception) -> DecodingError:
    """An error fit to be told; what was not expected is logged by type and place."""
    if isinstance(error, DecodingError) and not isinstance(error, MessageError):
        return error
    logs.fault("a round")
    return EngineError("a model failed to compute")
