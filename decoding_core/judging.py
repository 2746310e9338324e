"""How a block is judged, given both models' logits over it. Pure arithmetic.

The server and the in-process verifier both call `judge`; G drafted tokens give G + 1
rows of logits: row i is what may stand at drafted position i, row G what may follow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from decoding_core.messages import Candidates, DraftBlock, Terms, Verdict
from decoding_core.protocols import Method
from decoding_core.sampling import Floats, Noise, Use, log_softmax

BASE_CANDIDATES = 8
"""How many tokens by the base a row holds besides those by the generalist."""


def row_limit(terms: Terms) -> int:
    """The most candidates a row can hold: by the generalist, by the base, the draft."""
    return terms.candidates + BASE_CANDIDATES + 1


def row_count(terms: Terms, method: Method) -> int:
    """The most rows a verdict can hold."""
    return terms.draft_limit + 1 if method.decided_by == "device" else 1


def judge(
    block: DraftBlock,
    generalist_logits: Floats,
    base_logits: Floats | None,
    method: Method,
    terms: Terms,
) -> Verdict:
    """The verdict on `block` from logits (G + 1, V); no base where none is used."""
    generalist = log_softmax(generalist_logits, terms.temperature)
    if base_logits is None:
        base = np.zeros_like(generalist)
    else:
        base = log_softmax(base_logits, terms.temperature)
    if method.decided_by == "device":
        kept, positions = 0, range(len(block.drafted) + 1)
    else:
        kept = _count_kept(block, generalist, base, method, Noise(terms.seed))
        positions = range(kept, kept + 1)
    drafted = [*block.drafted, None]
    rows = tuple(
        _candidates(generalist[i], base[i], drafted[i], terms.candidates)
        for i in positions
    )
    return Verdict(block.epoch, block.round, kept, rows)


def _count_kept(
    block: DraftBlock, generalist: Floats, base: Floats, method: Method, noise: Noise
) -> int:
    count = len(block.drafted)
    if not count:
        return 0
    at = np.arange(count), np.asarray(block.drafted)
    keep = method.acceptance(generalist[at], base[at])
    first = block.position + len(block.settled)
    for index, probability in enumerate(keep):
        if not _kept(float(probability), noise, first + index):
            return index
    return count


def _kept(probability: float, noise: Noise, position: int) -> bool:
    if probability in (0.0, 1.0):
        return probability == 1.0
    return noise.uniform(Use.ACCEPT, position) < probability


def _candidates(
    generalist: Floats, base: Floats, drafted: int | None, count: int
) -> Candidates:
    wanted = [_top(generalist, count), _top(base, BASE_CANDIDATES)]
    if drafted is not None:
        wanted.append(np.array([drafted]))
    ids = np.unique(np.concatenate(wanted)).astype(np.int32)
    return Candidates(
        ids, generalist[ids].astype(np.float32), base[ids].astype(np.float32)
    )


def _top(logprobs: Floats, count: int) -> NDArray[np.intp]:
    if count >= len(logprobs):
        return np.arange(len(logprobs))
    return np.argpartition(logprobs, -count)[-count:]
