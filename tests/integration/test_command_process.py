"""`specsteer` as a process of its own, as a shell runs it."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.usefixtures("same_kernels")
LONG = (
    *("--method", "generalist", "--temperature", "10", "--top-p", "1"),
    *("--seed", "1"),
)
"""So hot that hardly any text ends by itself, and a round for each token."""

HELD = """
import os, sys
from edge_app.transport.child_server import ChildServer
from edge_app.commands.write import Output
from edge_app.decoding.events import Settled
where, gate = sys.argv.pop(1), int(sys.argv.pop(1))
def add(output, event, shown=Output.add):
    shown(output, event)
    if isinstance(event, Settled):
        os.read(gate, 1)
def wait(*arguments, waited=ChildServer.wait):
    os.read(gate, 1)
    return waited(*arguments)
if where == "text":
    Output.add = add
else:
    ChildServer.wait = wait
from edge_app.cli import main
main()
"""
"""The command, held after a word of the text or while its server loads."""


def specsteer(*arguments, program=("-m", "edge_app.cli"), **options):
    """The real command, in a process group as a shell would put it."""
    return subprocess.Popen(
        [sys.executable, *program, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
        **options,
    )


@contextmanager
def held(where, *arguments):
    """The command at a place that it does not leave before the block ends, and what
    it was seen to print there."""
    gate, ours = os.pipe()
    program = ("-c", HELD, where, str(gate))
    process = specsteer(*arguments, program=program, pass_fds=(gate,))
    os.close(gate)
    try:
        yield process, process.stdout.read(1) if where == "text" else b""
    finally:
        os.close(ours)


def children(process):
    """Processes that a process has started; empty where there is no /proc."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(pid) for pid in listed.read_text().split()] if listed.exists() else []


def wait_for_end_of(pids):
    wait_until(
        lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids),
        "a server was left behind",
    )


def test_ctrl_c_in_mid_text():
    """A terminal sends it to the whole group: what is settled is shown, the status is
    130, and no server is left behind."""
    with held("text", "write", *LONG, "--max-tokens", "900", "x") as (process, first):
        started = children(process)
        os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert len(first + out) > 1
    assert b"alone" not in err
    assert err.splitlines()[-1].startswith(b"stopped: ")
    wait_for_end_of(started)


@pytest.mark.slow
@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGTERM])
def test_the_server_ends_with_the_command(deadly):
    """However the command ends."""
    with held("text", "write", *LONG, "--max-tokens", "900", "x") as (process, _):
        started = children(process)
        process.send_signal(deadly)
        process.wait(PATIENCE)
    process.communicate(timeout=PATIENCE)
    wait_for_end_of(started)
