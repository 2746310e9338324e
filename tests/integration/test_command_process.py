"""`specsteer` as a process of its own, as a shell runs it."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from edge_app.privacy.ledger import read_ledger
from edge_app.settings import ledger_path
from models.engines.probe import probe

CLEAR = "--token-in-clear"
LONG = (
    *("--method", "generalist", "--temperature", "10", "--top-p", "1"),
    *("--seed", "1"),
)
"""So hot that hardly any text ends by itself, and a round for each token."""


@pytest.fixture(autouse=True)
def same_kernels(monkeypatch):
    """As the server's and the reference's."""
    monkeypatch.setenv("SPECSTEER_EXTRA_BUFFERS", "off")
    probe.cache_clear()
    yield
    probe.cache_clear()


def specsteer(*arguments, **options):
    """The real command, in a process group as a shell would put it."""
    return subprocess.Popen(
        [sys.executable, "-m", "edge_app.cli", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
        **options,
    )


def children(process):
    """Processes that a process has started; empty where there is no /proc."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(pid) for pid in listed.read_text().split()] if listed.exists() else []


def wait_for_end_of(pids, seconds=20):
    deadline = time.monotonic() + seconds
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        assert time.monotonic() < deadline, "a server was left behind"
        time.sleep(0.05)


def test_ctrl_c_in_mid_text():
    """A terminal sends it to the whole group: what is settled is shown, the status is
    130, and no server is left behind."""
    process = specsteer("write", *LONG, "--max-tokens", "900", "x")
    first = process.stdout.read(1)
    started = children(process)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert len(first + out) > 1
    assert b"alone" not in err
    assert b"tokens/s" in err.splitlines()[-1]
    wait_for_end_of(started)


@pytest.mark.slow
def test_ctrl_c_while_the_server_loads():
    """It is not mistaken for a server that failed."""
    process = specsteer("write", *LONG, "x")
    deadline = time.monotonic() + 20
    while not children(process) and time.monotonic() < deadline:
        time.sleep(0.01)
    started = children(process)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    assert not out.strip()
    assert b"Error" not in err
    wait_for_end_of(started)


@pytest.mark.slow
@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGTERM])
def test_the_server_ends_with_the_command(deadly):
    """However the command ends."""
    process = specsteer("write", *LONG, "--max-tokens", "900", "x")
    process.stdout.read(1)
    started = children(process)
    process.send_signal(deadly)
    process.communicate(timeout=20)
    wait_for_end_of(started)


@pytest.mark.slow
def test_the_server_of_the_command_killed_in_mid_text():
    """kill -9 of the child server: a complete text and a sentence, status 0."""
    process = specsteer("write", *LONG, "--max-tokens", "200", "x")
    first = process.stdout.read(1)
    for pid in children(process):
        os.kill(pid, signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert len(first + out) > 200
    assert b"the rest is written on this device alone" in err


@pytest.mark.slow
def test_a_reader_that_has_enough():
    """`| head -c 5`: no traceback, no server left behind."""
    process = specsteer("write", *LONG, "--max-tokens", "900", "x")
    process.stdout.read(1)
    started = children(process)
    process.stdout.close()
    process.wait(30)
    err = process.stderr.read()
    process.stderr.close()
    assert b"Traceback" not in err
    assert process.returncode == 1
    wait_for_end_of(started)


@pytest.mark.slow
def test_a_server_started_by_hand():
    """`specsteer-cloud serve` and `specsteer write --server`, each a process; the token
    lies in the state folder of both."""
    serve = shutil.which("specsteer-cloud", path=str(Path(sys.executable).parent))
    process = subprocess.Popen([serve, "serve", "--port", "0"], stdout=subprocess.PIPE)
    try:
        url = json.loads(process.stdout.readline())["url"]
        written = specsteer("write", "x", "--server", url, CLEAR, "--max-tokens", "5")
        out, err = written.communicate(timeout=60)
        assert written.returncode == 0, err
        assert out
        assert b"alone" not in err
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


@pytest.mark.slow
def test_two_commands_at_once():
    """Both write; the ledger keeps every line of both."""
    both = [
        specsteer("write", "--sample", "--max-tokens", "40", f"x{n}") for n in (1, 2)
    ]
    for process in both:
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert out
    lines = ledger_path().read_text().splitlines()
    assert all(json.loads(line)["event"] in ("Sent", "Received") for line in lines)
    assert sum(e.what == "open" for e in read_ledger(ledger_path())) == 2


@pytest.mark.slow
def test_the_demo():
    """A letter, the counts and its sources on stdout; status 0."""
    process = specsteer("demo")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    letter, _, sources = out.decode().partition("read for it, on this device alone:")
    assert letter.strip()
    assert sources.count("email to Ana") >= 1
    for word in ("kept", "redrawn", "sent"):
        assert word in letter.strip().splitlines()[-1]
