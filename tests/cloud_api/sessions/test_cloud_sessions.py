"""Which sessions are remembered, and which make room."""

import pytest

from cloud_api.sessions.service import Sessions
from decoding_core.errors import CloudBusyError, SessionLostError


class FakeSession:
    def __init__(self, used, idle=True):
        self.used, self.idle = used, idle


def test_idle_sessions_are_forgotten_and_busy_ones_are_not():
    sessions = Sessions(limit=9, idle_seconds=10)
    sessions.add("idle", FakeSession(used=0))
    sessions.add("busy", FakeSession(used=0, idle=False))

    with pytest.raises(SessionLostError):
        sessions.get("idle", now=11)
    assert sessions.expire(now=11) == ["idle"]
    assert sessions.get("busy", now=11).used == 11
    assert len(sessions) == 1


def test_the_longest_idle_session_makes_room():
    sessions = Sessions(limit=2, idle_seconds=10)
    sessions.add("old", FakeSession(used=1))
    sessions.add("older but busy", FakeSession(used=0, idle=False))

    assert sessions.add("new", FakeSession(used=2, idle=False)) == ["old"]
    with pytest.raises(CloudBusyError):
        sessions.add("one too many", FakeSession(used=3))
