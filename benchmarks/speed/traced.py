"""A trace: which drafted tokens of a text are kept. And engines that make it so.

At every position of the text there are two tokens: the one that the specialist drafts,
and the one that stands there where it is refused. Over a background of noise each model
likes one of them, as the trace has it:

    model        a token that is kept    one that is refused
    specialist   drafted                 drafted
    generalist   drafted                 recovered
    base         nothing                 drafted

At temperature 0 every method then does by its own rule what the trace says. L/B of the
drafted token is huge where it is kept and tiny where it is refused, whatever the
threshold; T = L * (S/B)^strength is largest at the token that is to stand there, and
so is L. So all methods write one text, which `Trace.text` gives, and who measures
compares: a run in which another acceptance crept in is no run.

V vocabulary.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Literal, cast

import numpy as np

from decoding_core.protocols import Reading
from decoding_core.sampling import Floats
from models.running.interface import SlotEngine, TextSlots

Role = Literal["specialist", "generalist", "base"]

SMALLEST_VOCABULARY = 2048
_FIRST_ID, _PAIRS = 256, 800
"""No control token of any vocabulary is below; the ids of a text come round again."""
FIRST_OF_PROMPT = 300
"""A prompt that begins with this token and `n` more is of a text that begins at place
`n` of the trace."""
_LIKED = 24.0
"""Logit of the token that a model likes: of 151,936 with normal noise it has all but
3e-6 of the probability."""


@dataclass(frozen=True)
class Trace:
    """For each position of a text whether the token drafted there is kept."""

    acceptance: float  # chance with which each is kept, one independent of the other
    seed: int

    @cached_property
    def kept(self) -> tuple[bool, ...]:
        """The first 4,096 positions; later ones begin again."""
        random = Random(f"trace {self.acceptance:g} {self.seed}")
        return tuple(random.random() < self.acceptance for _ in range(4096))

    def keeps(self, position: int) -> bool:
        """Whether the token drafted at a position stays."""
        return self.kept[position % len(self.kept)]

    def digits(self, length: int) -> str:
        """The first positions as they are recorded: 1 for a token that is kept."""
        return "".join("01"[self.keeps(position)] for position in range(length))

    def drafted(self, position: int) -> int:
        """The token that the specialist drafts at a position."""
        return _FIRST_ID + 2 * (position % _PAIRS)

    def recovered(self, position: int) -> int:
        """The token that stands at a position if the drafted one is refused."""
        return self.drafted(position) + 1

    def text(self, length: int, start: int = 0) -> list[int]:
        """What every method writes at temperature 0, from a position on."""
        return [
            self.drafted(p) if self.keeps(p) else self.recovered(p)
            for p in range(start, start + length)
        ]


class TraceLogits:
    """The logits of one model."""

    def __init__(
        self, trace: Trace, role: Role, prompt_length: int, vocabulary: int
    ) -> None:
        """`prompt_length` tokens are read before the text; V is `vocabulary`."""
        assert vocabulary >= SMALLEST_VOCABULARY
        self._trace = trace
        self._role = role
        self._prompt_length = prompt_length
        # Specialist and base have the same weights, and there is no personal adapter.
        noise = np.random.default_rng(role == "generalist")
        self._background = noise.standard_normal(vocabulary, np.float32)

    def rows(self, start: int, count: int, place: int = 0) -> Floats:
        """Logits (count, V) after `start` tokens, prompt included, and after each of
        the next; within the prompt they are noise. The text begins at a place of the
        trace."""
        rows = np.tile(self._background, (count, 1))
        for row, read in zip(rows, range(start, start + count), strict=True):
            if read < self._prompt_length:
                continue
            position = read - self._prompt_length + place
            kept = self._trace.keeps(position)
            if self._role == "generalist" and not kept:
                row[self._trace.recovered(position)] = _LIKED
            elif self._role != "base" or not kept:
                row[self._trace.drafted(position)] = _LIKED
        return rows


@dataclass(frozen=True, slots=True)
class Pace:
    """How long a model takes, in seconds."""

    step: float  # a pass over few tokens
    token: float = 0.0  # for each token of it besides
    prompt_token: float = 0.0
    """A token of a long reading, if this is more than the pass takes by itself."""

    def seconds(self, tokens: int) -> float:
        """Seconds of a pass over `tokens`."""
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
        self._places = [0] * slots

    def sequence(self, slot: int = 0) -> SlotEngine:
        """One slot as an `Engine`."""
        return SlotEngine(cast(TextSlots, self), slot)

    def position(self, slot: int) -> int:
        """How many tokens a slot has read."""
        return self._positions[slot]

    def tokens(self, slot: int) -> list[int]:
        """As many tokens as a slot has read; which they were makes no difference."""
        return [0] * self._positions[slot]

    def rollback(self, slot: int, position: int) -> None:
        """Forget everything in a slot after its first `position` tokens."""
        self._positions[slot] = position

    def evaluate(self, readings: Sequence[Reading]) -> list[Floats]:
        """Wait for one pass over all readings; the trace's rows (rows, V) of each."""
        tokens = sum(len(reading.token_ids) for reading in readings)
        until = time.perf_counter() + self._pace.seconds(tokens)
        rows = []
        for reading in readings:
            slot, begin = reading.slot, self._positions[reading.slot]
            if not begin:
                self._places[slot] = max(0, reading.token_ids[0] - FIRST_OF_PROMPT)
            end = self._positions[slot] = begin + len(reading.token_ids)
            first = end - reading.rows + 1
            rows.append(self._logits.rows(first, reading.rows, self._places[slot]))
        time.sleep(max(0.0, until - time.perf_counter()))
        return rows

    def interrupt(self) -> None:
        """A wait ends by itself."""

    def close(self) -> None:
        """Nothing is held."""
