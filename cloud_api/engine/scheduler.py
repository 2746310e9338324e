"""The rounds that wait for the models, and what one step of the engine does.

Used by the engine thread alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cloud_api import logs
from cloud_api.engine.batch_engine import BatchEngine, Models
from cloud_api.engine.slots import Slot, SlotCache, SlotPool
from decoding_core.errors import (
    DecodingError,
    EngineError,
    MessageError,
    SessionLostError,
)
from decoding_core.messages import Verdict
from decoding_core.sampling import Floats
from decoding_core.wire import check_finite

CHUNK = 256
"""Tokens of a long text that are read in one step."""
AHEAD = 64
"""Tokens that are read ahead in one step: a block that comes meanwhile waits for it."""
ROWS = 512
"""Rows of logits that one step may give; the rest waits for the next."""

Result = Verdict | Exception


@dataclass(slots=True, eq=False)
class Round:
    """A block to judge: what to read, and what to do with the logits."""

    session_id: str
    token_ids: tuple[int, ...]
    rows: int
    uses_base: bool
    judge: Callable[[Floats, Floats | None], Verdict] | None = None
    """None: the text is only read ahead, before its first block comes, and `done` is
    not called."""
    done: Callable[[Result], None] = lambda _: None


@dataclass(slots=True, eq=False)
class _Slotted:
    round: Round
    slot: Slot

    @property
    def caches(self) -> list[SlotCache]:
        return self.slot.caches(self.round.uses_base)

    @property
    def rest(self) -> int:
        """How many tokens are still to be read."""
        ids, rows = self.round.token_ids, self.round.rows
        return len(ids) - min(cache.start(ids, rows) for cache in self.caches)


class Scheduler:
    """Those that wait, in the order in which they came."""

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
        if round_.judge is None:
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
        """Judge what is ready, then read one chunk of what is not; where no block
        waits, read ahead."""
        slotted = self._seat_all()
        ready = _within([one for one in slotted if one.rest <= CHUNK])
        if ready:
            self._judge_all(ready)
        long = [one for one in slotted if one.rest > CHUNK]
        if long and self._read_part(long[0], CHUNK):
            # The next long text has its turn first.
            self.waiting.remove(long[0].round)
            self.waiting.append(long[0].round)
        if not slotted:
            self._read_ahead()

    def _seat_all(self) -> list[_Slotted]:
        """One round per session, with its slot; a session without one waits on."""
        first: dict[str, Round] = {}
        for round_ in self.waiting:
            first.setdefault(round_.session_id, round_)
        slotted = []
        for session_id, round_ in first.items():
            slot = self._pool.take(session_id, keep=first)
            if slot is not None:
                slotted.append(_Slotted(round_, slot))
        return slotted

    def _judge_all(self, group: Sequence[_Slotted]) -> None:
        try:
            generalist = _evaluate(
                self._models.generalist, group, [one.slot.generalist for one in group]
            )
            compared = [one for one in group if one.round.uses_base]
            rows = self._compare(compared)
        except Exception as error:  # noqa: BLE001 - the thread must go on
            self._fail(group, error)
            return
        base = dict(zip(map(id, compared), rows, strict=True))
        for one, logits in zip(group, generalist, strict=True):
            self._finish(one.round, _result(one.round, logits, base.get(id(one))))

    def _compare(self, group: Sequence[_Slotted]) -> list[Floats]:
        """The base's rows, for rounds that use it."""
        if not group:
            return []
        assert self._models.base is not None
        return _evaluate(self._models.base, group, [one.slot.base for one in group])

    def _fail(self, group: Sequence[_Slotted], error: Exception) -> None:
        """Clear the slots; judge each alone, so that one fault has one victim."""
        for one in group:
            one.slot.clear()
        if len(group) == 1:
            self._finish(group[0].round, _known(error))
            return
        for one in group:
            self._judge_all([one])

    def _read_ahead(self) -> None:
        """Read on in the first text for which there is a slot to spare."""
        for session_id, round_ in self._ahead.items():
            slot = self._pool.spare(session_id)
            if slot is not None:
                one = _Slotted(round_, slot)
                if not (self._read_part(one, AHEAD) and one.rest):
                    self._ahead.pop(session_id, None)
                return

    def _read_part(self, one: _Slotted, size: int) -> bool:
        """Read on in a text, up to where its rows of logits begin; False after a
        fault."""
        ids, last = one.round.token_ids, len(one.round.token_ids) - one.round.rows
        try:
            for model, cache in zip(self._models.each(), one.caches, strict=False):
                begin = cache.start(ids, one.round.rows)
                part = ids[: min(begin + size, last)]
                if begin < len(part):
                    model.evaluate([cache.prepare(part, 1)])
                    cache.advance(part)
        except Exception as error:  # noqa: BLE001 - the thread must go on
            self._fail([one], error)
            return False
        return True

    def _finish(self, round_: Round, result: Result) -> None:
        if round_.judge is not None:
            self.waiting.remove(round_)
            round_.done(result)


def _evaluate(
    model: BatchEngine, group: Sequence[_Slotted], caches: Sequence[SlotCache]
) -> list[Floats]:
    """Read `model` to the end of every round of `group` in one pass."""
    readings = [
        cache.prepare(one.round.token_ids, one.round.rows)
        for one, cache in zip(group, caches, strict=True)
    ]
    logits = model.evaluate(readings)
    for one, cache in zip(group, caches, strict=True):
        cache.advance(one.round.token_ids)
    return logits


def _result(round_: Round, generalist: Floats, base: Floats | None) -> Result:
    assert round_.judge is not None
    try:
        verdict = round_.judge(generalist, base)
        check_finite(verdict)
    except Exception as error:  # noqa: BLE001 - the thread must go on
        return _known(error)
    return verdict


def _known(error: Exception) -> DecodingError:
    """An error fit to be told; what was not expected is logged by type and place."""
    if isinstance(error, DecodingError) and not isinstance(error, MessageError):
        return error
    logs.fault("a round")
    return EngineError("a model failed to compute")


def _within(ready: Sequence[_Slotted]) -> list[_Slotted]:
    """As many of the first as give no more rows of logits than a step may."""
    chosen: list[_Slotted] = []
    rows = 0
    for one in ready:
        rows += one.round.rows
        if chosen and rows > ROWS:
            break
        chosen.append(one)
    return chosen
