"""Which sessions are remembered, and which make room."""

from dataclasses import replace

import pytest

from cloud_api.callers import OWNER
from cloud_api.sessions.service import Session, Sessions, round_of
from decoding_core.errors import CloudBusyError, SessionLostError
from decoding_core.verifier import role_of
from tests.cloud_api.cloud_fakes import block_after, open_request


class FakeSession:
    def __init__(self, used, idle=True):
        self.used, self.idle, self.owner = used, idle, OWNER


def test_idle_sessions_are_forgotten_and_busy_ones_are_not():
    sessions = Sessions(limit=9, idle_seconds=10)
    sessions.add("idle", FakeSession(used=0))
    sessions.add("busy", FakeSession(used=0, idle=False))

    with pytest.raises(SessionLostError):
        sessions.get("idle", 11, OWNER)
    assert sessions.expire(now=11) == ["idle"]
    assert sessions.get("busy", 11, OWNER).used == 11
    assert len(sessions) == 1


def test_the_longest_idle_session_makes_room():
    sessions = Sessions(limit=2, idle_seconds=10)
    sessions.add("old", FakeSession(used=1))
    sessions.add("older but busy", FakeSession(used=0, idle=False))

    assert sessions.add("new", FakeSession(used=2, idle=False)) == ["old"]
    with pytest.raises(CloudBusyError):
        sessions.add("one too many", FakeSession(used=3))


@pytest.mark.parametrize(
    ("method", "bonus", "drafted", "read", "rows", "whole"),
    [
        ("steering", False, (7, 8, 9), (1, 2, 3, 7, 8), 3, 3),
        ("steering", False, (7,), (1, 2, 3), 1, 1),
        ("steering", False, (), (1, 2, 3), 1, 0),
        ("steering", True, (7, 8, 9), (1, 2, 3, 7, 8, 9), 4, 3),
        ("lossless", False, (7, 8), (1, 2, 3, 7), 2, 0),
        ("lossless", True, (), (1, 2, 3), 1, 0),
    ],
)
def test_the_last_drafted_token_is_read_where_a_bonus_may_follow(
    method, bonus, drafted, read, rows, whole
):
    """Else G tokens are verified from G rows; where the server decides, it knows of
    refusals."""
    request = open_request((1,), (2,), method=method)
    role = replace(role_of(request.terms), draws_bonus=bonus)
    session = Session(request, role, 100, 0.0, number=6)
    block = block_after((2,), drafted, (3,), epoch=4, round_=5)
    found = round_of("a", session, block, (1, 2, 3, *drafted))

    assert (found.token_ids, found.rows, found.whole) == (read, rows, whole)
    assert (found.session_id, found.key, found.position) == ("a", (6, 4, 5), 2)
