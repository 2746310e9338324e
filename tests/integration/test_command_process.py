"""`specsteer` as a process of its own, and the server that a service starts."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Notice, Settled
from edge_app.service.requests import ServiceConfig, WriteRequest
from edge_app.service.service import WritingService
from models.files import locate
from models.prompts import Request
from models.running.settings import EngineSettings
from tests.edge_app.decoding.losing_server import Hurried
from tests.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.usefixtures("same_kernels")
WRITE = (
    *("write", "x", "--method", "generalist", "--temperature", "10", "--top-p", "1"),
    *("--seed", "1", "--max-tokens", "900"),
)
"""So hot that hardly any text ends by itself, and a round for each token."""

HELD = """
import os, sys
from edge_app.commands.write import Output
from edge_app.decoding.events import Settled
gate = int(sys.argv.pop(1))
def add(output, event, shown=Output.add):
    shown(output, event)
    if isinstance(event, Settled):
        os.read(gate, 1)
Output.add = add
from edge_app.cli import main
main()
"""
"""The command, held after a word of the text."""


@contextmanager
def held():
    """The command, in a process group as a shell would put it, which does not go on
    after a word of the text before the block ends; the first byte that it printed; and
    the processes that it has started, none if there is no /proc."""
    gate, ours = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", HELD, str(gate), *WRITE],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
        pass_fds=(gate,),
    )
    os.close(gate)
    try:
        first = process.stdout.read(1)
        listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        yield process, first, listed.read_text().split() if listed.exists() else []
    finally:
        os.close(ours)


def wait_for_end_of(pids):
    wait_until(
        lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids),
        "a server was left behind",
    )


def test_ctrl_c_in_mid_text():
    """A terminal sends it to the whole group: what is settled is shown, the status is
    130, and no server is left behind."""
    with held() as (process, first, started):
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
    with held() as (process, _, started):
        process.send_signal(deadly)
        process.wait(PATIENCE)
    process.communicate(timeout=PATIENCE)
    wait_for_end_of(started)


@pytest.fixture
def service(tmp_path):
    """One that starts its own server."""
    paths = tmp_path / "store.db", tmp_path / "ledger.jsonl"
    models = locate("specialist"), locate("generalist")
    plain = EngineSettings(extra_buffers=False)
    service = WritingService(ServiceConfig(*models, *paths, engine=plain))
    yield service
    service.close()


def write(service, max_tokens, emit, stop=None, **options):
    wanted = WriteRequest(
        Request("Thank Ana for the photos.", recipient="Ana"),
        settings=MethodSettings(threshold=0.3, **options),
        max_tokens=max_tokens,
    )
    service.write(wanted, emit, stop or threading.Event())


def test_a_server_of_ours_that_died_is_not_waited_for(service):
    """Nobody starts it again before the next text."""
    events, stop = [], Hurried()

    def emit(event):
        events.append(event)
        if isinstance(event, Settled) and not service._child.ended:
            service._child._process.kill()
            service._child._process.wait()

    write(service, 12, emit, stop, draft_length=2)
    origins = [t.origin for e in events if isinstance(e, Settled) for t in e.tokens]
    assert origins[0] != "local" == origins[-1]
    assert stop.waits == []


@pytest.mark.slow
def test_one_server_serves_many_texts_and_ends_with_the_service(service):
    """It is started once, started again when it has died, and never left behind."""
    service.prepare()
    first, events = service._child._process, []
    write(service, 5, events.append)
    write(service, 5, events.append)
    assert service._child._process is first
    first.kill()
    first.wait()
    write(service, 5, events.append)
    assert not any(isinstance(event, Notice) for event in events)
    second = service._child._process
    service.close()
    assert second.poll() is not None
