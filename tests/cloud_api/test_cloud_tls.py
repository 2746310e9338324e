"""TLS and HTTP in the clear on one port; both are counted from the first moment."""

import asyncio
import socket
import ssl
from contextlib import ExitStack, suppress

import httpx
import pytest

from cloud_api import run
from cloud_api.admission import (
    context_of_files,
    fingerprint_of,
    given_certificate,
    make_certificate,
)
from cloud_api.errors import ServerError
from cloud_api.settings import ConnectionLimits
from tests.cloud_api.cloud_fakes import HEADERS, PLAIN, open_session, running
from tests.cloud_api.people.people_fakes import certificates, secure, tls_in, trusting
from tests.waiting import PATIENCE, wait_until

FEW = ConnectionLimits(connections=32)
GREETING = bytes.fromhex("1603010100010000fc0303")
"""The beginning of a greeting of TLS whose end never comes."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    tls = tls_in(tmp_path_factory.mktemp("tls"))
    with running(tls=tls, connections=FEW) as server:
        yield server


@pytest.fixture(scope="module")
def hurried(tmp_path_factory):
    """A server that waits for no greeting."""
    tls = tls_in(tmp_path_factory.mktemp("hurried"))
    with running(
        tls=tls, connections=ConnectionLimits(header_seconds=0.0), wait=False
    ) as server:
        yield server


def address_of(server):
    return "127.0.0.1", server.socket.getsockname()[1]


def test_both_are_answered(server):
    for url, verify in ((server.url, PLAIN), (secure(server.url), trusting())):
        with httpx.Client(
            base_url=url, verify=verify, headers=HEADERS, timeout=PATIENCE
        ) as client:
            assert client.get("/v1/models").status_code == 200
            assert open_session(client)
            long = client.post("/v1/sessions", content=b"x" * 300_000)
            assert long.status_code == 422
    wait_until(lambda: len(server.app.state.connections) == 0, "a connection stayed")


@pytest.mark.parametrize("first", [b"", GREETING, GREETING[:1]])
def test_who_never_shakes_hands_is_hung_up_on(hurried, first):
    """asyncio by itself would wait for a minute, and count nobody."""
    with (
        socket.create_connection(address_of(hurried), PATIENCE) as silent,
        suppress(ConnectionError),
    ):
        silent.sendall(first)
        assert silent.recv(100) == b""
    wait_until(lambda: len(hurried.app.state.connections) == 0, "a connection stayed")


def test_silent_greetings_keep_nobody_out(server):
    """The oldest has to go, not the device that comes."""
    with ExitStack() as stack:
        for _ in range(3 * FEW.connections):
            one = socket.create_connection(address_of(server), PATIENCE)
            stack.enter_context(one).sendall(GREETING)
            assert len(server.app.state.connections) <= FEW.connections
        url, verify = secure(server.url), trusting()
        with httpx.Client(base_url=url, verify=verify, timeout=PATIENCE) as client:
            assert client.get("/healthz").status_code == 200


def test_a_broken_greeting_is_hung_up_on(server):
    with socket.create_connection(address_of(server), PATIENCE) as broken:
        broken.sendall(b"\x16nonsense" * 10)
        assert broken.makefile("rb").read()[:1] in (b"\x15", b"")  # an alert
    wait_until(lambda: len(server.app.state.connections) == 0, "a connection stayed")


def test_where_only_tls_is_spoken_plain_requests_are_told_so(tmp_path):
    with (
        running(tls=tls_in(tmp_path), plain=False) as server,
        httpx.Client(verify=PLAIN, headers=HEADERS, timeout=PATIENCE) as plain,
    ):
        answer = plain.get(server.url + "/v1/models")
        assert (answer.status_code, answer.json()["code"]) == (400, "tls-required")
        url = secure(server.url) + "/healthz"
        answer = httpx.get(url, verify=trusting(), timeout=PATIENCE)
        assert answer.status_code == 200


def test_the_server_ends_while_hands_are_being_shaken(tmp_path):
    with running(tls=tls_in(tmp_path)) as server:
        silent = socket.create_connection(address_of(server), PATIENCE)
        silent.sendall(GREETING)
        wait_until(lambda: len(server.app.state.connections) == 1)
    with silent, suppress(ConnectionResetError):
        assert silent.recv(1) == b""


def test_each_certificate_has_a_key_of_its_own_and_never_ends():
    assert make_certificate()[1] != certificates()[1]
    pem, fingerprint = certificates()
    shown = ssl.PEM_cert_to_DER_cert(pem[pem.index("-----BEGIN CERTIFICATE") :])
    assert fingerprint_of(ssl.DER_cert_to_PEM_cert(shown)) == fingerprint
    assert len(fingerprint) == 64


def test_given_files_are_taken_or_refused_with_a_sentence(tmp_path):
    pem, _ = certificates()
    at = pem.index("-----BEGIN CERTIFICATE")
    both, key, chain = (tmp_path / n for n in ("both.pem", "key.pem", "chain.pem"))
    both.write_text(pem)
    key.write_text(pem[:at])
    chain.write_text(pem[at:])
    assert context_of_files(both, None)
    assert context_of_files(chain, key)
    for certificate, given in ((chain, None), (key, chain), (chain, chain)):
        with pytest.raises(ServerError, match="no certificate and its key"):
            context_of_files(certificate, given)
    with pytest.raises(ServerError, match="cannot be read"):
        context_of_files(tmp_path / "none.pem", None)
    with pytest.raises(ServerError, match="there is no certificate"):
        fingerprint_of("nothing")


def test_a_renewed_file_is_read_again_and_nobody_is_hung_up_on(
    tmp_path, monkeypatch, capsys
):
    """Whoever connects from then on is shown it; what is none is told and left."""
    path = tmp_path / "both.pem"
    path.write_text(certificates()[0])
    tls = given_certificate(path, None)
    told = []
    monkeypatch.setattr(run, "_LOOK_SECONDS", 0.01)
    with running(tls=tls) as server, ExitStack() as stack:
        url = secure(server.url)
        old = stack.enter_context(
            httpx.Client(base_url=url, verify=trusting(), timeout=PATIENCE)
        )
        assert old.get("/healthz").status_code == 200
        watching = server.on_loop(
            lambda: asyncio.ensure_future(run._renew(tls, told.append))
        )
        said = []
        path.write_text("half of one")

        def is_told():
            said.append(capsys.readouterr().err)
            return "the certificate of before is shown" in "".join(said)

        wait_until(is_told, "nothing was said")
        pem, fingerprint = certificates(1)
        path.write_text(pem)
        wait_until(lambda: told, "it was not read again")
        assert told[0].fingerprint == fingerprint
        with httpx.Client(base_url=url, verify=trusting(1), timeout=PATIENCE) as new:
            assert new.get("/healthz").status_code == 200
        assert old.get("/healthz").status_code == 200
        server.on_loop(watching.cancel)
