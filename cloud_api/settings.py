"""The limits of the server: what everybody together and what one user may have."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How many connections there may be, and how long they may take."""

    connections: int = 2048  # the household's and strangers' together
    reserve: int = 16
    """How many of these are left to strangers, so that health checks are answered
    however many the household has."""
    header_seconds: float = 10.0
    """From accepting a connection, or the first byte of a later request, to the end of
    the request's header."""
    body_seconds: float = 60.0  # from the end of the header to the end of the body
    unread_seconds: float = 30.0
    """How long an answer may wait for a client that does not read."""
    unread_bytes: int = 32 << 20
    """Answers that one user's clients, or strangers from one network, have not read;
    beyond it the connection that holds the most is closed."""

    @property
    def known(self) -> int:
        """The most of the household's."""
        return self.connections - min(self.reserve, self.connections // 4)

    @property
    def known_per_user(self) -> int:
        """The most of one user."""
        return max(1, self.known // 2)

    @property
    def strangers(self) -> int:
        """The most strangers."""
        return max(1, self.connections // 2)

    @property
    def strangers_per_network(self) -> int:
        """The most strangers of one address, or of one IPv6 network."""
        return max(1, self.connections // 8)


@dataclass(frozen=True, slots=True)
class UserLimits:
    """What one user may have at once, on all devices together."""

    sessions: int = 128
    """Sessions remembered; beyond it the user's own longest unused is forgotten."""
    streams: int = 128  # open streams; beyond it the user's own oldest is ended
    prompt_tokens: int = 1 << 17
    """Tokens of texts of which no block was answered yet; beyond it the user's own
    oldest of them is forgotten."""
    openings: int = 64  # texts begun at once; more are asked to come back
    openings_per_second: float = 8.0  # texts begun in the long run
    unread_bytes: int = 32 << 20
    """Answers on streams that the devices have not read; beyond it the stream that
    holds the most is ended."""


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Settings of the service; those of the models belong to who loads them."""

    known_sessions: int = 256
    """Sessions remembered at once, their caches in memory or not."""
    idle_seconds: float = 600.0  # A session that nobody used for so long is forgotten
    answer_bytes: int = 4 << 20
    """The largest answer; a session whose frames would be larger is refused."""
    kept_answer_bytes: int = 64 << 20
    """Answers kept for retries, of all sessions together; beyond it the oldest of the
    user who has the most are dropped."""
    body_bytes: int = 2 << 20  # the largest body of a request
    connections: ConnectionLimits = field(default_factory=ConnectionLimits)
    """How many connections there may be, and how long they may take."""
    user: UserLimits = field(default_factory=UserLimits)
    """What one user may have at once."""
    openai: bool = False  # whether other programs may write with the generalist alone
    stop_seconds: float = 1.0
    """How long a stop waits for the rounds that are being verified."""
