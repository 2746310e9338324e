"""The authority of a household: who is let in, and how soon who is not any more."""

import asyncio
from unittest.mock import Mock

import pytest

from cloud_api.auth import Caller, Scope, make_token
from cloud_api.errors import PeopleError
from cloud_api.household import Household
from cloud_api.people import People
from tests.cloud_api.people.people_fakes import NOW, Clock, people_in
from tests.waiting import PATIENCE, until_true


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def household(tmp_path, clock):
    household = Household(people_in(tmp_path, clock), clock=clock)
    yield household
    household.close()


@pytest.fixture
def commands(household):
    """The people, as a command in another process has them."""
    with People(household.people.folder, household.people.clock) as people:
        yield people


def test_a_token_is_known_as_soon_as_it_is_made(household, commands):
    token = commands.add_device("phone", scopes=[Scope.OPENAI])
    phone = commands.device("phone")
    assert household.caller(token) == Caller("owner", phone.id, {Scope.OPENAI})
    for other in (make_token(), "", token + "x", "\udce9"):
        assert household.caller(other) is None


@pytest.mark.parametrize("looked", [True, False])
@pytest.mark.parametrize("act", ["revoke", "rotate", "expire", "remove", "replace"])
def test_who_may_connect_no_more_is_named_once(household, commands, clock, act, looked):
    """Also who was let in and shut out between two looks."""
    ends = NOW + 100 if act == "expire" else None
    token, other = commands.add_device("phone", expires=ends), commands.add_device("x")
    phone = commands.device("phone")
    if looked:
        assert household.look() == set()
    assert household.caller(token) is not None
    if act == "expire":
        clock.now += 100
    elif act == "remove":
        commands.remove_user("owner")
    elif act == "replace":
        commands.revoke("phone")
        assert commands.add_device("phone") != token
    else:
        getattr(commands, act)("phone")
    ended = household.look()
    assert phone.id in ended
    assert household.look() == set()
    assert household.caller(token) is None
    assert (household.caller(other) is None) is (act == "remove")


@pytest.fixture
def full(household, monkeypatch):
    """The disk is full, until the patch is undone."""
    note = Mock(side_effect=PeopleError("the disk is full"))
    monkeypatch.setattr(household.people, "note", note)
    return note


def test_streams_end_also_when_the_disk_is_full(household, commands, full):
    token = commands.add_device("phone")
    assert household.caller(token) is not None
    ended = []

    async def main():
        watching = asyncio.create_task(household.watch(ended.append))
        await until_true(lambda: full.called)
        phone = commands.revoke("phone")
        await until_true(lambda: ended == [phone.id])
        watching.cancel()

    asyncio.run(asyncio.wait_for(main(), PATIENCE))


@pytest.mark.usefixtures("full")
def test_what_is_counted_stays_bounded_and_waits_for_the_disk(household, monkeypatch):
    for number in range(3000):
        household.refuse("x", f"place {number}")
    with pytest.raises(PeopleError):
        household.note()
    monkeypatch.undo()
    household.note()
    assert 0 < sum(one.times for one in household.people.refusals()) <= 3000


def test_a_file_that_was_put_in_place_of_the_open_one_is_read(household, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    with people_in(other, household.people.clock) as people:
        token = people.add_device("phone")
    for path in household.people.folder.glob("people.db-*"):
        path.unlink()
    (other / "people.db").replace(household.people.path)
    household.look()
    assert household.caller(token) is not None


def test_when_a_token_was_used_is_written_once_a_minute(household, commands, clock):
    token = commands.add_device("phone")
    for seconds, noted in ((0, 0), (59, 0), (1, 60), (30, 60), (60, 150)):
        clock.now += seconds
        household.caller(token)
        household.note()
        assert commands.device("phone").last_used == NOW + noted


def test_wrong_tokens_are_told_to_the_owner(household, commands, clock):
    """Where they came from, and whose old token it was."""
    token, spare = commands.add_device("phone"), commands.add_device("tablet")
    commands.revoke("phone")
    commands.rotate("tablet")
    household.look()
    household.refuse(token, "10.0.0.1")
    household.refuse(spare, "10.0.0.1")
    household.refuse("guess", "10.0.0.1")
    household.refuse("guess", "10.0.0.2")
    household.note()
    found = {
        (one.place, one.device.name if one.device else "", one.times)
        for one in commands.refusals()
    }
    here = {("10.0.0.1", name, 1) for name in ("", "phone", "tablet")}
    assert found == here | {("10.0.0.2", "", 1)}


def test_who_tries_many_tokens_waits_and_nobody_else(household, clock):
    patience = household.patience
    delays = [household.refuse(make_token(), "10.0.0.1") for _ in range(40)]
    assert delays[: patience.free] == [0.0] * patience.free
    later = delays[patience.free :]
    assert later == sorted(later)
    assert later[0] == patience.first_seconds
    assert later[-1] == patience.most_seconds
    assert household.refuse("x", "10.0.0.2") == 0.0
    clock.now += patience.forget_seconds + 1
    assert household.refuse("x", "10.0.0.1") == 0.0
    assert patience.delay(10**9) == patience.most_seconds


def test_a_file_that_cannot_be_read_leaves_all_as_it_was(household, commands):
    token = commands.add_device("phone")
    household.look()
    household._reader.close()
    with pytest.raises(PeopleError):
        household.look()
    assert household.caller(token) is not None
    assert household.caller("other") is None
