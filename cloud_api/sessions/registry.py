"""All sessions by their ids; time is passed in."""

from __future__ import annotations

from cloud_api.sessions.state import Session
from decoding_core.errors import CloudBusyError, SessionLostError


class Sessions:
    """Remembers at most `limit` sessions, each until it was idle for too long."""

    def __init__(self, limit: int, idle_seconds: float) -> None:
        self._limit = limit
        self._idle_seconds = idle_seconds
        self._sessions: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def __contains__(self, session_id: str) -> bool:
        return session_id in self._sessions

    def get(self, session_id: str, now: float) -> Session:
        """The session, marked as used now.

        Raises:
            SessionLostError: it never was, has ended or was forgotten.
        """
        session = self._sessions.get(session_id)
        if session is None or self._is_over(session, now):
            raise SessionLostError("there is no such session; open a new one")
        session.used = now
        return session

    def add(self, session_id: str, session: Session) -> list[str]:
        """Remember a session; the ids of those forgotten to make room.

        Raises:
            CloudBusyError: every session remembered has a block waiting.
        """
        forgotten = self._make_room()
        self._sessions[session_id] = session
        return forgotten

    def remove(self, session_id: str) -> None:
        """Forget a session, if it is there."""
        self._sessions.pop(session_id, None)

    def expire(self, now: float) -> list[str]:
        """Forget what was idle for too long; its ids."""
        over = [i for i, one in self._sessions.items() if self._is_over(one, now)]
        for session_id in over:
            del self._sessions[session_id]
        return over

    def _make_room(self) -> list[str]:
        if len(self._sessions) < self._limit:
            return []
        idle = [i for i, one in self._sessions.items() if one.idle]
        if not idle:
            raise CloudBusyError("all sessions of this server are in use")
        longest = min(idle, key=lambda i: self._sessions[i].used)
        del self._sessions[longest]
        return [longest]

    def _is_over(self, session: Session, now: float) -> bool:
        return session.idle and now - session.used > self._idle_seconds
