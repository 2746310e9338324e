"""The commands over users, devices, codes and copies, as a person types them."""

import json

import pytest
from click.testing import CliRunner

from cloud_api import pairing
from cloud_api.cli import main
from cloud_api.people import People
from decoding_core.pairing import read_invitation
from tests.cloud_api.people.people_fakes import certificates
from tests.hostile import dangers


@pytest.fixture
def home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("SPECSTEER_HOME", str(home))
    with People(home) as people:
        people.certificate(certificates)
    return home


@pytest.fixture
def listening(home, monkeypatch):
    """A server that answers on all addresses."""
    monkeypatch.setattr("cloud_api.commands.people._is_reached", lambda _: True)
    with People(home) as people:
        people.listens("https://0.0.0.0:8765", certificates()[1])


def run(*words, answer=None, status=0):
    result = CliRunner().invoke(main, words, input=answer)
    assert result.exit_code == status, result.output
    assert dangers(result.output) == []
    return result


def test_users_and_devices_from_the_command_line(home):
    run("users", "add", "ana")
    made = run("devices", "add", "script", "--user", "ana", "--scope", "openai")
    token = made.stdout.strip()
    assert "shown once" in made.stderr
    assert token not in run("devices").stdout
    run("users", "rename", "ana", "anna")
    run("devices", "add", "script")
    run("devices", "rename", "script", "robot", "--user", "anna")
    shown = run("devices").stdout.splitlines()
    assert shown[0].split()[:4] == ["user", "device", "id", "good"]
    assert shown[1].split()[:2] == ["anna", "robot"]
    assert shown[1].split()[3:] == ["openai", "never", "good"]
    found, other = map(json.loads, run("devices", "list", "--json").stdout.splitlines())
    assert (found["user"], found["scopes"]) == ("anna", ["openai"])
    assert (other["user"], other["name"]) == ("owner", "script")
    assert found["revoked"] is None
    assert found["created"].endswith("Z")
    assert run("devices", "rotate", "robot").stdout.strip() != token
    run("devices", "revoke", found["id"], answer="n\n", status=1)
    run("devices", "revoke", found["id"], answer="y\n")
    assert "robot" not in run("devices").stdout
    assert "revoked" in run("devices", "list", "--revoked").stdout
    run("users", "remove", "anna", "--yes")
    assert "robot" not in run("devices", "list", "--revoked").stdout
    (left,) = map(json.loads, run("users", "list", "--json").stdout.splitlines())
    assert (left["name"], left["devices"]) == ("owner", 1)


def test_a_lost_device_is_shut_out_and_it_is_said_what_else_to_do(home):
    run("devices", "add", "phone")
    said = run("devices", "lost", "phone", "--yes").stdout
    for words in ("is shut out", "store encrypt", "specsteer-cloud pair 'phone'"):
        assert words in said
    run("devices", "lost", "phone", "--yes", status=1)


def test_refused_tokens_are_shown(home):
    run("devices", "add", "phone")
    with People(home) as people:
        phone = people.revoke("phone")
        people.note(refused={("10.0.0.1", phone.id): 2, ("10.0.0.2", ""): 1})
    said = run("devices").stdout
    assert "were shown 3 times" in said
    assert "2 from 10.0.0.1, last" in said
    assert "the old token of phone" in said
    lines = map(json.loads, run("devices", "list", "--json").stdout.splitlines())
    places = [line["refused_from"] for line in lines]
    assert sorted(places) == ["10.0.0.1", "10.0.0.2"]
    run("devices", "forget-refused")
    assert "were shown" not in run("devices").stdout


def test_no_code_without_a_server(home):
    said = run("pair", "phone", status=1).stderr
    assert "start 'specsteer-cloud serve' first" in said
    with People(home) as people:
        people.listens("https://127.0.0.1:1", "ab" * 32)  # it was killed
    assert run("pair", "phone", status=1).stderr == said


@pytest.mark.usefixtures("listening")
def test_a_code_is_shown_in_all_its_forms():
    said = run("pair", "phone")
    assert said.stdout.count("▀") > 50
    link = next(w for w in said.stdout.split("'") if w.startswith("specsteer://"))
    invitation = read_invitation(link)
    assert invitation.fingerprint == certificates()[1]
    assert invitation.url.endswith(":8765")
    assert "0.0.0.0" not in invitation.url
    typed = f"specsteer pair {invitation.code} --server {invitation.url}"
    assert typed in said.stdout
    at = "--server", "https://house.lan:8765/"
    named = json.loads(run("pair", "x", "--json", *at).stdout)
    assert read_invitation(named["link"]).code.number == invitation.code.number + 1
    assert named["server"] == "https://house.lan:8765"
    assert named["key"] == certificates()[1]
    proxied = run("pair", "x", "--json", "--behind-proxy", *at).stdout
    assert json.loads(proxied)["key"] == ""
    run("pair", "x", "--behind-proxy", status=2)
    for bad in ("http://h", "h:1", "https://", "https://h:x"):
        assert "is no address" in run("pair", "x", "--server", bad, status=1).stderr
    run("devices", "add", "phone")
    assert "'phone' is there already (last used never)" in run("pair", "phone").stderr


@pytest.mark.usefixtures("listening")
def test_it_waits_until_the_device_is_paired_or_the_code_is_not_good(monkeypatch):
    states = iter(["open", "open", "used", "expired"])
    monkeypatch.setattr("cloud_api.commands.people._LOOK_SECONDS", 0.0)
    monkeypatch.setattr(pairing, "state_of", lambda *_: next(states))
    assert "phone is paired" in run("pair", "phone", "--json", "--wait").stderr
    assert "expired" in run("pair", "phone", "--json", "--wait", status=1).stderr


def test_backup_and_restore_from_the_command_line(home, tmp_path):
    run("devices", "add", "phone")
    said = run("backup").stdout
    assert said == f"{home / 'people-backup.db'} holds 1 users and 1 devices\n"
    run("backup", str(tmp_path / "copy.db"))
    run("devices", "revoke", "phone", "--yes")
    run("restore", answer="n\n", status=1)
    said = run("restore", str(tmp_path / "copy.db"), "--yes").stdout
    assert "1 users and 0 devices may connect" in said
    assert "1 tokens were revoked since, and stay so" in said
    assert "cannot be read" in run("restore", "none", "--yes", status=1).stderr
