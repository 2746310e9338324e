"""Users, devices and their tokens, as the file holds them; backup and restore."""

import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from cloud_api import pairing
from cloud_api.auth import Scope, digest_of, stored_token
from cloud_api.errors import PeopleError
from cloud_api.household import Household
from cloud_api.people import People, back_up, restore_backup
from tests.cloud_api.people.people_fakes import Clock, certificates, people_in
from tests.waiting import ROOT


@pytest.fixture
def people(tmp_path):
    folder = tmp_path / "here"
    folder.mkdir()
    with people_in(folder) as people:
        yield people


def names(people, **options):
    return [(one.user, one.name) for one in people.devices(**options)]


def test_no_token_lies_in_the_file_which_is_for_its_owner_alone(people):
    """Nor in what SQLite keeps beside it."""
    token = people.add_device("script")
    _, other = people.rotate("script")
    held = b"".join(path.read_bytes() for path in people.folder.iterdir())
    assert digest_of(other) in held
    for secret in (token, other):
        assert secret.removeprefix("specsteer_").encode() not in held
    assert {p.stat().st_mode & 0o077 for p in people.folder.iterdir()} == {0}


def test_a_second_connection_of_the_process_leaves_the_first_its_locks(people):
    """Closing any handle of the file would drop them, and another process would then
    take the log away that the first one still writes to."""
    with People(people.folder):
        code = "from cloud_api.people import People; from pathlib import Path; "
        code += f"People(Path({str(people.folder)!r})).close()"
        subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
    people.add_user("ben")
    assert (people.folder / "people.db-wal").stat().st_size > 0
    with People(people.folder) as again:
        assert [user.name for user in again.users()] == ["ben", "owner"]


REFUSED = [
    ("add_user owner", "there is a user 'owner' already"),
    ("add_device -x", "is no name"),
    ("add_device phone", "has a device 'phone' already"),
    ("add_device x nobody", "there is no user 'nobody'"),
    ("rename_user nobody x", "there is no user 'nobody'"),
    ("rename_user ana owner", "there is a user 'owner' already"),
    ("rename_device tablet phone owner", "has a device 'phone'"),
    ("revoke none", "there is no device 'none'"),
    ("revoke phone", "several users have a device 'phone'"),
    ("rotate phone nobody", "there is no user 'nobody'"),
    ("remove_user nobody", "there is no user 'nobody'"),
]


def test_what_cannot_be_is_a_sentence_and_changes_nothing(people):
    people.add_user("ana")
    for name, user in (("phone", "owner"), ("phone", "ana"), ("tablet", "owner")):
        people.add_device(name, user)
    before = names(people, revoked=True), people.users()
    for name in ("", " a", "a\nb", "a" * 65):
        with pytest.raises(PeopleError, match="is no name"):
            people.add_user(name)
    for act, said in REFUSED:
        method, *words = act.split()
        with pytest.raises(PeopleError, match=said):
            getattr(people, method)(*words)
    assert (names(people, revoked=True), people.users()) == before


def test_the_token_file_is_the_owners_own_device(tmp_path):
    """It is taken over once, also an old one without a checksum."""
    old = "specsteer_" + "aB-_" * 11
    (tmp_path / "cloud-token").write_text(old + "\n")
    with People(tmp_path) as people:
        first = people.take_token(stored_token(tmp_path))
        assert people.take_token(old) == first
        assert names(people) == [("owner", "this machine")]
        assert first.scopes == set(Scope)
        assert (tmp_path / "cloud-token").read_text() == old + "\n"


@pytest.mark.parametrize("act", ["unlink", "revoke", "rotate", "remove"])
def test_a_token_of_the_file_that_was_taken_back_is_not_let_in_again(tmp_path, act):
    """Also if the file was removed by hand."""
    path = tmp_path / "cloud-token"
    with People(tmp_path) as people:
        old = stored_token(tmp_path)
        before = people.take_token(old)
        if act == "unlink":
            path.unlink()
        elif act == "remove":
            people.remove_user("owner")
        else:
            getattr(people, act)("this machine")
        assert path.exists() is (act == "rotate")
        new = stored_token(tmp_path)
        assert new != old
        after = people.take_token(new)
        assert (after.id == before.id) is (act == "rotate")
        assert names(people) == [("owner", "this machine")]
        assert act == "remove" or people.take_token(old) is None


def test_refused_tokens_are_counted_by_place_and_bounded(people):
    for count in (2, 3):
        people.note(refused={("10.0.0.1", ""): count})
        people.clock.now += 5
    people.note(refused={("10.0.0.2", ""): 1})
    found = [(one.place, one.times, one.last - one.first) for one in people.refusals()]
    assert found == [("10.0.0.2", 1, 0), ("10.0.0.1", 5, 5)]
    people.note(refused={(f"10.1.{n // 250}.{n % 250}", ""): 1 for n in range(300)})
    assert len(people.refusals()) == 200


def test_a_file_that_is_damaged_newer_or_a_planted_link_is_refused(tmp_path):
    path, other = tmp_path / "people.db", tmp_path / "other"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(PeopleError, match="'specsteer-cloud restore' puts its backup"):
        People(tmp_path)
    path.unlink()
    People(tmp_path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(PeopleError, match="schema 99"):
        People(tmp_path)
    path.replace(other)
    path.symlink_to(other)
    with pytest.raises(PeopleError, match="is a link"):
        People(tmp_path)


def test_a_full_disk_changes_nothing_and_reading_goes_on(people):
    """SQLite says so of a file that may not grow, as of a disk."""
    people.add_device("phone")
    with people.reading() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(PeopleError, match="the disk is full: make room; nothing was"):
        for number in range(500):
            people.add_user(f"user {number}" + "x" * 50)
    count = len(people.users())
    assert names(people) == [("owner", "phone")]
    with people.reading() as connection:
        connection.execute("PRAGMA max_page_count = 10000")
    people.add_user("ben")
    assert len(people.users()) == count + 1


@pytest.fixture
def backup(tmp_path):
    return tmp_path / "backup.db"


def may(folder, *tokens):
    """Which of these tokens are good."""
    with closing(Household(People(folder, Clock()))) as household:
        return [household.caller(token) is not None for token in tokens]


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
    left = {"people.db", "people-before-restore.db"}
    assert {path.name for path in other.iterdir()} == left


def test_who_was_shut_out_since_stays_out(people, backup):
    """A token that was changed since stays changed, too; what was there is kept."""
    lost, kept, changed = (people.add_device(n) for n in ("lost", "kept", "changed"))
    back_up(people, backup)
    people.revoke("lost")
    _, after = people.rotate("changed")
    later = people.add_device("later")
    done = restore_backup(people.folder, backup)
    assert (done.devices, done.stayed_revoked) == (2, 1)
    tokens = lost, kept, changed, after, later
    assert may(people.folder, *tokens) == [False, True, False, True, False]
    assert [name for _, name in names(people)] == ["changed", "kept"]
    restore_backup(people.folder, done.kept)
    assert may(people.folder, *tokens) == [False, True, False, True, True]


def test_a_running_server_follows(people, backup):
    token = people.add_device("phone")
    back_up(people, backup)
    with closing(Household(People(people.folder, people.clock))) as household:
        late = people.add_device("late")
        assert household.caller(late) is not None
        late_id = people.device("late").id
        household.look()
        restore_backup(people.folder, backup)
        assert household.look() == {late_id}
        assert household.caller(late) is None
        assert household.caller(token) is not None


def test_a_damaged_file_is_put_away(people, backup):
    token = people.add_device("phone")
    back_up(people, backup)
    people.close()
    people.path.write_bytes(b"nonsense" * 1000)
    done = restore_backup(people.folder, backup)
    assert done.kept.read_bytes().startswith(b"nonsense")
    assert may(people.folder, token) == [True]


def test_what_is_no_backup_changes_nothing(people, backup):
    token = people.add_device("phone")
    with pytest.raises(PeopleError, match="cannot be read"):
        restore_backup(people.folder, backup)
    for content in (b"", b"nonsense" * 600):
        backup.write_bytes(content)
        with pytest.raises(PeopleError, match="no whole backup"):
            restore_backup(people.folder, backup)
    assert may(people.folder, token) == [True]
    with pytest.raises(PeopleError, match="cannot be written"):
        back_up(people, people.folder / "none" / "backup.db")
    assert not [p for p in people.folder.iterdir() if not p.name.startswith("people")]
