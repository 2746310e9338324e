"""How fast a model reads and writes on this machine."""

from __future__ import annotations

import time
from dataclasses import dataclass

from models.running.interface import SlotEngine
from models.running.threads import fit_threads

BLOCK = 8
"""Tokens of a usual block; the server reads them with the one before."""
_PROMPT = 128
_STEPS = 24
_SECONDS = 3.0
"""After so long a slow model takes no further step."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Of one model."""

    prompt: float
    """Tokens a second, of a prompt."""
    step: float
    """Tokens a second, one by one."""
    block: float
    """Seconds for a block of `BLOCK` tokens and the one before it."""


def speed_of(engine: SlotEngine) -> Speed:
    """Measure an engine, with the threads that it is fastest with; afterwards it has
    forgotten all that it had read. Raises StoppedError where a person stopped it."""
    engine.rollback(0)
    fit_threads(engine.slots, 1)
    size, room = engine.slots.vocabulary_size, engine.slots.context_length
    token_ids = [(7 * at + 5) % size for at in range(min(_PROMPT, room // 2))]
    began = time.perf_counter()
    engine.evaluate(token_ids)
    read = time.perf_counter() - began
    start = engine.position
    steps, began = 0, time.perf_counter()
    while steps < _STEPS and time.perf_counter() - began < _SECONDS:
        engine.evaluate(token_ids[steps : steps + 1])
        steps += 1
    stepped = time.perf_counter() - began
    blocks, began = 0, time.perf_counter()
    while blocks < 3 and time.perf_counter() - began < _SECONDS:
        engine.rollback(start)
        engine.evaluate(token_ids[: BLOCK + 1], BLOCK + 1)
        blocks += 1
    checked = time.perf_counter() - began
    engine.rollback(0)
    return Speed(len(token_ids) / read, steps / stepped, checked / blocks)
