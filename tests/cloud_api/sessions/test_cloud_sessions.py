"""Which sessions are remembered, and which make room."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloud_api.auth import OWNER, Caller
from cloud_api.errors import QuotaError
from cloud_api.service import GRACE_SECONDS, Openings, Session, Sessions, round_of
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
    """By their time, or for another; the longest unused first."""
    sessions = Sessions(limit=3, idle_seconds=10)
    sessions.add("busy", FakeSession(used=0, idle=False))
    for name, used in (("idle", 1), ("older", 0)):
        sessions.add(name, FakeSession(used))

    assert sessions.add("new", FakeSession(2, idle=False)) == ["older"]
    with pytest.raises(SessionLostError):
        sessions.find("idle", 12, OWNER)
    assert sessions.expire(now=12) == ["idle"]
    assert sessions.find("busy", 12, OWNER).used == 12
    sessions.add("last", FakeSession(12, idle=False))
    with pytest.raises(CloudBusyError):
        sessions.add("one too many", FakeSession(13))


def test_a_user_who_opens_many_texts_loses_their_own():
    """Where the server is full, whoever has the most does."""
    sessions = Sessions(4, 10, UserLimits(sessions=3))
    sessions.add("ben", FakeSession(0, owner=BEN))
    gone = [sessions.add(f"a{n}", FakeSession(n, owner=ANA)) for n in range(5)]

    assert gone == [[], [], [], ["a0"], ["a1"]]
    assert sessions.add("new", FakeSession(5, owner=caller("eva"))) == ["a2"]
    assert sessions.find("ben", 6, BEN)


def test_prompts_that_wait_are_bounded_in_tokens():
    """Those of which a block was answered do not count."""
    sessions = Sessions(9, 10, UserLimits(prompt_tokens=100))
    sessions.add("written", FakeSession(0, owner=ANA))
    sessions.add("ben", FakeSession(0, owner=BEN, unread=90))
    for n, (size, gone) in enumerate(
        ((40, []), (40, []), (40, ["a0"]), (400, ["a1", "a2"]))
    ):
        assert sessions.add(f"a{n}", FakeSession(n, owner=ANA, unread=size)) == gone


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
    kept = []
    for n, (owner, sizes) in enumerate(((BEN, [30]), (ANA, [20, 20]), (ANA, [20]))):
        kept.append(FakeSession(n, owner=owner, kept=sizes))
        sessions.add(str(n), kept[-1])
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
    openings, waits = Openings(burst=1, per_second=1.0), []
    openings.admit(ANA, 0.0)
    for _ in range(500):
        with pytest.raises(QuotaError) as refused:
            openings.admit(ANA, 0.0)
        waits.append(refused.value.retry_after)

    assert (min(waits), max(waits)) == (1, 60)


@pytest.mark.parametrize(
    ("changes", "drafted", "read", "whole"),
    [
        ({}, (7, 8, 9), (1, 2, 3, 7, 8), 3),
        ({}, (), (1, 2, 3), 0),
        ({"bonus": True}, (7, 8, 9), (1, 2, 3, 7, 8, 9), 3),
        ({"method": "lossless"}, (7, 8), (1, 2, 3, 7), 0),
    ],
)
def test_the_last_drafted_token_is_read_where_a_bonus_may_follow(
    changes, drafted, read, whole
):
    """Else G tokens are verified from G rows; where the server decides, it knows of
    refusals."""
    request = open_request((1,), (2,), **changes)
    session = Session(request, role_of(request.terms), 100, 0.0, number=6)
    block = block_after((2,), drafted, (3,), epoch=4, round_=5)
    found = round_of("a", session, block, (1, 2, 3, *drafted))

    assert (found.token_ids, found.whole) == (read, whole)
    assert found.rows == len(read) - 2
    assert (found.session_id, found.key, found.position) == ("a", (6, 4, 5), 2)
