"""What announces itself on the network is found, over multicast on loopback, and is a
guess at an address: pairing finds out who listens there."""

import sys
import threading
from contextlib import contextmanager
from importlib.util import find_spec

import pytest

from cloud_api.announcing import check_can_announce
from cloud_api.errors import ServerError
from decoding_core.errors import CloudUnreachableError, StoppedError
from decoding_core.pairing import SERVICE
from edge_app.commands import models
from edge_app.config.settings import read_paired
from edge_app.transport import discovery
from edge_app.transport.discovery import FoundServer, find_servers
from tests.cloud_api.people.people_fakes import household_server, secure, tls_in
from tests.command import specsteer
from tests.integration.test_pairing_of_devices import Relay, impostor, offered
from tests.waiting import moments

HERE = ["127.0.0.1"]


@contextmanager
def announced(name, port, *addresses):
    """As by anybody on the network, who need not ask whether the name is free."""
    zeroconf = pytest.importorskip("zeroconf")
    where = [*(addresses or HERE)]
    known = {"properties": {}, "parsed_addresses": where, "server": f"{port}.local."}
    info = zeroconf.ServiceInfo(SERVICE, f"{name}.{SERVICE}", port, **known)
    with zeroconf.Zeroconf(HERE, use_asyncio=False) as network:
        network.registry.async_add(info)  # answers, and is not told unasked
        yield


def found_once(fact):
    """The servers, once they are what is waited for. Nobody answers the same twice in a
    second, so each look is longer."""
    for number, _ in enumerate(moments("the servers are not found")):
        try:
            found = find_servers(threading.Event(), 0.3 * 2 ** min(number, 4), HERE)
        except CloudUnreachableError:
            continue
        if fact(found):
            return found
    raise AssertionError


def test_what_others_announce_is_shown_through_the_gate_and_bounded():
    hostile = "n\u202eice\x9b31m \u2028" + "x" * 30
    many = *("0.0.0.0", "224.0.0.1"), *(f"10.0.0.{n}" for n in range(30))
    with announced("house", 8765), announced(hostile, 443, *many):
        found = found_once(lambda found: len(found) == 1 + discovery._ADDRESSES)
    assert FoundServer("house", "https://127.0.0.1:8765") in found
    assert {one.name for one in found} == {"house", "nice\ufffd31m  " + "x" * 30}
    urls = " ".join(one.url for one in found)
    assert "//0.0.0.0" not in urls
    assert "//224" not in urls


@pytest.mark.slow
def test_a_stranger_of_the_same_name_cannot_pass(tmp_path, home):
    """Though it passes all on to the household's server: it is not told the code, and
    nobody is let in."""
    with (
        household_server(tmp_path) as server,
        impostor(tls_in(tmp_path, 1).context, Relay, server=server) as stranger,
    ):
        code, said = str(offered(server).code), {}
        for url in (stranger.url, secure(server.url)):
            with announced("house", int(url.rpartition(":")[2])):
                found_once(lambda found, url=url: found[0].url == url)
                said[url] = specsteer("pair", code)
        assert "does not know this code" in " ".join(said[stranger.url].stderr.split())
        assert b"POST /v1/pair HTTP" in stranger.heard
        assert code.partition("-")[2].replace("-", "").encode() not in stranger.heard
        assert b"/v1/pair/proof" not in stranger.heard
        assert f"house at {secure(server.url)}" in said[secure(server.url)].stderr
        assert read_paired(home).server == secure(server.url)


def test_of_several_the_person_chooses_and_a_script_is_told_to(monkeypatch):
    two = [FoundServer("house", f"https://127.0.0.{n}:1") for n in (1, 2)]
    monkeypatch.setattr(discovery, "find_servers", lambda _: two)
    script = specsteer("pair", "12-K7QF-3XPM")
    assert script.exit_code == 1
    told = " ".join(script.stderr.split())
    assert "2 servers announce themselves" in told
    assert "house at https://127.0.0.2:1. Add --server" in told
    monkeypatch.setattr(models, "is_interactive", lambda: True)
    person = specsteer("pair", "12-K7QF-3XPM", stdin="3\n2\n")
    assert "  2  house at https://127.0.0.2:1" in person.stderr
    assert "is not one of" in person.stderr
    assert "no answer from the server at https://127.0.0.2:1" in person.stderr


def test_where_nothing_is_found_the_sentence_says_to_give_the_address(monkeypatch):
    give = "add --server with the address that stands beside the code"
    stopped = threading.Event()
    stopped.set()
    if find_spec("zeroconf"):
        import zeroconf

        with pytest.raises(CloudUnreachableError, match=f"within 0 seconds.*{give}"):
            find_servers(threading.Event(), 0.0, HERE)
        with pytest.raises(StoppedError):
            find_servers(stopped, 9.0, HERE)

        def none(*_, **__):
            raise OSError(19, "No such device")

        monkeypatch.setattr(zeroconf, "Zeroconf", none)
        with pytest.raises(CloudUnreachableError, match=rf"No such device\): {give}"):
            find_servers(threading.Event(), 0.0, HERE)
    monkeypatch.setitem(sys.modules, "zeroconf", None)
    with pytest.raises(CloudUnreachableError, match=rf"\[network\].*Or {give}"):
        find_servers(threading.Event(), 0.0, HERE)
    with pytest.raises(ServerError, match=r"\[network\]"):
        check_can_announce("0.0.0.0", pairs=True)
    with pytest.raises(ServerError, match="pairs nobody"):
        check_can_announce("0.0.0.0", pairs=False)
    with pytest.raises(ServerError, match=r"--host 0\.0\.0\.0"):
        check_can_announce("::", pairs=True)
