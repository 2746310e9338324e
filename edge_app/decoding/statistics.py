"""The numbers of one text: a fold over its events."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from statistics import median

from edge_app.decoding.events import (
    Event,
    Received,
    Sent,
    Settled,
    Statistics,
    Verified,
)


class Tally:
    """Counts events as they pass."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._started = clock()
        self._origins: Counter[str] = Counter()
        self._drafted = self._accepted = self._up = self._down = 0
        self._round_trips: list[float] = []
        self._left_out: float | None = None

    def add(self, event: Event) -> None:
        """Take one event into account."""
        match event:
            case Settled(tokens=tokens):
                self._origins.update(token.origin for token in tokens)
            case Verified():
                self._drafted += event.drafted
                self._accepted += event.accepted
                self._round_trips.append(event.seconds)
                if event.truncation_bound is not None:
                    self._left_out = max(event.truncation_bound, self._left_out or 0.0)
            case Sent(size=size):
                self._up += size
            case Received(size=size):
                self._down += size
            case _:
                pass

    def statistics(self) -> Statistics:
        """The numbers so far."""
        seconds = self._clock() - self._started
        count = self._origins.total()
        trips = self._round_trips
        return Statistics(
            drafted=self._drafted,
            accepted=self._origins["accepted"],
            recovered=self._origins["recovered"],
            bonus=self._origins["bonus"],
            local=self._origins["local"],
            rounds=len(trips),
            bytes_up=self._up,
            bytes_down=self._down,
            seconds=round(seconds, 4),
            tokens_per_second=round(count / seconds, 2) if seconds > 0 else 0.0,
            acceptance_rate=self._rate(),
            round_trip_ms=round(1000 * median(trips), 3)
            if trips and self._up
            else None,
            truncation_bound=self._left_out,
        )

    def _rate(self) -> float | None:
        return round(self._accepted / self._drafted, 4) if self._drafted else None
