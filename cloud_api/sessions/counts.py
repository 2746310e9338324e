"""What the service has done since it started, in numbers alone."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from decoding_core.messages import Kind, Signal, Verdict

SECONDS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Upper bounds of what a histogram of times tells apart."""
_RESULTS = {Kind.RESYNC: "resync", Kind.BUSY: "busy"}


class Histogram:
    """How many values lay at or below each bound, and their sum."""

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self.bounds = tuple(bounds)
        self.sum = 0.0
        self._counts = [0] * (len(bounds) + 1)

    def add(self, value: float, times: int = 1) -> None:
        """Count a value."""
        self._counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times

    def cumulative(self) -> list[tuple[str, int]]:
        """Each bound as Prometheus writes it, with how many values it holds below."""
        total, found = 0, []
        names = [*map(str, self.bounds), "+Inf"]
        for name, count in zip(names, self._counts, strict=True):
            total += count
            found.append((name, total))
        return found


@dataclass(slots=True)
class RoundCounts:
    """The blocks that were answered."""

    results: Counter[str] = field(default_factory=Counter)
    """By what came of them: `kept` whole, `refused` in part, `told` where the device
    decides, `resync`, `busy`, `error`."""
    drafted: int = 0
    """Tokens of the blocks that this server decided on."""
    accepted: int = 0
    """Those of them that stay."""
    verify_seconds: Histogram = field(default_factory=Histogram)
    """What the models took for the step of a block."""
    queue_seconds: Histogram = field(default_factory=Histogram)
    """How long a block waited besides."""

    def add(
        self, drafted: int, answer: Verdict | Signal, seconds: float, *, decides: bool
    ) -> None:
        """Count the answer to a block that came after so many seconds."""
        if isinstance(answer, Signal):
            self.results[_RESULTS.get(answer.kind, "error")] += 1
            return
        self.verify_seconds.add(answer.seconds)
        self.queue_seconds.add(max(0.0, seconds - answer.seconds))
        if not decides:
            self.results["told"] += 1
            return
        self.drafted += drafted
        self.accepted += answer.accepted
        self.results["kept" if answer.accepted == drafted else "refused"] += 1

    @property
    def acceptance(self) -> float | None:
        """Accepted / drafted; None before anything was decided."""
        return self.accepted / self.drafted if self.drafted else None
