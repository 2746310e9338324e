"""Two servers of one household behind a real HAProxy or nginx that passes TLS
through, as deploy/haproxy.cfg and nginx.conf have it, or known to the devices by two
addresses: one is killed, or told to stop, under texts of several people, and no text
shows it."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from unittest.mock import patch

import httpx
import pytest

from cloud_api.people import People, back_up, restore_backup
from decoding_core.settings import MethodSettings
from edge_app.decoding.events import Sent
from edge_app.decoding.session import Patience
from edge_app.transport import client
from edge_app.transport.client import CloudVerifier
from models.engines.llama_cpp import LlamaContext
from tests.cloud_api.cloud_fakes import environment, process, wait_until_ready
from tests.integration.test_shared_noise import prompts
from tests.waiting import PATIENCE, ROOT, wait_until
from tests.writing import Writing

pytestmark = [
    pytest.mark.slow,
    # A text's own address is a part of loopback, by which a proxy shares them out.
    pytest.mark.skipif(sys.platform != "linux", reason="one loopback address"),
]
TEXTS, TOKENS = int(os.environ.get("SPECSTEER_TEXTS", "8")), 40


def answers(port):
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def serving(home, *options):
    """A server, by default with the embedded pair; its process and port."""
    exact = "--exact", "--threads", "1", "--sessions", "1"
    command = [sys.executable, "-m", "cloud_api", "serve", "--port", "0", *exact]
    command += map(str, options)
    own = environment(home, SPECSTEER_EXTRA_BUFFERS="off")
    with process(command, own) as child:
        url = json.loads(child.stdout.readline())["url"]
        wait_until_ready(url)
        yield child, int(url.rpartition(":")[2])


@contextmanager
def proxy(name, folder, ports):
    """Its address, before servers at these ports."""
    shipped, listens = {
        "haproxy": ("haproxy.cfg", "bind :8765"),
        "nginx": ("nginx.conf", "listen 8765"),
    }[name]
    text = (ROOT / "deploy" / shipped).read_text()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    olds = "10.0.0.11:8765", "10.0.0.12:8765", listens
    here = f"{listens.split()[0]} 127.0.0.1:{port}"
    for old, new in zip(olds, [*(f"127.0.0.1:{p}" for p in ports), here], strict=True):
        assert text.count(old) == 1
        text = text.replace(old, new)
    (folder / shipped).write_text(text)
    command = {
        "haproxy": ["haproxy", "-db", "-f", folder / shipped],
        "nginx": [
            *("nginx", "-e", "stderr", "-c", folder / shipped),
            *("-g", f"daemon off; pid {folder}/nginx.pid;"),
        ],
    }[name]
    with subprocess.Popen(command) as child:
        try:
            wait_until(lambda: answers(port))
            yield f"https://127.0.0.1:{port}"
        finally:
            child.terminate()  # nginx ends its workers with itself


@contextmanager
def household_behind(name, folder, options=((), ())):
    """Two servers that share people and certificate by a backup, a device's token and
    the certificate, and the proxy's address."""
    if not shutil.which(name):
        pytest.skip(f"there is no {name}")
    first, second = folder / "first", folder / "second"
    second.mkdir(0o700)
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(first, *options[0]))]
        with People(first) as people:
            token = people.add_device("phone", "owner")
            pem, _ = people.certificate(lambda: 1 / 0)  # it is there
            back_up(people, folder / "copy.db")
        restore_backup(second, folder / "copy.db")
        servers.append(stack.enter_context(serving(second, *options[1])))
        ports = [port for _, port in servers]
        url = stack.enter_context(proxy(name, folder, ports))
        yield servers, url, token, pem[pem.index("-----BEGIN CERT") :]


@pytest.fixture(params=["haproxy", "nginx"])
def household(request, tmp_path):
    with household_behind(request.param, tmp_path) as found:
        yield found


def device(household, number, proxied=True):
    """The client of a device with an address of its own, and what it sends; without the
    proxy it knows the servers, and begins at either."""
    servers, url, token, certificate = household
    others = [] if proxied else [f"https://127.0.0.1:{port}" for _, port in servers]
    url = url if proxied else others.pop(number % 2)
    events, at = [], f"127.0.1.{number + 1}"
    own = partial(httpx.HTTPTransport, local_address=at)
    with patch.object(client.httpx, "HTTPTransport", own):
        given = {"certificate": certificate, "others": others}
        return CloudVerifier(url, token, events.append, **given), events


def write(device, specialist, number, before_block=lambda position: None):
    """One text."""
    verifier, events = device
    submit = verifier.submit

    def submitted(block):
        before_block(block.position)
        submit(block)

    verifier.submit = submitted
    with closing(LlamaContext(specialist, 1, 1024)) as context:
        text = Writing(
            MethodSettings(temperature=0.7, seed=number, draft_length=4, window=2),
            *(context.sequence(), verifier, TOKENS, ()),
            prompts=prompts(specialist),
            vocabulary_id=specialist.vocabulary_id,
            piece=specialist.vocabulary.piece,
            weighs=False,
            events=events,
            may_go_offline=False,
            patience=Patience((0.05,) * 2000, 1000.0),
        )
        text.run()
    verifier.close()
    text.opened = len({one.payload for one in text.all(Sent) if one.what == "open"})
    return text


def moved_without_a_trace(household, specialist, loses, proxied=True):
    """How many of several texts went on at the other server when `loses` was called in
    the midst of all; each has the tokens of the undisturbed one."""
    quiet = [write(device(household, n), specialist, n) for n in range(TEXTS)]
    assert all(text.opened == 1 for text in quiet)
    patience = 5 * PATIENCE  # for a vLLM on a busy machine
    gone, met = threading.Event(), threading.Barrier(TEXTS, timeout=patience)

    def before_block(position):
        if position > TOKENS // 3 and not gone.is_set():
            if met.wait() == 0:
                loses()
                gone.set()
            assert gone.wait(patience)

    devices = [device(household, n, proxied) for n in range(TEXTS)]
    with ThreadPoolExecutor(TEXTS) as pool:
        each = (specialist,) * TEXTS, range(TEXTS), (before_block,) * TEXTS
        texts = list(pool.map(write, devices, *each))
    assert [text.ids for text in texts] == [text.ids for text in quiet]
    assert all(len(text.ids) == TOKENS for text in texts)
    moved = sum(text.opened > 1 for text in texts)
    assert 0 < moved < TEXTS
    return moved


@pytest.mark.parametrize(
    ("number", "proxied"),
    [(signal.SIGKILL, True), (signal.SIGTERM, True), (signal.SIGKILL, False)],
)
def test_a_server_goes_under_several_texts_and_none_shows_it(
    household, specialist, number, proxied
):
    server, _ = household[0][0]
    moved = moved_without_a_trace(
        household, specialist, lambda: server.send_signal(number), proxied
    )
    name = signal.Signals(number).name
    sys.stdout.write(f"{name}: {moved} of {TEXTS} texts went on at the other server\n")
    wait_until(lambda: server.poll() is not None)
