"""A household from nothing, as a person sets it up: every program a process, every
device a home of its own."""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from cloud_api.admission import make_certificate
from tests.cloud_api.cloud_fakes import PLAIN, open_session, wait_until_ready
from tests.waiting import PATIENCE, ROOT, Elapsed, wait_until

SERVER = Path(__file__).parents[1] / "cloud_api" / "fake_cloud_server.py"
OLD = "specsteer_" + "oLd-_" * 8
pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path):
    """The server's."""
    return tmp_path / "server"


def environment(home):
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("SPECSTEER")}
    own = {"SPECSTEER_HOME": str(home), "PYTHONPATH": str(ROOT)}
    return {**inherited, **own}


@contextmanager
def serving(home, tmp_path, *options):
    """A server's address, and its process; killed at the end if it is still there."""
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF")
    child = subprocess.Popen(
        [
            *(sys.executable, str(SERVER), "serve", "--port", "0", *options),
            *("--generalist", str(model), "--base", str(model)),
        ],
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = child.stdout.readline()
        assert line, child.stderr.read()
        yield json.loads(line)["url"], child
    finally:
        child.kill()
        child.communicate()


def program(module, home, *words, status=0):
    """What a command prints."""
    done = subprocess.run(
        [sys.executable, "-m", module, *words],
        env=environment(home),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def cloud(home, *words, **options):
    return program("cloud_api", home, *words, **options)


def device(home, *words, **options):
    return program("edge_app.cli", home, *words, **options)


def link_of(home, name, *options):
    return json.loads(cloud(home, "pair", name, "--json", *options).splitlines()[0])


def test_two_devices_one_lost_the_other_goes_on(home, tmp_path):
    """And the server is killed, and comes back with the same certificate."""
    first, second = tmp_path / "first", tmp_path / "second"
    with serving(home, tmp_path) as (url, child):
        wait_until_ready(url)
        assert "paired with" in device(first, "pair", link_of(home, "phone")["link"])
        code = link_of(home, "tablet")
        typed = code["code"], "--server", code["server"]
        assert "paired with" in device(second, "pair", *typed)
        token = json.loads((first / "paired-server.json").read_text())["token"]
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, headers=headers, verify=PLAIN) as client:
            path = f"/v1/sessions/{open_session(client)}/stream"
            at = url.replace("http", "ws") + path
            with connect(at, additional_headers=headers, compression=None) as stream:
                cloud(home, "devices", "lost", "phone", "--yes")
                passed = Elapsed()
                with pytest.raises(ConnectionClosed):
                    while True:
                        stream.recv(PATIENCE)
                sys.stdout.write(f"ended {passed.told():.2f} s after the command\n")
            assert client.get("/v1/models").status_code == 401
        assert "refused the token" in device(first, "doctor", status=1)
        assert "ok   server" in device(second, "doctor")
        child.send_signal(signal.SIGKILL)
        port = url.rpartition(":")[2]
    with serving(home, tmp_path, "--port", port) as (url, _):
        wait_until_ready(url)
        assert "ok   server" in device(second, "doctor")
        assert "the old token of phone" in cloud(home, "devices")


def test_upgrade_backup_and_restore_keep_users_and_tokens(home, tmp_path):
    """From the version before, which had one token in a file, to another machine."""
    home.mkdir(mode=0o700)
    (home / "cloud-token").write_text(OLD + "\n")
    second, other = tmp_path / "second", tmp_path / "other"
    with serving(home, tmp_path) as (url, child):
        wait_until_ready(url)
        old = {"Authorization": f"Bearer {OLD}"}
        assert httpx.get(f"{url}/v1/models", headers=old, verify=PLAIN).is_success
        assert "paired with" in device(second, "pair", link_of(home, "phone")["link"])
        cloud(home, "backup", str(tmp_path / "copy.db"))
        port = url.rpartition(":")[2]
        child.send_signal(signal.SIGTERM)
        child.wait(PATIENCE)
    other.mkdir(mode=0o700)
    (other / "cloud-token").write_text(OLD + "\n")
    cloud(other, "restore", str(tmp_path / "copy.db"), "--yes")
    with serving(other, tmp_path, "--port", port) as (url, _):
        wait_until_ready(url)
        assert httpx.get(f"{url}/v1/models", headers=old, verify=PLAIN).is_success
        assert "ok   server" in device(second, "doctor")


@pytest.mark.parametrize("given", [False, True], ids=["its own", "given files"])
def test_on_an_address_that_others_reach_it_speaks_tls_alone(home, tmp_path, given):
    options = []
    if given:
        pem = tmp_path / "given.pem"
        pem.write_text(make_certificate()[0])
        options = ["--tls-certificate", str(pem)]
    with serving(home, tmp_path, "--host", "0.0.0.0", *options) as (url, _):
        assert url.startswith("https://0.0.0.0:")
        port = url.rpartition(":")[2]
        plain = f"http://127.0.0.1:{port}/healthz"

        def refused():
            answer = httpx.get(plain, verify=PLAIN)
            return answer.json()["code"] == "tls-required"

        wait_until(refused)
        local = "--server", f"https://127.0.0.1:{port}"
        code = link_of(home, "phone", *local)
        second = tmp_path / "second"
        assert "paired with" in device(second, "pair", code["link"])
        wait_until(lambda: "ok   server" in device(second, "doctor"), "not ready")
