"""Texts that get caught in a loop, marked so that a model learns to leave it.

A small network that has learnt to copy goes on copying itself. Here spans of real and
invented texts are repeated on the spot; from the third time on, each of their tokens is
to become unlikely, and what truly follows is learnt. Made-up repeats are the idea of Xu
et al., "Learning to Break the Loop" (2022); the loss is in network.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from random import Random

from models.training.tokenizer import PAD

SILENT = 1 << 14
"""Added to a token id in a row: it is read, but neither learnt nor unlearnt."""
AVOID = 1 << 15
"""Added to a token id in a row: it is to become unlikely."""
_LOOPS = (1, 3)
"""How many spans of an example are repeated, at least and at most."""
_TIMES = (4, 10)
"""How often a span stands in a row."""
_LONGEST = 40
"""Tokens of a span at most; short spans are as likely as long ones."""
_TRIES = 8


def looped_examples(
    examples: Iterator[list[int]], rng: Random, room: int
) -> Iterator[list[int]]:
    """The examples with spans repeated, as far as `room` tokens allow."""
    for ids in examples:
        marked = ids
        for _ in range(rng.randint(*_LOOPS)):
            marked = looped(marked, rng, room)
        yield marked


def looped(ids: Sequence[int], rng: Random, room: int) -> list[int]:
    """`ids` with one span repeated, if a span without marks and control tokens is
    found and `room` allows."""
    for _ in range(_TRIES):
        length = round(math.exp(rng.uniform(0, math.log(_LONGEST))))
        end = rng.randint(length, max(length, len(ids)))
        span = list(ids[end - length : end])
        times = min(rng.randint(*_TIMES), 1 + (room - len(ids)) // length)
        plain = len(span) == length and all(PAD < one < SILENT for one in span)
        if plain and times >= _TIMES[0]:
            again = [one + SILENT for one in span]
            more = [one + AVOID for one in span] * (times - 2)
            return [*ids[:end], *again, *more, *ids[end:]]
    return list(ids)
