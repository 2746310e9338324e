"""Codes for pairing: good once, for ten minutes and five tries."""

from unittest.mock import Mock

import pytest
import spake2

from cloud_api import pairing
from cloud_api.auth import Scope
from cloud_api.errors import PairingRefusedError, PeopleError
from cloud_api.people import People
from decoding_core.errors import InvalidSettingsError
from decoding_core.pairing import (
    DEVICE,
    SERVER,
    Code,
    Invitation,
    binding_of,
    device_proof,
    read_code,
    read_invitation,
    server_proof,
)
from tests.cloud_api.people.people_fakes import NOW, people_in
from tests.waiting import at_once

KEY = "ab" * 32


@pytest.fixture
def people(tmp_path):
    with people_in(tmp_path) as people:
        yield people


class Device:
    """A device that knows, or guesses, a code, and sees a certificate."""

    def __init__(self, code, seen=KEY):
        self._side = spake2.SPAKE2_A(code.password, idA=DEVICE, idB=SERVER)
        self.number, self._binding = code.number, binding_of(seen)

    def begin(self, people, shown=KEY):
        reply = pairing.begin(people, self.number, self._side.start(), shown)
        self._key = self._side.finish(bytes.fromhex(reply["message"]))
        self.exchange = reply["exchange"]
        self.trusts = reply["proof"] == server_proof(self._key, self._binding).hex()
        return reply

    def finish(self, people):
        proof = device_proof(self._key, self._binding)
        return pairing.finish(people, self.exchange, proof)


def begun(people, code, **seen):
    """A device that has sent its first message."""
    device = Device(code, **seen)
    device.begin(people)
    return device


def paired(people, code):
    device = begun(people, code)
    assert device.trusts
    return device.finish(people)


def refused(act, *arguments):
    with pytest.raises(PairingRefusedError) as error:
        act(*arguments)
    return str(error.value)


def test_a_device_is_let_in(people):
    people.add_user("ana")
    scopes = [Scope.VERIFY, Scope.STATUS]
    code, before = pairing.offer(people, "phone", "ana", scopes, NOW + 1000)
    assert before is None
    assert pairing.state_of(people, code.number) == "open"
    answer = paired(people, code)
    del answer["token"]
    assert answer == {"user": "ana", "name": "phone", "scopes": sorted(scopes)}
    phone = people.device("phone")
    assert (phone.origin, phone.expires) == ("paired", NOW + 1000)
    assert phone.scopes == set(scopes)
    assert pairing.state_of(people, code.number) == "used"


def test_a_code_is_good_once(people):
    code, _ = pairing.offer(people, "phone")
    first, second = begun(people, code), begun(people, code)
    first.finish(people)
    assert "nothing is known of this pairing" in refused(second.finish, people)
    said = refused(Device(code).begin, people)
    assert "was used already" in said
    assert "'devices revoke'" in said
    assert len(people.devices()) == 1


def test_a_code_has_ten_minutes(people):
    code, _ = pairing.offer(people, "phone")
    slow = Device(code)
    people.clock.now += 599
    slow.begin(people)
    people.clock.now += 1
    assert "has expired" in refused(slow.finish, people)
    assert "has expired" in refused(Device(code).begin, people)
    assert pairing.state_of(people, code.number) == "expired"
    assert people.devices() == []


def test_five_wrong_tries_kill_a_code(people):
    code, _ = pairing.offer(people, "phone")
    for left in (4, 3, 2, 1, 0):
        wrong = Device(Code(code.number, "00000000"))
        assert wrong.begin(people)["tries_left"] == left
        assert not wrong.trusts
        assert "the code is wrong" in refused(wrong.finish, people)
    assert "5 times in vain" in refused(Device(code).begin, people)
    assert pairing.state_of(people, code.number) == "tried too often"


def test_a_proof_that_was_wrong_once_is_not_tried_again(people):
    """Else the second message could guess for ever. A device that sees another
    certificate than the server shows does not trust it, and gives a wrong proof."""
    code, _ = pairing.offer(people, "phone")
    device = begun(people, code, seen="cd" * 32)
    assert not device.trusts
    assert "the certificate another" in refused(device.finish, people)
    assert "nothing is known" in refused(device.finish, people)


def test_without_tls_there_is_nothing_to_be_bound_to(people):
    code, _ = pairing.offer(people, "phone")
    assert "goes over TLS" in refused(Device(code, "").begin, people, "")
    code, _ = pairing.offer(people, "phone", by_certificate=False)
    device = Device(code, "")
    assert device.begin(people, "")["by_certificate"] is False
    assert device.trusts
    assert device.finish(people)["name"] == "phone"


def test_bytes_that_are_no_message_cost_a_try(people):
    for message in (b"", b"A", b"A" + bytes(32), b"B" * 33, b"A" * 99):
        code, _ = pairing.offer(people, "phone")
        said = refused(pairing.begin, people, code.number, message, KEY)
        assert said == "this is no message of SPAKE2"
        assert Device(code).begin(people)["tries_left"] == 3


def test_an_unknown_code_is_a_sentence(people):
    code = Code(77, "00000000")
    assert "there is no code number 77" in refused(Device(code).begin, people)
    with pytest.raises(PeopleError, match="there is no user 'nobody'"):
        pairing.offer(people, "phone", "nobody")
    with pytest.raises(PeopleError, match="is no name"):
        pairing.offer(people, "a\x1bb")


def test_a_device_of_that_name_gives_way_when_the_code_is_used(people):
    people.add_device("phone")
    before = people.device("phone")
    code, found = pairing.offer(people, "phone")
    assert found == before == people.device("phone")
    paired(people, code)
    assert before.id in [one.id for one in people.devices(revoked=True)]
    assert people.device("phone").id != before.id


def test_a_code_ends_with_its_user(people):
    people.add_user("ana")
    code, _ = pairing.offer(people, "phone", "ana")
    device = begun(people, code)
    people.remove_user("ana")
    assert "nothing is known" in refused(device.finish, people)


def test_no_code_stays_in_the_file(people):
    def held():
        with people.reading() as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return people.path.read_bytes()

    code, _ = pairing.offer(people, "phone")
    assert code.secret.encode() in held()
    paired(people, code)
    assert code.secret.encode() not in held()


def test_codes_and_links_are_read_as_they_are_shown():
    code = Code(12, "K0QF3XP1")
    assert str(code) == "12-K0QF-3XP1"
    for typed in ("12-K0QF-3XP1", " 12-koqf-3xpi ", "12-KOQF3XPL"):
        assert read_code(typed) == code
    for url in ("https://192.168.1.20:8765", "https://[::1]:1"):
        for key in ("", KEY):
            invitation = Invitation(code, url, key)
            assert read_invitation(invitation.link) == invitation
    assert read_invitation("12-K0QF-3XP1") == Invitation(code, "")


NO_INVITATION = [
    *("", "12", "12-K0QF", "K0QF-3XP1", "12-K0QF-3XPU"),
    *("https://example.org", "specsteer://[", "specsteer://pair"),
    "specsteer://other?v=1&server=https%3A%2F%2Fh&code=1-AAAA-AAAA",
    "specsteer://pair?v=1&server=http%3A%2F%2Fh&code=1-AAAA-AAAA",
    "specsteer://pair?v=1&server=https%3A%2F%2Fh&code=1-AAAA-AAAA&key=ab",
    "specsteer://pair?v=2&server=https%3A%2F%2Fh&code=1-AAAA-AAAA",
    "specsteer://pair?v=1&server=https%3A%2F%2Fh",
]


def test_what_is_neither_is_a_sentence():
    for given in NO_INVITATION:
        with pytest.raises(InvalidSettingsError):
            read_invitation(given)


USE = """
import sys
from pathlib import Path
from tests.cloud_api.people.test_pairing import *
with People(Path(sys.argv[1])) as people:
    device = begun(people, read_code(sys.argv[2]))
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        print(device.finish(people)["token"])
    except PairingRefusedError:
        print("refused")
"""


@pytest.mark.slow
def test_of_two_processes_that_use_a_code_at_once_one_is_let_in(tmp_path):
    with People(tmp_path) as people:
        code, _ = pairing.offer(people, "phone")
    shown = at_once(USE, *[(tmp_path, code)] * 4)
    assert shown.count("refused\n") == 3
    with People(tmp_path) as people:
        assert len(people.devices()) == 1


def test_killed_before_the_end_the_code_is_still_good(people, monkeypatch):
    """The device, its token and the used code are one change."""
    code, _ = pairing.offer(people, "phone")
    device = begun(people, code)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(pairing, "insert_device", Mock(side_effect=KeyboardInterrupt))
        device.finish(people)
    assert people.devices() == []
    assert device.finish(people)["name"] == "phone"
