"""From texts to rows of token ids: whole conversations, packed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from models.prompts import Excerpt, Request, private_messages
from models.training import corpus, synthetic
from models.training.config import Mixture
from models.training.corpus import Text
from models.training.tokenizer import PAD, Vocabulary

Rows = NDArray[np.uint16]
Example = tuple[Request, list[Excerpt], str]

_ANSWER = 1400
"""Characters of a real text that is written, and of one that is looked back on."""
_LOOKED_BACK = 600
_KEPT = {"story": 0.4, "conversation": 0.5, "article": 0.25, "abstract": 0.3}
"""Share of the texts that are read, for genres far from what people ask for."""
_SHELF = 200
"""Examples to choose from when a row is filled."""
_MEMORY = 8
"""Texts remembered per author."""
_TASKS = ("email", "email", "email", "email", "review", "review", "post", "note")


def build(folder: Path, vocabulary: Vocabulary, mixture: Mixture) -> tuple[Rows, Rows]:
    """Rows (N, row + 1) and long rows (M, 2 * row + 1), in the order they are read."""
    rng = Random(mixture.seed)
    mixed = _mixed(folder, mixture, rng)
    ids = (vocabulary.example(private_messages(r, e), text) for r, e, text in mixed)
    packed = pack(ids, 2 * mixture.row + 1)
    long_rows = np.stack(list(islice(packed, mixture.long_rows)))
    packed = pack(ids, mixture.row + 1)
    return np.stack(list(islice(packed, mixture.rows))), long_rows


def pack(examples: Iterator[list[int]], length: int) -> Iterator[Rows]:
    """Rows of whole examples, the largest that fits first; the last one may be cut."""
    shelf: list[list[int]] = []
    while True:
        shelf += islice(examples, _SHELF - len(shelf))
        row = shelf.pop(0)[:length] if shelf else []
        while shelf and len(row) < length:
            row += shelf.pop(_best(shelf, length - len(row)))
        if not row:
            return
        yield np.array((row + [PAD] * length)[:length], dtype=np.uint16)


def synthetic_examples(rng: Random, private: float) -> Iterator[Example]:
    """Endless examples by writers who are each met once."""
    while True:
        task = rng.choice(_TASKS)
        if rng.random() >= private:
            piece = next(synthetic.pieces(synthetic.common_writer(rng), rng, task, 1))
            yield piece.request, [], piece.text
            continue
        writer = synthetic.new_writer(rng)
        count = rng.choice((2, 3, 3, 4, 4, 5))
        pieces = list(synthetic.pieces(writer, rng, task, count))
        if rng.random() < 0.3:  # something of another kind among them
            pieces.insert(0, next(synthetic.pieces(writer, rng, rng.choice(_TASKS), 1)))
        *past, last = pieces
        rng.shuffle(past)
        yield last.request, [piece.excerpt() for piece in past], last.text


def real_examples(
    texts: Iterable[Text], rng: Random, private: float
) -> Iterator[Example]:
    """An example for each text, some with earlier texts of the same author."""
    memory: dict[str, list[Excerpt]] = {}
    for text in texts:
        kept = corpus.cut(text.text, _ANSWER, rng)
        if len(kept) < 40:
            continue
        task = corpus.task_of(text.genre, rng)
        request = Request(corpus.brief(text, kept), task, text.item.split(" / ")[-1])
        past = memory.setdefault(text.author, []) if text.author else []
        count = min(rng.randint(1, 3), len(past)) if rng.random() < private else 0
        yield request, rng.sample(past, count), kept
        looked_back = corpus.cut(text.text, _LOOKED_BACK, rng)
        past.append(Excerpt(task, "", text.prompt[-80:].strip(), looked_back))
        del past[:-_MEMORY]


def _mixed(folder: Path, mixture: Mixture, rng: Random) -> Iterator[Example]:
    invented = synthetic_examples(rng, mixture.private)
    texts = [t for t in corpus.read(folder, mixture.shards) if _wanted(t, rng)]
    rng.shuffle(texts)
    for example in real_examples(texts, rng, mixture.private):
        yield example
        while rng.random() < mixture.synthetic:
            yield next(invented)


def _wanted(text: Text, rng: Random) -> bool:
    return rng.random() < _KEPT.get(text.genre, 1.0)


def _best(shelf: list[list[int]], room: int) -> int:
    fitting = [i for i, example in enumerate(shelf) if len(example) <= room]
    if not fitting:
        return 0
    return max(fitting, key=lambda i: len(shelf[i]))
