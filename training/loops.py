"""Texts that get caught in a loop, marked so that a model learns to leave it.

A small network that has learnt to copy goes on copying itself. Here spans are repeated
on the spot; from the third time on, each of their tokens is to become unlikely, and
what truly follows is learnt. Half of them are spans of the text; the others are pieces
of words drawn at random, as a model that has begun to babble repeats syllables. Made-up
repeats are the idea of Xu et al., "Learning to Break the Loop" (2022); the loss is in
network.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from random import Random

from training.tokenizer import PAD, Vocabulary

SILENT = 1 << 14
"""Added to a token id in a row: it is read, but neither learnt nor unlearnt."""
AVOID = 1 << 15  # added to a token id in a row: it is to become unlikely
_LOOPS = (1, 3)  # how many spans of an example are repeated, at least and at most
_TIMES = (4, 10)  # how often a span stands in a row
_LONGEST = 40  # tokens of a span at most; short spans are as likely as long ones
_TRIES = 8
_BABBLE = 0.5  # share of the repeated spans that are no text
_SYLLABLES = 5  # tokens of such a span at most
_BEFORE = 12  # random pieces of words at most before it


def looped_examples(
    examples: Iterator[list[int]], rng: Random, room: int, pieces: Sequence[int]
) -> Iterator[list[int]]:
    """The examples with spans repeated, as far as `room` tokens allow; `pieces` are
    tokens that go on with a word."""
    for ids in examples:
        marked = ids
        for _ in range(rng.randint(*_LOOPS)):
            if rng.random() < _BABBLE:
                marked = babbling(marked, rng, room, pieces)
            else:
                marked = looped(marked, rng, room)
        yield marked


def pieces_of_words(vocabulary: Vocabulary) -> list[int]:
    """The tokens that go on with a word: letters without a space before them."""
    ids = range(PAD + 1, len(vocabulary))
    return [one for one in ids if vocabulary.text([one]).isalpha()]


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
            return [*ids[:end], *_again(span, times - 1), *ids[end:]]
    return list(ids)


def babbling(
    ids: Sequence[int], rng: Random, room: int, pieces: Sequence[int]
) -> list[int]:
    """`ids` with random pieces of words in one place, the last few of them repeated,
    if a place between unmarked tokens is found and `room` allows."""
    length = rng.randint(1, _SYLLABLES)
    before = [rng.choice(pieces) for _ in range(rng.randint(0, _BEFORE))]
    span = [rng.choice(pieces) for _ in range(length)]
    times = min(rng.randint(*_TIMES), (room - len(ids) - len(before)) // length)
    if times < _TIMES[0]:
        return list(ids)
    for _ in range(_TRIES):
        place = rng.randint(1, max(1, len(ids)))
        if all(PAD < one < SILENT for one in ids[place - 1 : place + 1]):
            unlearnt = [one + SILENT for one in before + span]
            return [*ids[:place], *unlearnt, *_again(span, times - 1), *ids[place:]]
    return list(ids)


def _again(span: Sequence[int], times: int) -> list[int]:
    """A span `times` more: once in silence, then to be avoided."""
    silent = [one + SILENT for one in span]
    return silent + [one + AVOID for one in span] * (times - 1)
