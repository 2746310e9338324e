"""Engines that take a GPU's time, or a kernel's, and hand out the logits of a trace.

A `PacedBatch` waits as long as a pass would take and computes nothing. A `TracedBatch`
lets llama.cpp read every token, and puts the logits of the trace in the place of what
came out. Both are `BatchEngine`s for the real server; a `SlotEngine` is one slot of one
as an `Engine` for the real loop.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.speed.rig.trace import TraceLogits
from decoding_core.protocols import BatchEngine, Reading
from decoding_core.sampling import Floats


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a model takes, in seconds."""

    step: float
    """A pass over few tokens."""
    token: float = 0.0
    """For each token of it besides."""
    prompt_token: float = 0.0
    """A token of a long reading, where this is more than the pass takes by itself."""

    def seconds(self, tokens: int) -> float:
        """A pass over so many tokens."""
        return max(self.step + self.token * tokens, self.prompt_token * tokens)


class PacedBatch:
    """A model that waits and computes nothing."""

    def __init__(
        self,
        name: str,
        pace: Pace,
        logits: TraceLogits,
        vocabulary: int,
        slots: int,
        context_length: int,
    ) -> None:
        self.name = name
        self.vocabulary_id = f"paced-{vocabulary}"
        self.vocabulary_size = vocabulary
        self.slots = slots
        self.context_length = context_length
        self._pace = pace
        self._logits = logits
        self._positions = [0] * slots

    def rollback(self, slot: int, position: int) -> None:
        """Forget everything in a slot after its first `position` tokens."""
        self._positions[slot] = position

    def evaluate(self, readings: Sequence[Reading]) -> list[Floats]:
        """Wait for one pass over all readings; the trace's rows (rows, V) of each."""
        tokens = sum(len(reading.token_ids) for reading in readings)
        until = time.perf_counter() + self._pace.seconds(tokens)
        rows = []
        for reading in readings:
            end = self._positions[reading.slot] + len(reading.token_ids)
            self._positions[reading.slot] = end
            rows.append(self._logits.rows(end - reading.rows + 1, reading.rows))
        time.sleep(max(0.0, until - time.perf_counter()))
        return rows

    def interrupt(self) -> None:
        """A wait ends by itself."""

    def close(self) -> None:
        """Nothing is held."""


class TracedBatch:
    """A model that really reads, and whose logits are those of a trace."""

    def __init__(self, inner: BatchEngine, logits: TraceLogits) -> None:
        self._inner = inner
        self._logits = logits
        self._positions = [0] * inner.slots

    @property
    def name(self) -> str:
        """The model's name."""
        return self._inner.name

    @property
    def vocabulary_id(self) -> str:
        """Hash of the model's token list."""
        return self._inner.vocabulary_id

    @property
    def vocabulary_size(self) -> int:
        """How many tokens the model knows."""
        return self._inner.vocabulary_size

    @property
    def context_length(self) -> int:
        """How many tokens a slot holds."""
        return self._inner.context_length

    @property
    def slots(self) -> int:
        """How many texts it can hold."""
        return self._inner.slots

    def rollback(self, slot: int, position: int) -> None:
        """Forget everything in a slot after its first `position` tokens."""
        self._inner.rollback(slot, position)
        self._positions[slot] = position

    def evaluate(self, readings: Sequence[Reading]) -> list[Floats]:
        """Let the model read; the trace's rows (rows, V) of each reading."""
        self._inner.evaluate(readings)
        rows = []
        for reading in readings:
            end = self._positions[reading.slot] + len(reading.token_ids)
            self._positions[reading.slot] = end
            rows.append(self._logits.rows(end - reading.rows + 1, reading.rows))
        return rows

    def interrupt(self) -> None:
        """Abort a long evaluation."""
        self._inner.interrupt()

    def close(self) -> None:
        """Free the memory."""
        self._inner.close()


class SlotEngine:
    """One slot of a model as an `Engine`."""

    def __init__(self, batch: BatchEngine, slot: int = 0) -> None:
        self._batch = batch
        self._slot = slot
        self.tokens: list[int] = []
        """What it has read."""

    @property
    def position(self) -> int:
        """How many tokens it has read."""
        return len(self.tokens)

    @property
    def vocabulary_id(self) -> str:
        """Hash of the model's token list."""
        return self._batch.vocabulary_id

    def evaluate(self, token_ids: Sequence[int], rows: int = 1) -> Floats:
        """Read `token_ids` (T,); logits (rows, V) after each of the last `rows`."""
        (logits,) = self._batch.evaluate([Reading(self._slot, token_ids, rows)])
        self.tokens += token_ids
        return logits

    def rollback(self, position: int) -> None:
        """Forget everything after the first `position` tokens."""
        self._batch.rollback(self._slot, position)
        del self.tokens[position:]

    def close(self) -> None:
        """Free the model."""
        self._batch.close()
