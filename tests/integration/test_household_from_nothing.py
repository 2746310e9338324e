"""A household from nothing, as a person sets it up and as docs/household-server.md
says: every program a process, every device a home of its own."""

import json
import re
import shlex
import signal
import subprocess
import sys
from contextlib import ExitStack, contextmanager

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from cloud_api.admission import make_certificate
from tests.cloud_api.cloud_fakes import (
    PLAIN,
    SERVER,
    environment,
    open_session,
    process,
    wait_until_ready,
)
from tests.docs_blocks import blocks
from tests.waiting import PATIENCE, ROOT, Elapsed, wait_until

HEADING = "## From nothing to a second device\n"
PROGRAMS = {"specsteer": "edge_app.cli", "specsteer-cloud": "cloud_api"}
pytestmark = pytest.mark.slow


@pytest.fixture
def home(tmp_path):
    """The server's."""
    return tmp_path / "server"


@contextmanager
def serving(home, tmp_path, *options):
    """A server's address, and its process; killed at the end if it is still there."""
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF")
    words = [*SERVER, "serve", "--port", "0", *options]
    words += ["--generalist", str(model), "--base", str(model)]
    with process(words, environment(home)) as child:
        line = child.stdout.readline()
        assert line, child.stderr.read()
        yield json.loads(line)["url"], child


def run(words, env, status=0):
    """What a command prints, from any folder."""
    done = subprocess.run(
        command(words),
        env=env,
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == status, (words, done.stdout, done.stderr)
    return done.stdout + done.stderr


def command(words):
    return [sys.executable, "-m", PROGRAMS[words[0]], *words[1:]]


def cloud(home, *words, **options):
    return run(["specsteer-cloud", *words], environment(home), **options)


def device(home, *words, **options):
    return run(["specsteer", *words], environment(home), **options)


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


def test_on_an_address_that_others_reach_it_speaks_tls_alone(home, tmp_path):
    """With a certificate that was given."""
    pem = tmp_path / "given.pem"
    pem.write_text(make_certificate()[0])
    options = "--host", "0.0.0.0", "--tls-certificate", str(pem)
    with serving(home, tmp_path, *options) as (url, _):
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


def commands():
    """The lines of the blocks below the heading, in order."""
    page = (ROOT / "docs" / "household-server.md").read_text("utf-8")
    begin = page.index(HEADING)
    end = page.index("\n## ", begin + len(HEADING))
    first, last = page[:begin].count("\n"), page[:end].count("\n")
    return [
        shlex.split(line)
        for block in blocks()
        if block.page == "docs/household-server.md" and first < block.line < last
        for line in block.lines
    ]


def test_the_page_leads_to_a_second_device_that_writes(tmp_path):
    """Each command as it stands there; but the server stays on loopback, at a port that
    is free, and the link is the one that was shown."""
    # What the environment says counts before the file that `init` wrote.
    here = {"SPECSTEER_CLOUD_HOST": "127.0.0.1", "SPECSTEER_CLOUD_PORT": "0"}
    server = environment(tmp_path / "server", SPECSTEER_THREADS="1", **here)
    laptop = environment(tmp_path / "laptop", SPECSTEER_THREADS="1")
    link, texts = "", []
    with ExitStack() as stack:
        for words in commands():
            if words[:2] == ["specsteer-cloud", "serve"]:
                child = stack.enter_context(process(command(words), server))
                wait_until_ready(json.loads(child.stdout.readline())["url"])
            elif words[0] == "specsteer-cloud":
                shown = run(words, server)
                found = re.search(r"specsteer pair '(specsteer://[^']+)'", shown)
                link = found[1] if found else link
            else:
                filled = [link if "://" in word else word for word in words]
                texts.append(run(filled, laptop))
    paired, examined, text = texts
    assert "paired with https://127.0.0.1:" in paired
    assert "ok   server" in examined
    assert text.strip()
    assert 'host = "0.0.0.0"' in (tmp_path / "server" / "cloud.toml").read_text()
    sent = (tmp_path / "laptop" / "ledger.jsonl").read_text()
    assert '"url": "https://127.0.0.1:' in sent
