"""Which sessions are remembered, and which make room."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloud_api.auth import OWNER, Caller
from cloud_api.errors import QuotaError
from cloud_api.service import (
    GRACE_SECONDS,
    Openings,
    Session,
    Sessions,
    round_of,
)
from cloud_api.settings import UserLimits
from decoding_core.errors import CloudBusyError, SessionLostError
from decoding_core.verifier import role_of
from tests.cloud_api.cloud_fakes import block_after, open_request


class FakeSession:
    def __init__(self, used, idle=True, owner=OWNER, unread=0, kept=()):
        self.used, self.idle, self.owner = used, idle, owner
        self.answered, self.size = not unread, unread
        self.kept = list(kept)

    @property
    def kept_bytes(self):
        return sum(self.kept)

    def forget_oldest_answer(self):
        del self.kept[0]


def caller(user, device=""):
    return Caller(user, device or user, frozenset())


ANA, BEN = caller("ana"), caller("ben")


def test_idle_sessions_are_forgotten_and_busy_ones_are_not():
    sessions = Sessions(limit=9, idle_seconds=10)
    sessions.add("idle", FakeSession(used=0))
    sessions.add("busy", FakeSession(used=0, idle=False))

    with pytest.raises(SessionLostError):
        sessions.find("idle", 11, OWNER)
    assert sessions.expire(now=11) == ["idle"]
    assert sessions.find("busy", 11, OWNER).used == 11
    assert len(sessions) == 1


def test_the_longest_idle_session_makes_room():
    sessions = Sessions(limit=2, idle_seconds=10)
    sessions.add("old", FakeSession(used=1))
    sessions.add("older but busy", FakeSession(used=0, idle=False))

    assert sessions.add("new", FakeSession(used=2, idle=False)) == ["old"]
    with pytest.raises(CloudBusyError):
        sessions.add("one too many", FakeSession(used=3))


def test_a_user_who_opens_many_texts_loses_their_own():
    sessions = Sessions(9, 10, UserLimits(sessions=2))
    sessions.add("ben", FakeSession(0, owner=BEN))
    gone = [sessions.add(f"a{n}", FakeSession(n, owner=ANA)) for n in range(4)]

    assert gone == [[], [], ["a0"], ["a1"]]
    assert sessions.find("ben", 1, BEN)


def test_where_the_server_is_full_whoever_has_the_most_makes_room():
    sessions = Sessions(3, 10)
    sessions.add("ben", FakeSession(0, owner=BEN))
    for n in (1, 2):
        sessions.add(f"a{n}", FakeSession(n, owner=ANA))

    assert sessions.add("new", FakeSession(3, owner=caller("eva"))) == ["a1"]


def test_prompts_that_wait_are_bounded_in_tokens():
    """Those of which a block was answered do not count."""
    sessions = Sessions(9, 10, UserLimits(prompt_tokens=100))
    sessions.add("written", FakeSession(0, owner=ANA))
    sessions.add("ben", FakeSession(0, owner=BEN, unread=90))
    gone = [
        sessions.add(f"a{n}", FakeSession(n, owner=ANA, unread=40)) for n in range(3)
    ]

    assert gone == [[], [], ["a0"]]
    assert sessions.add("long", FakeSession(9, owner=ANA, unread=400)) == ["a1", "a2"]


def test_who_is_told_to_come_back_is_let_in_then():
    sessions = Sessions(9, 10, UserLimits(sessions=1))
    sessions.add("a", FakeSession(0, owner=ANA, idle=False))
    with pytest.raises(QuotaError) as caught:
        sessions.add("b", FakeSession(1, owner=ANA))
    at = 1 + caught.value.retry_after

    with pytest.raises(QuotaError):
        sessions.add("b", FakeSession(at - 0.1, owner=ANA))
    assert sessions.add("b", FakeSession(at, owner=ANA)) == ["a"]


def test_answers_kept_for_retries_are_bounded_in_bytes():
    """Whoever has the most loses the oldest, of the session unused for the longest."""
    sessions = Sessions(9, 10)
    kept = [
        FakeSession(0, owner=BEN, kept=[30]),
        FakeSession(1, owner=ANA, kept=[20, 20]),
        FakeSession(2, owner=ANA, kept=[20]),
    ]
    for n, one in enumerate(kept):
        sessions.add(str(n), one)
    sessions.bound_answers(75)

    assert [one.kept for one in kept] == [[30], [20], [20]]
    sessions.bound_answers(0)
    assert [one.kept for one in kept] == [[], [], []]


@settings(max_examples=20)
@given(st.lists(st.tuples(st.floats(0, 3), st.booleans()), max_size=60))
def test_whoever_comes_back_in_time_may_begin_a_text(arrivals):
    """Whatever other devices of the user do; and in the long run no user begins more
    texts than N per second."""
    openings, now, admitted = Openings(burst=3, per_second=2.0), 0.0, 0
    devices = caller("ana", "kept"), caller("ana", "other")
    promised = []
    for pause, is_other in arrivals:
        now += pause
        device = devices[is_other]
        due = [at for at in promised if at <= now and not is_other]
        lapsed = [at for at in due if at < now - GRACE_SECONDS]
        try:
            openings.admit(device, now)
        except QuotaError as error:
            assert due == lapsed
            promised += [] if is_other else [now + error.retry_after]
        else:
            admitted += 1
            if len(due) > len(lapsed):
                promised.remove(min(set(due) - set(lapsed)))
    assert admitted <= 3 + 2.0 * now + 1


def test_no_moment_is_booked_for_ever():
    openings = Openings(burst=1, per_second=1.0)
    waits = []
    for _ in range(500):
        try:
            openings.admit(ANA, 0.0)
        except QuotaError as error:
            waits.append(error.retry_after)

    assert (min(waits), max(waits)) == (1, 60)


@pytest.mark.parametrize(
    ("method", "bonus", "drafted", "read", "rows", "whole"),
    [
        ("steering", False, (7, 8, 9), (1, 2, 3, 7, 8), 3, 3),
        ("steering", False, (), (1, 2, 3), 1, 0),
        ("steering", True, (7, 8, 9), (1, 2, 3, 7, 8, 9), 4, 3),
        ("lossless", False, (7, 8), (1, 2, 3, 7), 2, 0),
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
