"""A model while it is served: what it reads is counted, and its memory is given back
when nobody has asked for a while.

Whoever reads with it does not see that: what each slot holds is kept as token ids, and
read anew when the model is loaded again, at the next reading.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from cloud_api.errors import ServerError
from decoding_core.protocols import Reading, Rows
from decoding_core.sampling import Floats
from decoding_core.verifier import evaluate_rows
from models.running.interface import Model, TextSlots


@dataclass(slots=True)
class ReadingCounts:
    """What a model has read since the server started; it only grows."""

    tokens: int = 0
    seconds: float = 0.0
    loads: int = 1
    """How often it was loaded."""
    batches: Counter[int] = field(default_factory=Counter)
    """How many passes read so many texts at once."""


class ServedModel:
    """A `BatchEngine` that is not always loaded."""

    def __init__(
        self,
        opened: TextSlots,
        reopen: Callable[[], TextSlots],
        unload_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Serve `opened`; `reopen` gives the same model once more, after it was
        closed. With None it stays loaded."""
        self.name = opened.name
        self.vocabulary_id = opened.vocabulary_id
        self.vocabulary_size = opened.vocabulary_size
        self.context_length = opened.context_length
        self.slots = opened.slots
        self.counts = ReadingCounts()
        self._opened: TextSlots | None = opened
        self._reopen = reopen
        self._unload_seconds = unload_seconds
        self._clock = clock
        self._used = clock()
        self._users = 0
        self._lock = threading.Lock()
        self._held: list[list[int]] = [[] for _ in range(opened.slots)]

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory now."""
        return self._opened is not None

    @property
    def tokens_held(self) -> int:
        """How many tokens all slots hold."""
        return sum(map(len, self._held))

    def rest(self) -> None:
        """Give the memory back if nobody has used the model for the time that was set.
        Returns at once, also while the model is being loaded."""
        if self._unload_seconds is None or not self._lock.acquire(blocking=False):
            return
        try:
            idle = self._clock() - self._used >= self._unload_seconds
            if idle and not self._users and self._opened is not None:
                self._opened.close()
                self._opened = None
        finally:
            self._lock.release()

    @contextmanager
    def awake(self) -> Iterator[TextSlots]:
        """The loaded model, which stays so while the block runs; it is loaded if it is
        not, which takes as long as it takes.

        Raises:
            ModelError: it cannot be loaded any more.
            ServerError: its file is another model's now.
        """
        with self._lock:
            if self._opened is None:
                again = self._reopen()
                if again.vocabulary_id != self.vocabulary_id:
                    again.close()
                    raise ServerError(
                        f"another model has taken the place of '{self.name}'; start "
                        "the server again"
                    )
                self._opened = again
                self.counts.loads += 1
            self._users += 1
            opened = self._opened
        try:
            yield opened
        finally:
            with self._lock:
                self._users -= 1
                self._used = self._clock()

    @contextmanager
    def model(self) -> Iterator[Model]:
        """The model's vocabulary and chat template, while the block runs."""
        with self.awake() as opened:
            yield opened.model

    def rollback(self, slot: int, position: int) -> None:
        """Forget everything in a slot after its first `position` tokens."""
        del self._held[slot][position:]
        with self._lock:  # a model that is not loaded holds nothing
            if self._opened is not None:
                held = self._opened.position(slot)
                self._opened.rollback(slot, min(position, held))

    def evaluate(self, readings: Sequence[Reading]) -> list[Floats]:
        """Read on in several slots; raises as `awake` and the engine do."""
        with self._reading(readings) as (opened, whole):
            return opened.evaluate(whole)

    def evaluate_rows(self, readings: Sequence[Reading]) -> list[Rows]:
        """The same, with rows of logits where the engine has them."""
        with self._reading(readings) as (opened, whole):
            return list(evaluate_rows(opened, whole))

    def interrupt(self) -> None:
        """Abort a long evaluation, from another thread; the model is not used again."""
        opened = self._opened
        if opened is not None:
            opened.interrupt()

    def close(self) -> None:
        """Free the memory."""
        if self._opened is not None:
            self._opened.close()

    @contextmanager
    def _reading(
        self, readings: Sequence[Reading]
    ) -> Iterator[tuple[TextSlots, list[Reading]]]:
        """The loaded model, and the readings, each with what its slot lost when the
        model was unloaded; what was read without a fault is kept and counted."""
        with self.awake() as opened:
            started, whole = time.perf_counter(), []
            for reading in readings:
                lost = self._held[reading.slot][opened.position(reading.slot) :]
                ids = (*lost, *reading.token_ids) if lost else reading.token_ids
                whole.append(replace(reading, token_ids=ids))
            yield opened, whole
            for one, reading in zip(readings, whole, strict=True):
                self._held[one.slot].extend(one.token_ids)
                self.counts.tokens += len(reading.token_ids)
            self.counts.batches[len(readings)] += 1
            self.counts.seconds += time.perf_counter() - started
