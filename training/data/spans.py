"""Rows of random tokens in spans that come back: nothing but copying predicts them.

Real texts repeat too little for a small network to keep, within a few million tokens,
the heads that copy. Here every span but its first appearance can be foreseen from its
first tokens on.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
from numpy.typing import NDArray

_FIRST = 300
"""Ids before this one are control tokens and bytes in the full vocabulary."""
_SPANS = (2, 8)
"""How many different spans a row holds, at least and at most."""
_TOKENS = (3, 24)
"""How long a span is."""


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
