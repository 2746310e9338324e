"""The engine of the server: one thread that owns both models, and decides what they
read next.

The event loop hands rounds to the `EngineThread`: a round is a block to verify, or a
text to read before its first block comes. The thread's `Scheduler` takes one round of
every session that waits, gives it a `Slot`, which is a cache in each model, and reads
each model once for all of them. A long prompt is read in chunks behind the rounds that
are ready, so that nobody waits for another's prompt; a text whose first block has not
come yet is read in small chunks, while no block waits at all.
"""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from cloud_api import logs
from cloud_api.errors import StoppingError
from decoding_core.errors import (
    DecodingError,
    EngineError,
    MessageError,
    SessionLostError,
    VocabularyMismatchError,
)
from decoding_core.messages import Verdict
from decoding_core.protocols import BatchEngine, Reading
from decoding_core.sampling import Floats
from decoding_core.wire import check_finite

CHUNK = 256
"""Tokens of a long text that are read in one step."""
AHEAD = 64
"""Tokens that are read ahead in one step: a block that comes meanwhile waits for it."""
ROWS = 512
"""Rows of logits that one step may give; the rest waits for the next."""

Result = Verdict | Exception
Logits = tuple[Floats, Floats | None]
"""Rows of the generalist and of the base; None where the base is not used."""


@dataclass(frozen=True, slots=True)
class Models:
    """The models that verify."""

    generalist: BatchEngine
    base: BatchEngine | None = None
    """None: the devices run it."""

    def __post_init__(self) -> None:
        if self.base is None:
            return
        if self.generalist.vocabulary_id != self.base.vocabulary_id:
            raise VocabularyMismatchError(
                f"the generalist '{self.generalist.name}' and the base "
                f"'{self.base.name}' have different vocabularies; give two models "
                "that share one"
            )

    @property
    def context_length(self) -> int:
        """How many tokens of prompt and text each model can hold."""
        return min(model.context_length for model in self.each())

    @property
    def vocabulary_size(self) -> int:
        """How many tokens the models know; the same for both."""
        return self.generalist.vocabulary_size

    @property
    def slots(self) -> int:
        """How many texts each model can hold."""
        return min(model.slots for model in self.each())

    def each(self) -> tuple[BatchEngine, ...]:
        """The generalist, then the base if there is one."""
        return (self.generalist,) if self.base is None else (self.generalist, self.base)


class SlotCache:
    """What one model has read in one slot."""

    def __init__(self, model: BatchEngine, number: int) -> None:
        self._model = model
        self._number = number
        self._read: tuple[int, ...] = ()

    def start(self, token_ids: tuple[int, ...], rows: int) -> int:
        """From where the model must read to give the last `rows` rows of logits."""
        return min(common_prefix(self._read, token_ids), len(token_ids) - rows)

    def prepare(self, token_ids: tuple[int, ...], rows: int) -> Reading:
        """Roll back to where the cache and `token_ids` differ; what is then to be
        read. Call `advance` when it was read."""
        start = self.start(token_ids, rows)
        if start < len(self._read):
            self._model.rollback(self._number, start)
            self._read = self._read[:start]
        return Reading(self._number, token_ids[start:], rows)

    def advance(self, token_ids: tuple[int, ...]) -> None:
        """Note that the model has read `token_ids`."""
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

    @property
    def base(self) -> SlotCache:
        """The cache of the base; asked for in sessions that use the base alone."""
        assert self._base is not None
        return self._base

    def clear(self) -> None:
        """Forget the text in each model."""
        self.generalist.clear()
        if self._base is not None:
            self._base.clear()


class SlotPool:
    """All slots, lent to sessions; the one unused for longest is taken back first."""

    def __init__(self, models: Models) -> None:
        self._free = [Slot(models, number) for number in range(models.slots)]
        self._free.reverse()
        self._size = len(self._free)
        self._taken: OrderedDict[str, Slot] = OrderedDict()

    def take(self, session_id: str, keep: Collection[str]) -> Slot | None:
        """The session's slot; a free one; that of the session unused for longest that
        is not in `keep`; or None."""
        if session_id not in self._taken:
            if not self._free:
                unused = next((one for one in self._taken if one not in keep), None)
                if unused is None:
                    return None
                self.release(unused)
            self._taken[session_id] = self._free.pop()
        self._taken.move_to_end(session_id)
        return self._taken[session_id]

    def has_spare(self, session_id: str) -> bool:
        """Whether a session may read ahead: it has a slot, or two are free, of which
        the other is left to the next block that comes. A single slot is lent."""
        free = len(self._free)
        return session_id in self._taken or free > 1 or free == self._size

    def spare(self, session_id: str) -> Slot | None:
        """The slot to read ahead in, the first to be taken back; or None."""
        if not self.has_spare(session_id):
            return None
        if session_id not in self._taken:
            self._taken[session_id] = self._free.pop()
            self._taken.move_to_end(session_id, last=False)
        return self._taken[session_id]

    def release(self, session_id: str) -> None:
        """Clear the slot of a session that ended."""
        slot = self._taken.pop(session_id, None)
        if slot is not None:
            slot.clear()
            self._free.append(slot)


@dataclass(slots=True, eq=False)
class Round:
    """A block to verify: what to read, and what to do with the logits."""

    session_id: str
    token_ids: tuple[int, ...]
    rows: int
    uses_base: bool
    verify: Callable[[Floats, Floats | None], Verdict] | None = None
    """None: the text is only read ahead, before its first block comes, and `done` is
    not called."""
    done: Callable[[Result], None] = lambda _: None


@dataclass(slots=True, eq=False)
class _Turn:
    """What one step reads of a round: all of it, or of a long text the next chunk."""

    round: Round
    slot: Slot
    chunk: int | None = None

    @property
    def rest(self) -> int:
        """How many tokens of the round are still to be read."""
        ids, rows = self.round.token_ids, self.round.rows
        start = self.slot.generalist.start(ids, rows)
        if self.round.uses_base:
            start = min(start, self.slot.base.start(ids, rows))
        return len(ids) - start


class Scheduler:
    """The rounds that wait, in the order in which they came, and the slots. Used by the
    engine thread alone."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._pool = SlotPool(models)
        self.waiting: list[Round] = []
        self._ahead: dict[str, Round] = {}
        """By session: what is read while no block waits."""

    @property
    def busy(self) -> bool:
        """Whether a step would do anything."""
        return bool(self.waiting) or any(map(self._pool.has_spare, self._ahead))

    def add(self, round_: Round) -> None:
        """Let a round wait for the next step."""
        if round_.verify is None:
            self._ahead[round_.session_id] = round_
            return
        # The block reads all of the text; what was read ahead is a part of it.
        self._ahead.pop(round_.session_id, None)
        self.waiting.append(round_)

    def release(self, session_id: str) -> None:
        """Drop the rounds of a session that ended, and free its slot."""
        self._ahead.pop(session_id, None)
        ended = [r for r in self.waiting if r.session_id == session_id]
        for round_ in ended:
            self._finish(round_, SessionLostError("the session has ended"))
        self._pool.release(session_id)

    def drop_all(self, error: DecodingError) -> None:
        """Answer everything that waits with an error."""
        self._ahead.clear()
        for round_ in list(self.waiting):
            self._finish(round_, error)

    def step(self) -> None:
        """Read what is most urgent, and answer the blocks that were read whole."""
        for batch in self._schedule():
            outcomes = self._run(batch)
            self._postprocess(batch, outcomes)

    def _schedule(self) -> list[list[_Turn]]:
        """The blocks that are ready, then a chunk of one that is not; where no block
        waits, the next chunk of a text to read ahead."""
        first: dict[str, Round] = {}  # one round per session
        for round_ in self.waiting:
            first.setdefault(round_.session_id, round_)
        ready: list[_Turn] = []
        long: list[_Turn] = []
        rows = 0
        for session_id, round_ in first.items():
            slot = self._pool.take(session_id, keep=first)
            if slot is None:
                continue  # all slots are taken by rounds before it
            turn = _Turn(round_, slot)
            if turn.rest > CHUNK:
                long.append(turn)
                continue
            rows += round_.rows
            if not ready or rows <= ROWS:
                ready.append(turn)
        if long:
            long[0].chunk = CHUNK
        if ready or long:
            return [batch for batch in (ready, long[:1]) if batch]
        for session_id, round_ in self._ahead.items():
            slot = self._pool.spare(session_id)
            if slot is not None:
                return [[_Turn(round_, slot, AHEAD)]]
        return []

    def _run(self, batch: Sequence[_Turn]) -> list[Logits | DecodingError]:
        """Logits for each turn, or its error. After a fault the slots are cleared and
        each turn is read alone, so that one fault has one victim."""
        with_base = [turn for turn in batch if turn.round.uses_base]
        try:
            generalist = _evaluate(
                self._models.generalist,
                [(turn, turn.slot.generalist) for turn in batch],
            )
            base: dict[_Turn, Floats] = {}
            if with_base:
                assert self._models.base is not None
                rows = _evaluate(
                    self._models.base, [(turn, turn.slot.base) for turn in with_base]
                )
                base = dict(zip(with_base, rows, strict=True))
        except Exception as error:  # noqa: BLE001 - the thread must go on
            for turn in batch:
                turn.slot.clear()
            if len(batch) == 1:
                return [_known(error)]
            return [outcome for turn in batch for outcome in self._run([turn])]
        return [
            (logits, base.get(turn))
            for turn, logits in zip(batch, generalist, strict=True)
        ]

    def _postprocess(
        self, batch: Sequence[_Turn], outcomes: Sequence[Logits | DecodingError]
    ) -> None:
        """Answer what was read to its end, and put what was not behind the others."""
        for turn, outcome in zip(batch, outcomes, strict=True):
            round_, failed = turn.round, isinstance(outcome, DecodingError)
            if round_.verify is None:
                if failed or not turn.rest:
                    self._ahead.pop(round_.session_id, None)
            elif isinstance(outcome, DecodingError):
                self._finish(round_, outcome)
            elif turn.chunk is not None:
                # The next long text has its turn first.
                self.waiting.remove(round_)
                self.waiting.append(round_)
            else:
                result: Result
                try:
                    result = round_.verify(*outcome)
                    check_finite(result)
                except Exception as error:  # noqa: BLE001 - the thread must go on
                    result = _known(error)
                self._finish(round_, result)

    def _finish(self, round_: Round, result: Result) -> None:
        self.waiting.remove(round_)
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

    async def run(self, round_: Round) -> Verdict:
        """The verdict on a round's block; raises what the engine raised."""
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
        return await future

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
        scheduler.drop_all(StoppingError("the server is stopping"))
        for model in models.each():
            model.close()

    def _take_commands(self, scheduler: Scheduler) -> bool:
        """Take every command that waits, at least one when there is nothing to do;
        False at the end."""
        while not self._closing:
            try:
                command = self._commands.get(block=not scheduler.busy)
            except queue.Empty:
                return True
            if isinstance(command, Round):
                scheduler.add(command)
            elif command is not None:
                scheduler.release(command)
        return False


def common_prefix(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """How many tokens two texts share from their start."""
    size = min(len(one), len(other))
    if one[:size] == other[:size]:
        return size
    pairs = zip(one, other, strict=False)
    return next(i for i, (left, right) in enumerate(pairs) if left != right)


def _evaluate(
    model: BatchEngine, turns: Sequence[tuple[_Turn, SlotCache]]
) -> list[Floats]:
    """Read what the turns ask for in one pass through a model; each turn comes with its
    cache in that model."""
    texts, readings = [], []
    for turn, cache in turns:
        ids, rows = turn.round.token_ids, turn.round.rows
        if turn.chunk is not None:
            # Up to where the rows of logits begin; a model always gives one.
            end = min(cache.start(ids, rows) + turn.chunk, len(ids) - rows)
            ids, rows = ids[:end], 1
        texts.append(ids)
        readings.append(cache.prepare(ids, rows))
    logits = model.evaluate(readings)
    for (_, cache), ids in zip(turns, texts, strict=True):
        cache.advance(ids)
    return logits


def _known(error: Exception) -> DecodingError:
    """An error fit to be told; what was not expected is logged by type and place."""
    if isinstance(error, DecodingError) and not isinstance(error, MessageError):
        return error
    logs.fault("a round")
    return EngineError("a model failed to compute")
