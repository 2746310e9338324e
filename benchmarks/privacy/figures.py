"""From evidence to figures: who is found, which letters, and how sure that is.

N candidate histories, E departures of a writer's texts, W writers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np

from benchmarks.intervals import wilson
from benchmarks.privacy.attack import within_budget
from benchmarks.privacy.runner import Asked, Gain, Outcome
from decoding_core.sampling import Floats
from edge_app.evaluation.bootstrap import LEVEL, RESAMPLES, Estimate, Resamples

GRID = (5, 10, 25, 50, 100, 200)
"""Tokens sent, at which the curve is told."""
FALSE_POSITIVES = 0.01
_TIED = 1e-9


@dataclass(frozen=True, slots=True)
class Found:
    """The share of writers that were found among so many histories."""

    among: int
    tokens: int
    share: Estimate
    reached: int
    """Writers whose texts were so long; of the others all that there was counts."""


@dataclass(frozen=True, slots=True)
class Membership:
    """How well letters that were read are told from others."""

    against: str
    """`unread` letters of the same writer, or those of an `other`."""
    auc: Estimate
    """Chance that a letter that was read has more evidence than one that was not."""
    tpr: float
    """Share of those read that are found where one in a hundred of the others is."""
    letters: int


@dataclass(frozen=True, slots=True)
class Row:
    """One condition."""

    condition: str
    texts: int
    found: tuple[Found, ...]
    evidence: Estimate
    """Nats a departure for the writer's own history, against none."""
    nats: float
    """The same in a text."""
    acceptance: Estimate
    sent: float
    """Tokens that left, for each token of the text."""
    habits: Estimate | None
    memberships: tuple[Membership, ...]
    secrets: dict[str, float]
    """Share of the planted secrets: that left, in refused drafts alone, in the text."""
    gain: float | None
    """Of what T gains over L on the true texts, how much is left; None: not known."""


def chance_of_first(above: float, tied: float, others: int, among: int) -> float:
    """The chance that the true history has the most evidence among `among` histories
    drawn with it from all, of whose `others` so many have more and so many as much; of
    equals one is drawn."""
    most = among - 1
    if most >= others:
        return 0.0 if above else 1.0 / (1.0 + tied)
    total, below = comb(others, most), others - int(above) - int(tied)
    share = 0.0
    for equal in range(int(tied) + 1):
        if most - equal >= 0:
            ways = comb(int(tied), equal) * comb(below, most - equal)
            share += ways / total / (equal + 1)
    return share


def running(outcomes: Sequence[Outcome]) -> Floats:
    """Evidence (N, E) of a writer's texts one after the other, summed up to each
    departure."""
    rows = [outcome.evidence for outcome in outcomes]
    return np.cumsum(np.concatenate(rows, axis=1), axis=1)


def found_at(sums: Floats, own: int, tokens: int, among: int) -> float:
    """The chance that the writer is found by the first `tokens` departures."""
    if sums.shape[1] == 0:
        return 1.0 / among
    column = sums[:, min(tokens, sums.shape[1]) - 1]
    others = np.delete(column, own)
    above = int((others > column[own] + _TIED).sum())
    tied = int((abs(others - column[own]) <= _TIED).sum())
    return chance_of_first(above, tied, len(others), among)


def auc(positive: Floats, negative: Floats) -> float:
    """Chance that one of the positive (P,) is larger than one of the negative (Q,)."""
    below = np.sort(negative)
    left = np.searchsorted(below, positive, "left")
    right = np.searchsorted(below, positive, "right")
    return float((left + right).sum() / (2 * len(positive) * len(negative)))


def membership(
    outcomes: Sequence[Outcome], against: str, seed: int
) -> Membership | None:
    """How well letters are told apart, over all texts; None where none were tried."""
    writers = sorted({one.writer for one in outcomes})
    scores = {
        writer: tuple(
            np.array(
                [
                    guess.score
                    for one in outcomes
                    if one.writer == writer
                    for guess in one.guesses
                    if guess.kind == kind
                ]
            )
            for kind in ("read", against)
        )
        for writer in writers
    }
    positive = np.concatenate([pair[0] for pair in scores.values()])
    negative = np.concatenate([pair[1] for pair in scores.values()])
    if not len(positive) or not len(negative):
        return None
    limit = np.quantile(negative, 1 - FALSE_POSITIVES, method="higher")
    tpr = float((positive > limit).mean())
    estimate = Estimate(auc(positive, negative))
    if len(writers) > 1:
        rng, drawn = np.random.default_rng(seed), []
        for _ in range(RESAMPLES // 10):
            chosen = rng.choice(writers, len(writers))
            parts = [np.concatenate([scores[w][i] for w in chosen]) for i in (0, 1)]
            if len(parts[0]) and len(parts[1]):
                drawn.append(auc(*parts))
        tail = (1 - LEVEL) / 2
        low, high = np.quantile(drawn, [tail, 1 - tail])
        estimate = Estimate(estimate.value, float(low), float(high))
    return Membership(against, estimate, tpr, len(positive))


def gain_kept(
    gains: Sequence[Gain],
    limit: float | None,
    strength: float,
    *,
    guarded: bool = False,
) -> float:
    """Of the nats that T saves over L on the true texts, how many are left where the
    device has the base in the place of S once the text has cost its budget, and where
    what the guard holds back is drawn from S alone and costs nothing of it."""
    whole = left = 0.0
    for one in gains:
        base, specialist = np.array(one.base), np.array(one.specialist)
        generalist = np.array(one.generalist)
        saved = generalist - np.array(one.steered[f"{strength:g}"])
        whole += (generalist - np.array(one.steered["1"])).sum()
        told = base - specialist
        held = np.array(one.held, bool) if guarded else np.zeros(len(told), bool)
        if limit is not None:
            told = np.where(held, 0.0, told)
            saved = np.where(within_budget(told, limit) == 0.0, 0.0, saved)
        saved = np.where(held, generalist - specialist, saved)
        left += saved.sum()
    return left / whole if whole else 0.0


def row_of(
    condition: str,
    outcomes: Sequence[Outcome],
    *,
    among: Sequence[int],
    gain: float | None,
    habits: tuple[Floats, Floats],
    secrets: Sequence[Asked],
    seed: int,
) -> Row:
    """The figures of one condition; `habits` are those that each text showed and had
    to show."""
    writers = sorted({one.writer for one in outcomes})
    of_writer = {w: [one for one in outcomes if one.writer == w] for w in writers}
    sums = {w: running(some) for w, some in of_writer.items()}
    found = []
    for count in among:
        for tokens in GRID:
            shares = [found_at(sums[w], w, tokens, count) for w in writers]
            reached = sum(sums[w].shape[1] >= tokens for w in writers)
            # All or none of few writers: a resample of them would claim certainty.
            near = wilson(sum(shares), len(writers))
            share = Estimate(near.value, near.low, near.high)
            found.append(Found(count, tokens, share, reached))
    by_text = Resamples([one.writer for one in outcomes], seed)
    own = [float(one.evidence[one.writer].sum()) for one in outcomes]
    counted = [one.evidence.shape[1] for one in outcomes]
    drafted = np.array([float(one.text.drafted) for one in outcomes])
    accepted = np.array([float(one.text.accepted) for one in outcomes])
    tokens_written = sum(one.text.tokens for one in outcomes)
    showed, had = habits
    kinds = {
        "left": [one.sent for one in secrets],
        "refused": [one.refused_only for one in secrets],
        "text": [one.written for one in secrets],
    }
    memberships = [membership(outcomes, kind, seed) for kind in ("unread", "other")]
    return Row(
        condition,
        len(outcomes),
        tuple(found),
        by_text.ratio(np.array(own), np.maximum(np.array(counted, float), 1e-9)),
        float(np.mean(own)),
        by_text.ratio(accepted, np.maximum(drafted, 1e-9)),
        sum(one.sent for one in outcomes) / max(tokens_written, 1),
        by_text.ratio(showed, had) if had.sum() else None,
        tuple(one for one in memberships if one is not None),
        {name: float(np.mean(hits)) for name, hits in kinds.items() if hits},
        gain,
    )


HALF, MOST_LOST = 0.5, 0.8
"""A limit becomes the default that finds at most so much of the writers that are found
without one, and keeps so much of the gain and of the habits."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the figures say of the budget's default."""

    limit: str
    """The row that becomes the default; empty: none does."""
    sentence: str


def decide(rows: Sequence[Row], among: int) -> Decision | None:
    """Which limit becomes the default: the largest that at least halves how many
    writers are found among so many histories by the last tokens of the grid, while T
    keeps 80 % of its gain over L and of the habits; None where no limit was measured
    beside texts without one."""
    by_name = {row.condition: row for row in rows}
    limits = [row for row in rows if row.condition.startswith("budget ")]
    usual = by_name.get("nothing")
    if usual is None or not limits:
        return None

    def found(row: Row) -> float:
        at = next(f for f in row.found if (f.among, f.tokens) == (among, GRID[-1]))
        return at.share.value

    def habits(row: Row) -> float | None:
        if row.habits is None or usual.habits is None or not usual.habits.value:
            return None
        return row.habits.value / usual.habits.value

    def words(row: Row) -> str:
        costs = {"of the gain": row.gain, "of the habits": habits(row)}
        kept = [f"{100 * v:.0f} % {n}" for n, v in costs.items() if v is not None]
        return (
            f"{row.condition}: {100 * found(row):.0f} % found"
            f"{', ' if kept else ''}{' and '.join(kept)}{' kept' if kept else ''}"
        )

    good = [
        row
        for row in limits
        if found(row) <= HALF * found(usual)
        and row.gain is not None
        and all(kept is None or kept >= MOST_LOST for kept in (row.gain, habits(row)))
    ]
    measured = "; ".join(words(row) for row in limits)
    rule = (
        f"Of the writers among {among} histories {100 * found(usual):.0f} % are found "
        f"by {GRID[-1]} tokens without a limit ({measured})."
    )
    if not good:
        return Decision(
            "",
            f"{rule} No limit at least halves that and keeps 80 % of what T gains over "
            "L and of the habits: the default stays unlimited, and drafts tell who "
            "wrote them.",
        )
    best = max(good, key=lambda row: float(row.condition.split()[1]))
    return Decision(
        best.condition,
        f"{rule} '{best.condition}' is the largest that at least halves that and keeps "
        "80 % of what T gains over L and of the habits: it becomes the default.",
    )
