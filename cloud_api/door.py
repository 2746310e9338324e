"""Which connections may stay: how many, and how long each may keep the server waiting.

Anybody who reaches the port can open connections, so those on which no request has
carried the token yet (the *strangers*) have limits of their own: beyond them the oldest
stranger has to go, not the newest, for a device that has just come is about to show its
token. The household's connections are never closed for a stranger's sake. Pure: time is
passed in.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Stage = Literal["header", "body"]


@dataclass(frozen=True, slots=True)
class DoorLimits:
    """How many connections there may be, and how long they may take."""

    connections: int = 512
    """In all, the household's and strangers'."""
    header_seconds: float = 10.0
    """From accepting a connection, or the first byte of a later request, to the end of
    the request's header."""
    body_seconds: float = 60.0
    """From the end of the header to the end of the body."""
    unread_seconds: float = 30.0
    """How long an answer may wait for a client that does not read."""

    @property
    def strangers(self) -> int:
        """The most strangers."""
        return max(1, self.connections // 2)

    @property
    def strangers_per_network(self) -> int:
        """The most strangers of one address, or of one IPv6 network."""
        return max(1, self.connections // 8)


class Visit:
    """One connection, as the door sees it. `leave` must close it at once; why is a
    stage that took too long, or None when there is no room."""

    def __init__(self, address: str, leave: Callable[[Stage | None], None]) -> None:
        self.network = network_of(address)
        self.leave = leave
        self.known = False
        """Whether a request has carried the token."""
        self.resting_since: float | None = None
        """Since when it waits for a further request; None while it has one."""
        self.stage: Stage | None = None
        """What the server waits for."""
        self.deadline: float | None = None
        self.unread_deadline: float | None = None


class Door:
    """All connections there are, the oldest first."""

    def __init__(self, limits: DoorLimits) -> None:
        self.limits = limits
        self._visits: dict[Visit, None] = {}

    def __len__(self) -> int:
        return len(self._visits)

    def enter(self, visit: Visit, now: float) -> None:
        """Let a connection in; where there is no room, one has to leave."""
        self._visits[visit] = None
        self.expect(visit, "header", now)
        surplus = self._surplus(visit)
        if surplus is not None:
            self._turn_out(surplus, None)

    def leave(self, visit: Visit) -> None:
        """The connection has ended."""
        self._visits.pop(visit, None)

    def expect(self, visit: Visit, stage: Stage | None, now: float) -> None:
        """What a connection's client has to send next. A stage that goes on keeps its
        deadline, however many bytes have dripped in."""
        visit.resting_since = None
        if stage == visit.stage:
            return
        visit.stage = stage
        visit.deadline = None
        if stage is not None:
            seconds = {
                "header": self.limits.header_seconds,
                "body": self.limits.body_seconds,
            }[stage]
            visit.deadline = now + seconds

    def rest(self, visit: Visit, now: float) -> None:
        """The client has its answer, and may ask again."""
        self.expect(visit, None, now)
        visit.resting_since = now

    def unread(self, visit: Visit, now: float | None) -> None:
        """The client has not read its answer at `now`; None: it reads again."""
        if now is None:
            visit.unread_deadline = None
        else:
            visit.unread_deadline = now + self.limits.unread_seconds

    def expire(self, now: float) -> None:
        """Close what has kept the server waiting for too long."""
        for visit in list(self._visits):
            if visit.deadline is not None and visit.deadline <= now:
                self._turn_out(visit, visit.stage)
            elif visit.unread_deadline is not None and visit.unread_deadline <= now:
                self._turn_out(visit, None)

    def _turn_out(self, visit: Visit, stage: Stage | None) -> None:
        del self._visits[visit]
        visit.leave(stage)

    def _surplus(self, newcomer: Visit) -> Visit | None:
        """The connection for which there is no room."""
        strangers = [visit for visit in self._visits if not visit.known]
        neighbours = [one for one in strangers if one.network == newcomer.network]
        if len(neighbours) > self.limits.strangers_per_network:
            return neighbours[0]
        if len(self._visits) > self.limits.connections and len(strangers) == 1:
            return self._longest_resting() or newcomer
        crowded = len(strangers) > self.limits.strangers
        if not crowded and len(self._visits) <= self.limits.connections:
            return None
        # Whoever fills the room makes room: the network with the most strangers.
        fullest = Counter(one.network for one in strangers).most_common(1)[0][0]
        return next(one for one in strangers if one.network == fullest)

    def _longest_resting(self) -> Visit | None:
        """The connection of the household that has waited longest between requests,
        which clients open again by themselves."""
        resting = [one for one in self._visits if one.resting_since is not None]
        return min(resting, key=lambda one: one.resting_since or 0.0, default=None)


def network_of(address: str) -> str:
    """What counts as one place: an IPv4 address, or an IPv6 network of 64 bits, of
    which every machine can take as many addresses as it likes."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        mapped = parsed.ipv4_mapped
        if mapped is not None:
            return str(mapped)
        return str(ipaddress.IPv6Network((parsed.packed, 64), strict=False))
    return str(parsed)
