"""From measured texts to figures with intervals, for each set and genre."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from decoding_core.sampling import Floats
from edge_app.evaluation.bootstrap import Estimate, Resamples
from edge_app.evaluation.pair import Measured, Measuring

NATS_PER_BIT = float(np.log(2))
FEWEST_UNITS = 6
"""Of fewer users or texts, even all pointing one way may be chance: 2 / 2**5 > 5 %."""


@dataclass(frozen=True, slots=True)
class Change:
    """How much cheaper a text is under one distribution than under another."""

    relative: Estimate
    """As a share of the second's; negative is better."""
    absolute: Estimate
    """In nats per byte."""
    units: int
    """How many users, or texts of the only one, the intervals are drawn from."""

    @property
    def verdict(self) -> str:
        """Whether the first is better: `yes`, `no`, or `unclear` where the interval
        holds zero, or comes from too few."""
        low, high = self.relative.low, self.relative.high
        if self.units < FEWEST_UNITS or low is None or high is None:
            return "unclear"
        if low <= 0.0 <= high:
            return "unclear"
        return "yes" if high < 0.0 else "no"


@dataclass(frozen=True, slots=True)
class Group:
    """The figures of the texts of one genre in one set."""

    group: str
    genre: str
    texts: int
    users: int
    tokens: int
    size: int
    """Bytes that were counted."""
    base: Estimate
    """This and the following three in nats per byte."""
    specialist: Estimate
    generalist: Estimate
    steered: dict[float, Estimate]
    """By strength."""
    best: float
    """The strength at which the target is cheapest, chosen on these very texts."""
    history: Change
    """Specialist against base."""
    scale: Change
    """Generalist against base."""
    steering: dict[float, Change]
    """The target against the generalist, by strength."""
    kept: dict[float, Estimate]
    """Share of the specialist's tokens that the server would keep, by threshold."""

    @property
    def name(self) -> str:
        """Set and genre in words."""
        return f"{self.group}, {self.genre}" if self.genre else self.group


def summarise(texts: Sequence[Measured], how: Measuring, seed: int = 0) -> list[Group]:
    """A group for each set and genre, in the order in which they came; then one of all
    texts, where there are several."""
    names = list(dict.fromkeys((one.case.group, one.case.genre) for one in texts))
    groups = []
    for name in names:
        members = [t for t in texts if (t.case.group, t.case.genre) == name]
        groups.append(_group(name, members, how, seed))
    if len(groups) > 1:
        groups.append(_group(("all", ""), texts, how, seed))
    return groups


def _group(
    name: tuple[str, str], texts: Sequence[Measured], how: Measuring, seed: int
) -> Group:
    users = [(one.case.group, one.case.user) for one in texts]
    size = np.array([one.size for one in texts], float)
    tokens = np.array([one.tokens for one in texts], float)
    draws = Draws(Resamples(users, seed), size)
    base, specialist, generalist = _columns(
        [(one.base, one.specialist, one.generalist) for one in texts]
    )
    targets = _columns([one.steered for one in texts])
    steered = dict(zip(how.strengths, targets, strict=True))
    kept = zip(how.thresholds, _columns([one.kept for one in texts]), strict=True)
    return Group(
        *name,
        texts=len(texts),
        users=len(set(users)),
        tokens=int(tokens.sum()),
        size=int(size.sum()),
        base=draws.per_byte(base),
        specialist=draws.per_byte(specialist),
        generalist=draws.per_byte(generalist),
        steered={beta: draws.per_byte(nats) for beta, nats in steered.items()},
        best=min(steered, key=lambda beta: float(steered[beta].sum())),
        history=draws.change(specialist, base),
        scale=draws.change(generalist, base),
        steering={b: draws.change(nats, generalist) for b, nats in steered.items()},
        kept={limit: draws.resamples.ratio(n, tokens) for limit, n in kept},
    )


@dataclass(frozen=True, slots=True)
class Draws:
    """Figures of n texts from their nats (n,)."""

    resamples: Resamples
    size: Floats
    """Bytes (n,)."""

    def per_byte(self, nats: Floats) -> Estimate:
        """Nats per byte."""
        return self.resamples.ratio(nats, self.size)

    def change(self, after: Floats, before: Floats) -> Change:
        """How much cheaper texts are after than before."""
        relative = self.resamples.ratio(after, before, 1.0)
        return Change(relative, self.per_byte(after - before), self.resamples.units)


def _columns(rows: Sequence[tuple[float, ...]]) -> list[Floats]:
    return list(np.array(rows, float).T)
