"""A household's server is found by a code alone, between two machines: network
namespaces with a cable between them, every program a process."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec

import pytest

from tests.cloud_api.cloud_fakes import SERVER, environment, process
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow
HOUSE, LAPTOP = (f"specsteer-{os.getpid()}-{end}" for end in "ab")
ADDRESSES = {HOUSE: "10.77.0.1", LAPTOP: "10.77.0.2"}
CABLE = (
    f"netns add {HOUSE}",
    f"netns add {LAPTOP}",
    f"link add name eth0 netns {HOUSE} type veth peer name eth0 netns {LAPTOP}",
    *(f"-n {at} addr add {own}/24 dev eth0" for at, own in ADDRESSES.items()),
    *(f"-n {at} link set {link} up" for at in ADDRESSES for link in ("lo", "eth0")),
    # As from a router: which address others reach is found out by it.
    f"-n {HOUSE} route add default via {ADDRESSES[LAPTOP]}",
    f"-n {LAPTOP} route add default via {ADDRESSES[HOUSE]}",
)


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module", autouse=True)
def cable():
    if not find_spec("zeroconf"):
        pytest.skip("needs the extra network")
    if not hasattr(os, "geteuid") or os.geteuid() or not shutil.which("ip"):
        pytest.skip("needs root, and ip of iproute2, for network namespaces")
    try:
        for words in CABLE:
            if error := ip(*words.split()).stderr:
                pytest.skip(f"no network namespaces here: {error}")
        yield
    finally:
        ip("netns", "del", HOUSE)
        ip("netns", "del", LAPTOP)


def within(namespace, *words):
    return ["ip", "netns", "exec", namespace, *words]


@contextmanager
def serving(home, tmp_path, *options, at=HOUSE):
    """A household's server at the usual port; what it says once it is announced."""
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF")
    words = [*SERVER, "serve", "--host", "0.0.0.0", *options]
    words += ["--generalist", str(model), "--base", str(model)]
    with process(within(at, *words), environment(home)) as child:
        assert child.stdout.readline()
        said = [child.stderr.readline() for _ in range(1 + ("--announce" in options))]
        yield f"https://{ADDRESSES[at]}:8765", said[-1]


def run(namespace, home, module, *words, fails=False):
    done = subprocess.run(
        within(namespace, sys.executable, "-m", module, *words),
        env=environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert bool(done.returncode) == fails, (words, done.stdout, done.stderr)
    return " ".join((done.stdout + done.stderr).split())


def test_a_device_finds_its_server_by_a_code_alone(tmp_path):
    """Nobody is found who is not announced; of two the person must say which, and
    another household's, on a machine of the same name, lets nobody in."""
    ours, theirs, device = (tmp_path / name for name in ("ours", "theirs", "device"))

    def code(name, home=ours, at=HOUSE):
        shown = run(at, home, "cloud_api", "pair", name, "--json")
        return json.loads(shown.partition("}")[0] + "}")["code"]

    def pair(*words, **options):
        return run(LAPTOP, device, "edge_app.cli", "pair", *words, **options)

    with serving(ours, tmp_path):
        silent = pair(code("phone"), fails=True)
        assert "no household server answered on this network" in silent
        assert "add --server with the address that stands beside the code" in silent
    with ExitStack() as stack:
        url, said = stack.enter_context(serving(ours, tmp_path, "--announce"))
        assert said.startswith("announced on the network of 10.77.0.1 as '")
        paired = pair(code("phone"))
        assert f"at {url}" in paired
        assert f"paired with {url} as 'phone' of owner" in paired
        stranger = serving(theirs, tmp_path, "--announce", at=LAPTOP)
        other, again = stack.enter_context(stranger)
        assert again == said.replace("10.77.0.1", "10.77.0.2")[:-2] + "-2'\n"
        for number in range(2):  # so that both have codes of these numbers
            code(f"x{number}", theirs, LAPTOP)
        last = code("tablet")
        which = pair(last, fails=True)
        assert "2 servers announce themselves on this network" in which
        assert url in which
        assert other in which
        code("y", theirs, LAPTOP)
        wrong = pair(last, "--server", other, fails=True)
        assert "does not know this code" in wrong
        assert "paired with" in pair(last, "--server", url)
    ip("-n", LAPTOP, "link", "set", "eth0", "down")
    assert "add --server with the address" in pair("1-K7QF-3XPM", fails=True)
