"""From measured texts to figures with intervals, and what follows from them.

Texts of one user are alike, so users are drawn, not texts; of an only user the texts.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from decoding_core.errors import ContextFullError, StoppedError
from decoding_core.sampling import Floats
from edge_app.evaluation.cases import Case
from edge_app.evaluation.pair import Measured, Measuring, Pair, Speed

RESAMPLES = 2_000
LEVEL = 0.95
NATS_PER_BIT = float(np.log(2))
FEWEST_UNITS = 6  # with fewer, all may agree by chance: 2 / 2**5 > 5 %
WORTH = 0.01  # share of the nats that faster writing may cost, slower must save


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its interval, which is absent if there is but one draw."""

    value: float
    low: float | None = None
    high: float | None = None


class Resamples:
    """The same draws for every figure of the same n texts: differences are paired."""

    def __init__(self, users: Sequence[Hashable], seed: int) -> None:
        """`users` (n,) says whose each text is."""
        numbers: dict[Hashable, int] = {}
        clusters = [numbers.setdefault(user, len(numbers)) for user in users]
        if len(set(clusters)) == 1:
            clusters = list(range(len(users)))
        self.units = count = len(set(clusters))  # users, or texts of the only one
        self.weights: NDArray[np.int64] | None = None  # (RESAMPLES, n)
        if count > 1:
            drawn = np.random.default_rng(seed).multinomial(
                count, np.full(count, 1 / count), size=RESAMPLES
            )
            self.weights = drawn[:, clusters]

    def ratio(self, above: Floats, below: Floats, less: float = 0.0) -> Estimate:
        """Sum of `above` (n,) over sum of `below` (n,), minus `less`."""
        value = float(above.sum() / below.sum()) - less
        if self.weights is None:
            return Estimate(value)
        ratios = (self.weights @ above) / (self.weights @ below) - less
        tail = (1 - LEVEL) / 2
        low, high = np.quantile(ratios, [tail, 1 - tail])
        return Estimate(value, float(low), float(high))


@dataclass(frozen=True, slots=True)
class Change:
    """How much cheaper a text is under one distribution than under another."""

    relative: Estimate  # as a share of the second's; negative is better
    absolute: Estimate  # in nats per byte
    units: int  # how many users, or texts of the only one, the intervals are drawn from

    @property
    def verdict(self) -> str:
        """`yes`, `no`, or `unclear`: zero lies within, or texts are too few."""
        low, high = self.relative.low, self.relative.high
        if self.units < FEWEST_UNITS or low is None or high is None:
            return "unclear"
        if low <= 0.0 <= high:
            return "unclear"
        return "yes" if high < 0.0 else "no"


class Draws:
    """Figures of measured texts (n,), with intervals."""

    def __init__(self, texts: Sequence[Measured], seed: int) -> None:
        users = [(one.case.group, one.case.user) for one in texts]
        self.users = len(set(users))
        self.resamples = Resamples(users, seed)
        self.size = np.array([one.size for one in texts], float)
        self.tokens = np.array([one.tokens for one in texts], float)
        self.base = np.array([one.base for one in texts])
        self.specialist = np.array([one.specialist for one in texts])
        self.generalist = np.array([one.generalist for one in texts])
        self.steered = np.array([one.steered for one in texts], float)  # (n, N)
        self.kept = np.array([one.kept for one in texts], float)  # (n, K)

    def per_byte(self, nats: Floats) -> Estimate:
        """Nats per byte."""
        return self.resamples.ratio(nats, self.size)

    def per_token(self, counts: Floats) -> Estimate:
        """A share of the tokens."""
        return self.resamples.ratio(counts, self.tokens)

    def change(self, after: Floats, before: Floats) -> Change:
        """How much cheaper texts are after than before."""
        relative = self.resamples.ratio(after, before, 1.0)
        return Change(relative, self.per_byte(after - before), self.resamples.units)


@dataclass(frozen=True, slots=True)
class Group:
    """The figures of the texts of one genre in one set."""

    group: str
    genre: str
    texts: int
    users: int
    tokens: int
    size: int  # bytes that were counted
    best: float  # the cheapest strength on these very texts
    nats: dict[str, Estimate]  # per byte: `B`, `S`, `L`, `T 0.5` and so on
    changes: dict[str, Change]
    """`S - B`, `L - B` and, by strength, `T 0.5 - L` and `T 0.5 - S`."""
    kept: dict[float, Estimate]  # share kept by the server, by threshold

    @property
    def name(self) -> str:
        """Set and genre in words."""
        return f"{self.group}, {self.genre}" if self.genre else self.group

    @property
    def target(self) -> str:
        """The name of the target at the best strength."""
        return f"T {self.best:g}"


def summarise(texts: Sequence[Measured], how: Measuring, seed: int = 0) -> list[Group]:
    """A group for each set and genre, in their order, then one of all if several."""
    names = list(dict.fromkeys((one.case.group, one.case.genre) for one in texts))
    members = {
        name: [t for t in texts if (t.case.group, t.case.genre) == name]
        for name in names
    }
    if len(names) > 1:
        members["all", ""] = list(texts)
    return [_group(name, some, how, seed) for name, some in members.items()]


def _group(
    name: tuple[str, str], texts: Sequence[Measured], how: Measuring, seed: int
) -> Group:
    d = Draws(texts, seed)
    steered = dict(zip(how.strengths, d.steered.T, strict=True))
    targets = {f"T {beta:g}": nats for beta, nats in steered.items()}
    models = {"B": d.base, "S": d.specialist, "L": d.generalist, **targets}
    return Group(
        *name,
        texts=len(texts),
        users=d.users,
        tokens=int(d.tokens.sum()),
        size=int(d.size.sum()),
        best=min(steered, key=lambda beta: float(steered[beta].sum())),
        nats={name: d.per_byte(nats) for name, nats in models.items()},
        changes={
            "S - B": d.change(d.specialist, d.base),
            "L - B": d.change(d.generalist, d.base),
            **{f"{t} - L": d.change(n, d.generalist) for t, n in targets.items()},
            **{f"{t} - S": d.change(n, d.specialist) for t, n in targets.items()},
        },
        kept={
            limit: d.per_token(counts)
            for limit, counts in zip(how.thresholds, d.kept.T, strict=True)
        },
    )


@dataclass(frozen=True, slots=True)
class Point:
    """One value of a setting."""

    value: float
    nats: Estimate  # of the true texts, per byte
    change: Change  # against the value that is set now
    kept: Estimate | None = None  # share of the specialist's tokens that are kept
    more_kept: Estimate | None = None  # against the value that is set now


@dataclass(frozen=True, slots=True)
class Curve:
    """All values of one setting that were tried."""

    name: str
    now: float
    chosen: float  # `now`, if nothing is clearly better
    points: tuple[Point, ...]

    def at(self, value: float) -> Point:
        """The point of a value that was tried."""
        return next(point for point in self.points if point.value == value)

    @property
    def best(self) -> float:
        """The value with the fewest nats, clearly or not."""
        return min(self.points, key=_nats).value


@dataclass(frozen=True, slots=True)
class Tuned:
    """The strength and the threshold that suit the texts."""

    strength: Curve
    threshold: Curve
    texts: int
    units: int  # how many users, or texts of the only one, the intervals are drawn from

    @property
    def enough(self) -> bool:
        """Whether there are texts enough to choose by."""
        return self.units >= FEWEST_UNITS


def tune(
    texts: Sequence[Measured],
    how: Measuring,
    strength: float,
    threshold: float,
    seed: int,
) -> Tuned:
    """The choice for these texts; `strength` and `threshold` are set now, and among
    those measured. Nothing changes for what may be chance."""
    d = Draws(texts, seed)
    before = d.steered[:, how.strengths.index(strength)]
    points = tuple(
        Point(value, d.per_byte(nats), d.change(nats, before))
        for value, nats in zip(how.strengths, d.steered.T, strict=True)
    )
    clear = [point for point in points if point.change.verdict == "yes"]
    chosen = min(clear, key=_nats).value if clear else strength
    by_strength = Curve("strength", strength, chosen, points)

    row, now = how.strengths.index(chosen), how.thresholds.index(threshold)
    emitted = np.array([one.emitted[row] for one in texts], float)  # (n, K)
    points = tuple(
        Point(
            value,
            d.per_byte(nats),
            d.change(nats, emitted[:, now]),
            d.per_token(kept),
            d.per_token(kept - d.kept[:, now]),
        )
        for value, nats, kept in zip(how.thresholds, emitted.T, d.kept.T, strict=True)
    )
    enough = d.resamples.units >= FEWEST_UNITS
    chosen = _threshold(points, threshold) if enough else threshold
    by_threshold = Curve("threshold", threshold, chosen, points)
    return Tuned(by_strength, by_threshold, len(texts), d.resamples.units)


def _threshold(points: Sequence[Point], now: float) -> float:
    """The cheapest that clearly saves enough, else the fastest that costs little."""

    def costs_at_most(point: Point, share: float) -> bool:
        high = point.change.relative.high
        return high is not None and high <= share

    def kept(point: Point) -> float:
        return point.kept.value if point.kept else 0.0

    saving = [point for point in points if costs_at_most(point, -WORTH)]
    faster = [
        point
        for point in points
        if costs_at_most(point, WORTH) and point.more_kept and point.more_kept.low
        if point.more_kept.low > 0.0
    ]
    if saving:
        return min(saving, key=_nats).value
    return max(faster, key=kept).value if faster else now


def _nats(point: Point) -> float:
    return point.nats.value


@dataclass(frozen=True, slots=True)
class Worth:
    """What measured texts say of a pair; differences are in nats a text."""

    texts: int
    tokens: int
    kept: Estimate  # share of the specialist's tokens that the server would keep
    history: Estimate  # S - B; negative: the history helps
    steering: Estimate  # T - L; negative: steering helps


@dataclass(frozen=True, slots=True)
class PairCheck:
    """What was found within the time."""

    specialist: Speed
    generalist: Speed
    worth: Worth | None  # none if no text could be measured in the time
    seconds: float


def check_pair(
    pair: Pair,
    cases: Sequence[Case],
    how: Measuring,
    seconds: float,
    stop: threading.Event,
    progress: Callable[[int, int], None],
) -> PairCheck:
    """Measure speeds, then as many texts as the time allows, of all kinds in turn.

    `pair` was loaded with `stop`, which is set when the time is over; `progress` gets
    seconds spent and allowed. Raises StoppedError before the speeds are known.
    """
    began = time.monotonic()
    small, large = pair.speeds()
    measured: list[Measured] = []
    left = seconds - (time.monotonic() - began)
    alarm = threading.Timer(max(0.0, left), stop.set)
    alarm.daemon = True
    alarm.start()
    try:
        for case in in_turn(cases):
            progress(min(int(time.monotonic() - began), int(seconds)), int(seconds))
            try:
                measured.append(pair.measure(case, how))
            except ContextFullError:
                continue
            if stop.is_set():
                break
    except StoppedError:
        pass  # what is measured counts
    finally:
        alarm.cancel()
    spent = time.monotonic() - began
    return PairCheck(small, large, worth_of(measured) if measured else None, spent)


def in_turn(cases: Sequence[Case]) -> list[Case]:
    """The newest of each kind first, then the second newest of each, and so on."""
    kinds: dict[str, list[Case]] = {}
    for case in reversed(cases):
        kinds.setdefault(case.genre, []).append(case)
    longest = max(map(len, kinds.values()), default=0)
    return [of[at] for at in range(longest) for of in kinds.values() if at < len(of)]


def worth_of(measured: Sequence[Measured], seed: int = 0) -> Worth:
    """The figures of measured texts, with intervals."""
    d, each = Draws(measured, seed), np.ones(len(measured))
    return Worth(
        len(measured),
        int(d.tokens.sum()),
        d.per_token(d.kept[:, 0]),
        d.resamples.ratio(d.specialist - d.base, each),
        d.resamples.ratio(d.steered[:, 0] - d.generalist, each),
    )
