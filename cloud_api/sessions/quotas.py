"""What keeps one user from taking the server from the others. Pure: time is passed in.

A caller that is refused is told when to come back, and that is kept: the moment is
booked, and whoever comes back then, or a little later, is let in. Bookings belong to
devices: two devices of a user do not take each other's.
"""

from __future__ import annotations

import math
from bisect import insort

from cloud_api.callers import Caller
from cloud_api.errors import QuotaError

GRACE_SECONDS = 10.0
"""How long after its moment a booking holds."""
_HORIZON_SECONDS = 60.0
"""No moment is booked later than that; who would have to wait for longer is told this,
and nothing is booked."""


class Bookings:
    """The moments at which devices were told to come back, the earliest first."""

    def __init__(self) -> None:
        self._moments: dict[str, list[float]] = {}

    def book(self, device: str, wait: float, now: float) -> int:
        """Book a moment for a device; how many seconds it has to wait."""
        seconds = max(1, math.ceil(wait))
        if seconds > _HORIZON_SECONDS:
            return math.ceil(_HORIZON_SECONDS)
        insort(self._moments.setdefault(device, []), now + seconds)
        return seconds

    def redeem(self, device: str, now: float) -> bool:
        """Whether a booked moment of a device has come, which is then used up."""
        moments = self._moments.get(device)
        while moments and moments[0] < now - GRACE_SECONDS:
            del moments[0]
        if moments and moments[0] <= now:
            del moments[0]
            return True
        if not moments:
            self._moments.pop(device, None)
        return False


class Openings:
    """How often each user begins a text: so many at once, and so many per second in the
    long run. A refusal books the next moment there is and counts as an opening."""

    def __init__(self, burst: int, per_second: float) -> None:
        self._burst = float(burst)
        self._rate = per_second
        self._left: dict[str, tuple[float, float]] = {}
        """By user: openings left, and when that was so; below 0 where moments are
        booked."""
        self._bookings = Bookings()

    def admit(self, caller: Caller, now: float) -> None:
        """Count one opening; raises QuotaError, with the time after which the caller is
        let in, where there were too many."""
        if self._bookings.redeem(caller.device, now):
            return
        left, since = self._left.get(caller.user, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._rate)
        wait = (1.0 - left) / self._rate
        if wait <= _HORIZON_SECONDS:
            left -= 1.0
        self._left[caller.user] = left, now
        if wait > 0.0:
            raise QuotaError(
                "this user begins texts faster than the server reads them; come back "
                "later",
                self._bookings.book(caller.device, wait, now),
            )
