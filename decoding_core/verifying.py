"""How a block is judged, given both models' logits over it. Pure arithmetic.

The server and the in-process verifier both call `judge`; G drafted tokens give G + 1
rows of logits: row i is what may stand at drafted position i, row G what may follow.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from decoding_core.messages import (
    NOTHING_LEFT_OUT,
    THRESHOLD_LIMIT,
    Candidates,
    DraftBlock,
    Verdict,
)
from decoding_core.sampling import Floats, Noise, likeliest_ids, log_softmax
from decoding_core.verifier_role import VerifierRole


def judge(
    block: DraftBlock,
    generalist_logits: Floats,
    base_logits: Floats | None,
    role: VerifierRole,
) -> Verdict:
    """The verdict on `block` from logits (G + 1, V); no base where none is used."""
    terms = role.terms
    generalist = log_softmax(generalist_logits, terms.temperature)
    base = None if base_logits is None else log_softmax(base_logits, terms.temperature)
    kept, mean = 0, 0.0
    if role.judges and base is not None:
        at = np.arange(len(block.drafted)), np.asarray(block.drafted, int)
        kept, mean = count_kept(block, generalist[at], base[at], role)
    rows = tuple(
        _candidates(
            generalist[i],
            None if base is None else base[i],
            block.drafted[i : i + 1] if role.adds_draft else (),
            role,
        )
        for i in role.positions(kept, len(block.drafted))
    )
    return Verdict(block.epoch, block.round, kept, rows, mean)


def count_kept(
    block: DraftBlock, generalist: Floats, base: Floats, role: VerifierRole
) -> tuple[int, float]:
    """How many drafted tokens stay, given their log-probabilities (G,), and the mean of
    L/B over all of them."""
    if not block.drafted:
        return 0, 0.0
    keep = role.method.acceptance(generalist, base, block.threshold)
    first = block.position + len(block.settled)
    attempt = block.epoch if role.method.drafts_again else 0
    noise = Noise(role.terms.seed)
    kept = len(keep)
    for index, probability in enumerate(keep):
        if not noise.keeps(float(probability), first + index, attempt):
            kept = index
            break
    return kept, _mean_ratio(generalist - base)


def _mean_ratio(log_ratio: Floats) -> float:
    """Rounded as it travels; a ratio counts as no more than a threshold can be."""
    ratio = np.exp(np.minimum(log_ratio.astype(float), math.log(THRESHOLD_LIMIT)))
    return float(np.float32(ratio.mean()))


def _candidates(
    generalist: Floats,
    base: Floats | None,
    drafted: tuple[int, ...],
    role: VerifierRole,
) -> Candidates:
    scores = contrast = generalist.astype(np.float64)
    if base is not None:
        contrast = generalist - role.method.delta_weight * base.astype(np.float64)
    if role.terms.candidate_rule == "contrast":
        scores = contrast
    wanted = [
        likeliest_ids(scores, role.terms.candidates),
        np.asarray(drafted, np.intp),
    ]
    ids = np.unique(np.concatenate(wanted)).astype(np.int32)
    return Candidates(
        ids,
        generalist[ids].astype(np.float32),
        None if base is None else base[ids].astype(np.float32),
        _largest_outside(contrast, ids),
    )


def _largest_outside(values: Floats, ids: NDArray[np.int32]) -> float:
    """The largest of values (V,) but for those of `ids`, rounded up to a float32."""
    if len(ids) == len(values):
        return NOTHING_LEFT_OUT
    others = values.copy()
    others[ids] = -np.inf
    largest = others.max()
    rounded = np.float32(largest)
    if rounded < largest:
        rounded = np.nextafter(rounded, np.float32(np.inf))
    return float(rounded)
