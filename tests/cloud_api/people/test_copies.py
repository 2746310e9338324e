"""Backup and restore: same users, same tokens, and nobody let in again who was out."""

import pytest

from cloud_api import pairing
from cloud_api.errors import PeopleError
from cloud_api.household import Household
from cloud_api.people import People, back_up, restore_backup
from tests.cloud_api.people.people_fakes import Clock, certificates, people_in


@pytest.fixture
def people(tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    with people_in(folder, Clock()) as people:
        yield people


@pytest.fixture
def backup(tmp_path):
    return tmp_path / "backup.db"


def may(folder, *tokens):
    """Which of these tokens are good."""
    household = Household(People(folder, Clock()))
    try:
        return [household.caller(token) is not None for token in tokens]
    finally:
        household.close()


def test_on_another_machine_the_same_users_and_tokens(people, backup, tmp_path):
    """And the same certificate, so that nobody needs to pair again."""
    people.add_user("ana")
    tokens = people.add_device("phone", "ana"), people.add_device("tablet")
    code, _ = pairing.offer(people, "other")
    back_up(people, backup)
    assert backup.stat().st_mode & 0o077 == 0
    other = tmp_path / "there"
    other.mkdir()
    done = restore_backup(other, backup)
    assert (done.users, done.devices, done.stayed_revoked) == (2, 2, 0)
    with People(other) as restored:
        assert restored.users() == people.users()
        assert restored.devices() == people.devices()
        assert restored.certificate(lambda: 1 / 0) == certificates()
        assert pairing.state_of(restored, code.number) == "expired"  # it is not there
    assert may(other, *tokens) == [True, True]
    assert {p.name for p in other.iterdir()} == {
        *("people.db", "people-before-restore.db")
    }


def test_who_was_shut_out_since_stays_out(people, backup):
    """A token that was changed since stays changed, too."""
    lost, kept, changed = (people.add_device(n) for n in ("lost", "kept", "changed"))
    back_up(people, backup)
    people.revoke("lost")
    _, after = people.rotate("changed")
    later = people.add_device("later")
    done = restore_backup(people.folder, backup)
    assert (done.devices, done.stayed_revoked) == (2, 1)
    assert may(people.folder, lost, kept, changed, after, later) == [
        *(False, True, False, True, False)
    ]
    with People(people.folder) as restored:
        assert may(people.folder, kept) == [True]
        assert [one.name for one in restored.devices()] == ["changed", "kept"]


def test_what_was_there_is_kept(people, backup):
    back_up(people, backup)
    token = people.add_device("later")
    done = restore_backup(people.folder, backup)
    assert may(people.folder, token) == [False]
    restore_backup(people.folder, done.kept)
    assert may(people.folder, token) == [True]


def test_a_running_server_follows(people, backup):
    token = people.add_device("phone")
    back_up(people, backup)
    household = Household(People(people.folder, people.clock))
    try:
        late = people.add_device("late")
        assert household.caller(late) is not None
        late_id = people.device("late").id
        household.look()
        restore_backup(people.folder, backup)
        assert household.look() == {late_id}
        assert household.caller(late) is None
        assert household.caller(token) is not None
    finally:
        household.close()


def test_a_damaged_file_is_put_away(people, backup):
    token = people.add_device("phone")
    back_up(people, backup)
    people.close()
    people.path.write_bytes(b"nonsense" * 1000)
    done = restore_backup(people.folder, backup)
    assert done.kept.read_bytes().startswith(b"nonsense")
    assert may(people.folder, token) == [True]


@pytest.mark.parametrize("content", [None, b"", b"nonsense" * 600])
def test_what_is_no_backup_changes_nothing(people, backup, content):
    token = people.add_device("phone")
    if content is not None:
        backup.write_bytes(content)
    with pytest.raises(PeopleError, match=r"no whole backup|cannot be read"):
        restore_backup(people.folder, backup)
    assert may(people.folder, token) == [True]
    assert not list(people.folder.glob("restoring-*"))


def test_a_place_that_cannot_be_written_is_a_sentence(people, tmp_path):
    with pytest.raises(PeopleError, match="cannot be written"):
        back_up(people, tmp_path / "none" / "backup.db")
    assert not list(tmp_path.rglob("*.part"))
