"""From texts to rows of token ids: whole conversations, packed."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from models.synthetic_writers.examples import Example
from training import texts
from training.config import Mixture
from training.drafts import Drafter
from training.everyday import Everyday
from training.invented import synthetic_examples
from training.loops import looped_examples, pieces_of_words
from training.texts import Phrases, RealTexts, Text
from training.tokenizer import PAD, Vocabulary, example_ids, fitted

_FIRST = 300  # ids before this one are control tokens and bytes in the full vocabulary
_SPANS = (2, 8)  # how many different spans a row holds, at least and at most
_TOKENS = (3, 24)  # how long a span is


def span_rows(
    rng: Random, vocabulary: int, length: int
) -> Iterator[NDArray[np.uint16]]:
    """Endless rows (length,) in which spans of random tokens come back."""
    first = min(_FIRST, vocabulary // 2)
    while True:
        spans = [
            [rng.randrange(first, vocabulary) for _ in range(rng.randint(*_TOKENS))]
            for _ in range(rng.randint(*_SPANS))
        ]
        row: list[int] = []
        while len(row) < length:
            row += rng.choice(spans)
        yield np.array(row[:length], dtype=np.uint16)


Rows = NDArray[np.uint16]

_SHELF = 200  # examples to choose from when a row is filled
_LONGEST = 1600  # characters of a real text, in rows long enough for it
_CHARACTERS = 2
"""Characters of a text for each token of its row: the rest is for the history."""
_LONG_PRIVATE = 0.9
"""Share of examples with history in long rows, which have room for it."""

_DRAFTED_PRIVATE = 0.85  # share of the drafts that a history leads
_TAUGHT_OWN_WAY = 0.7
"""Share of the invented writers with ways of their own in plain rows: what a specialist
drafts from a history is in some such way, and it is there that base and generalist must
agree on how likely it was."""


def build(
    folder: Path,
    vocabulary: Vocabulary,
    mixture: Mixture,
    drafter: Drafter | None = None,
) -> dict[str, Rows]:
    """`rows` (N, row + 1), `long` rows (M, 2 * row + 1), `plain` rows (P, row + 1) for
    a teacher, `loops` (L, row + 1) with marks, and rows `held_out` (2 * H, row + 1) by
    writers unknown to the others, the first H with history. A share of the plain rows
    holds what `drafter` drafts."""
    rng = Random(mixture.seed)
    strangers: list[Text] = []
    phrases = Phrases(rng)
    known = RealTexts(phrases.heard(_known(folder, mixture.shards, strangers)), rng)
    unknown = RealTexts(strangers, rng)
    everyday = Everyday(phrases.bank)

    def mixed(
        texts: RealTexts, private: float, row: int, own_way: float = mixture.own_way
    ) -> Iterator[list[int]]:
        real = texts.examples(private, min(_LONGEST, _CHARACTERS * row))
        share = mixture.everyday
        invented = synthetic_examples(rng, private, everyday, share, own_way)
        return balanced(real, invented, mixture.synthetic, vocabulary, row)

    row, held_out = mixture.row, mixture.held_out
    usual = pack(mixed(known, mixture.private, row), row + 1)
    spans = span_rows(rng, len(vocabulary), row + 1)
    either = (next(spans if rng.random() < mixture.repeats else usual) for _ in count())
    long = pack(mixed(known, _LONG_PRIVATE, 2 * row), 2 * row + 1)
    written = pack(mixed(known, 0.0, row, _TAUGHT_OWN_WAY), row + 1)
    plain, share = written, mixture.drafted
    if drafter is not None:
        asked = synthetic_examples(rng, _DRAFTED_PRIVATE, everyday, mixture.everyday)
        answered = (example_ids(vocabulary, e) for e in drafter.answers(asked))
        drafted = pack((ids for ids in answered if len(ids) <= row), row + 1)
        plain = (next(drafted if rng.random() < share else written) for _ in count())
    pieces = pieces_of_words(vocabulary)
    looped = looped_examples(mixed(known, mixture.private, row), rng, row, pieces)
    unseen = [pack(mixed(unknown, private, row), row + 1) for private in (1.0, 0.0)]
    return {
        "rows": _stacked(either, mixture.rows, row),
        "long": _stacked(long, mixture.long_rows, 2 * row),
        "held_out": np.concatenate([_stacked(r, held_out, row) for r in unseen]),
        "plain": _stacked(plain, mixture.plain_rows, row),
        "loops": _stacked(pack(looped, row + 1), mixture.loops, row),
    }


def _stacked(rows: Iterator[Rows], number: int, length: int) -> Rows:
    made = list(islice(rows, number))
    return np.array(made, dtype=np.uint16).reshape(number, length + 1)


def pack(examples: Iterator[list[int]], length: int) -> Iterator[Rows]:
    """Rows of whole examples, the largest that fits first, filled up with padding."""
    shelf: list[list[int]] = []
    while True:
        shelf += islice(examples, _SHELF - len(shelf))
        if not shelf:
            return
        row = shelf.pop(0)
        while True:
            room = length - len(row)
            fitting = [i for i, example in enumerate(shelf) if len(example) <= room]
            if not fitting:
                break
            row = row + shelf.pop(max(fitting, key=lambda i: len(shelf[i])))
        yield np.array((row + [PAD] * length)[:length], dtype=np.uint16)


def balanced(
    real: Iterator[Example],
    invented: Iterator[Example],
    share: float,
    vocabulary: Vocabulary,
    room: int,
) -> Iterator[list[int]]:
    """Token ids of examples that go into `room`, a share of the tokens invented."""
    read = {True: 0, False: 0}
    while True:
        is_invented = read[True] < share * (read[True] + read[False])
        example = next(invented if is_invented else real)
        ids = example_ids(vocabulary, fitted(example, vocabulary, room))
        if len(ids) <= room:
            read[is_invented] += len(ids)
            yield ids


def _known(folder: Path, shards: int, strangers: list[Text]) -> Iterator[Text]:
    """All texts but those of the authors held out, who join the strangers."""
    for text in texts.read(folder, shards):
        if text.held_out:
            strangers.append(text)
        else:
            yield text
