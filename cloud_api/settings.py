"""What a running server is told, once, at its start."""

from __future__ import annotations

from dataclasses import dataclass, field


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


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of the service; those of the models belong to who loads them."""

    known_sessions: int = 256
    """Sessions remembered at once, their caches in memory or not."""
    idle_seconds: float = 600.0
    """A session that nobody used for so long is forgotten."""
    candidates: int | None = None
    """The most candidates a row may hold; None: the whole vocabulary."""
    answer_bytes: int = 4 << 20
    """The largest answer; a session whose frames would be larger is refused."""
    body_bytes: int = 2 << 20
    """The largest body of a request."""
    door: DoorLimits = field(default_factory=DoorLimits)
    """How many connections there may be, and how long they may take."""
    openai: bool = False
    """Whether other programs may write with the generalist alone."""
    stop_seconds: float = 1.0
    """How long a stop waits for the rounds that are being verified."""
