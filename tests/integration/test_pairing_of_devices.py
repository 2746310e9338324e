"""A device is paired with a server, and what answers in its place gets nothing.

Both sides are the real ones, over sockets; what reaches an impostor is captured.
"""

import socket
import socketserver
import ssl
import threading
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from cloud_api import pairing
from decoding_core.errors import (
    CertificateError,
    CloudRefusedError,
    CloudUnreachableError,
    InvalidSettingsError,
    SessionLostError,
)
from decoding_core.pairing import Code, Invitation
from edge_app.commands.service_config import service_config
from edge_app.config.settings import (
    PairedServer,
    read_paired,
    read_settings,
    write_paired,
)
from edge_app.privacy.ledger import read_ledger
from edge_app.transport import client
from edge_app.transport.client import CloudVerifier, Connection
from edge_app.transport.pairing import pair
from tests.cloud_api import cloud_fakes as fakes
from tests.cloud_api.cloud_fakes import (
    assert_same,
    block_after,
    open_request,
    running,
    verifier,
)
from tests.cloud_api.people.people_fakes import (
    certificates,
    household_server,
    secure,
    tls_in,
)
from tests.command import specsteer as run
from tests.relay import Relay as CutRelay
from tests.waiting import PATIENCE

EMPTY = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
TOKEN = "specsteer_the-token-that-nobody-else-may-see"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with household_server(tmp_path_factory.mktemp("house")) as server:
        yield server


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """A busy machine that is slow to shake hands is no server that is away."""
    monkeypatch.setattr(client, "_CONNECT_SECONDS", PATIENCE)


def offered(server, name="phone", **options):
    """An invitation to a server."""
    code, _ = pairing.offer(server.people, name, **options)
    return Invitation(code, secure(server.url), certificates()[1])


class Impostor(socketserver.ThreadingTCPServer):
    """Listens on a port of its own and keeps all that it is sent, after TLS if it has
    a certificate; it answers each request with this."""

    def __init__(self, context=None, answer=EMPTY):
        super().__init__(("127.0.0.1", 0), None)
        self.url = f"https://127.0.0.1:{self.server_address[1]}"
        self.heard, self._context, self._answer = b"", context, answer

    def finish_request(self, raw, _):
        raw.settimeout(PATIENCE)
        with suppress(OSError):
            self.talk(raw)

    def talk(self, raw):
        if self._context is None:
            self.heard += raw.recv(65536)
            raw.sendall(self._answer)
            return
        with self._context.wrap_socket(raw, server_side=True) as line:
            while data := line.recv(65536):
                self.heard += data
                line.sendall(self._answer)


@contextmanager
def impostor(context=None, kind=Impostor, **options):
    with kind(context, **options) as one:
        thread = threading.Thread(target=one.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield one
        finally:
            one.shutdown()
            thread.join(PATIENCE)


def test_a_device_is_paired_and_writes(server, home):
    """By the command, and then with what it has kept, for its owner alone."""
    done = run("pair", offered(server).link)
    assert done.exit_code == 0
    assert done.stdout == f"paired with {secure(server.url)} as 'phone' of owner\n"
    kept = home / "paired-server.json"
    assert kept.stat().st_mode & 0o077 == 0
    settings = read_settings()
    assert settings.server == secure(server.url)
    assert settings.certificate in certificates()[0]
    sent = list(read_ledger(home / "ledger.jsonl"))
    assert [entry.what for entry in sent] == ["pair", "pair"]
    chosen = service_config(settings).settings
    verifier = CloudVerifier(
        chosen.server, chosen.token, lambda _: None, certificate=chosen.certificate
    )
    try:
        verifier.open(open_request())
        verifier.submit(block_after((), (1, 2)))
        assert verifier.collect().accepted >= 0
    finally:
        verifier.close()
    assert run("unpair").exit_code == 0
    assert not kept.exists()
    assert read_settings().server == ""
    assert "is not paired" in run("unpair").stderr


def test_a_typed_code_pairs_too(server, home):
    invitation = offered(server, "typed")
    typed = str(invitation.code).lower().replace("0", "o")
    done = run("pair", typed, "--server", invitation.url)
    assert done.exit_code == 0
    assert read_paired(home).certificate in certificates()[0]
    assert "add --server" in run("pair", typed).stderr
    again = run("pair", typed, "--server", invitation.url).stderr
    assert "was used already" in again.replace("\n", " ")


def test_a_wrong_code_is_told_apart_on_the_device(server):
    """The device finds it out, and tells the server nothing more."""
    invitation = offered(server, "wrong")
    wrong = replace(invitation, code=Code(invitation.code.number, "00000000"))
    sent = []
    with pytest.raises(CloudRefusedError, match="does not know this code"):
        pair(wrong, sent.append)
    assert [event.what for event in sent if hasattr(event, "payload")] == ["pair"]
    assert pair(invitation, lambda _: None).name == "wrong"


def test_another_certificate_than_the_link_says(server, tmp_path):
    invitation = offered(server, "other")
    with (
        impostor(tls_in(tmp_path, 1).context) as other,
        pytest.raises(CertificateError, match="is not the one of the link"),
    ):
        pair(replace(invitation, url=other.url), lambda _: None)
    assert other.heard == b""


class Relay(Impostor):
    """Passes on what it is sent to the real server, over TLS of its own to each."""

    def __init__(self, context, server):
        super().__init__(context)
        self._to = server.socket.getsockname()[:2]

    def talk(self, raw):
        blind = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
        with (
            self._context.wrap_socket(raw, server_side=True) as device,
            blind.wrap_socket(socket.create_connection(self._to, PATIENCE)) as server,
        ):
            device.settimeout(0.02)
            server.settimeout(0.02)
            while True:
                for one, other in ((device, server), (server, device)):
                    with suppress(TimeoutError):
                        data = one.recv(65536)
                        if not data:
                            return
                        self.heard += data if one is device else b""
                        other.sendall(data)


def test_who_stands_between_and_passes_all_on_is_found_out(server, tmp_path):
    invitation = replace(offered(server, "between"), fingerprint="")
    with (
        impostor(tls_in(tmp_path, 1).context, Relay, server=server) as relay,
        pytest.raises(CloudRefusedError, match="does not know this code"),
    ):
        pair(replace(invitation, url=relay.url), lambda _: None)
    assert b"/v1/pair/proof" not in relay.heard
    assert not any(one.name == "between" for one in server.people.devices())


def paired_with(url):
    pem = certificates()[0]
    return PairedServer(url, TOKEN, pem[pem.index("-----BEGIN CERT") :], "owner", "x")


@pytest.mark.parametrize(
    ("number", "error", "said"),
    [
        (1, CertificateError, "is another one than at pairing, so nothing was sent"),
        (None, CloudRefusedError, "does not speak TLS"),
    ],
    ids=["another certificate", "no TLS"],
)
def test_a_listener_that_squats_on_the_port_never_gets_the_token(
    home, tmp_path, number, error, said
):
    """Nor any request: by the connection, the verifier and the commands."""
    context = None if number is None else tls_in(tmp_path, number).context
    with impostor(context) as squatter:
        write_paired(home, paired_with(squatter.url))
        chosen = service_config(read_settings()).settings
        assert chosen.token == TOKEN
        arguments = chosen.server, chosen.token, lambda _: None
        connection = Connection(*arguments, certificate=chosen.certificate)
        with pytest.raises(error, match=said):
            connection.request("hello", "GET", "/healthz")
        with pytest.raises(error, match=said):
            connection.connect("/v1/sessions/x/stream")
        connection.close()
        verifier = CloudVerifier(*arguments, certificate=chosen.certificate)
        with pytest.raises(error, match=said):
            verifier.open(open_request())
        verifier.close()
    assert TOKEN.encode() not in squatter.heard
    assert b"Authorization" not in squatter.heard
    assert b"HTTP" not in squatter.heard


def test_a_certificate_that_nobody_vouches_for_is_said_to_be_none(tmp_path):
    """Also without a pairing: it is not "no answer"."""
    with impostor(tls_in(tmp_path).context) as stranger:
        connection = Connection(stranger.url, TOKEN, lambda _: None)
        with pytest.raises(CloudRefusedError, match="none that this device trusts"):
            connection.request("hello", "GET", "/healthz")
        connection.close()
    assert stranger.heard == b""


def test_what_the_paired_server_gave_goes_to_no_other(home):
    """Neither to one that is typed nor to one of the settings."""
    write_paired(home, paired_with("https://127.0.0.1:1"))
    other = service_config(read_settings(), server="https://example.org").settings
    assert (other.token, other.certificate) == ("", "")
    assert service_config(read_settings()).settings.token == TOKEN
    (home / "settings.toml").write_text("server = 'https://example.org'\n")
    settings = read_settings()
    assert (settings.server, settings.token) == ("https://example.org", "")
    assert settings.certificate == ""


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"server": 5}', "\udce9", "[" * 9999]
)
def test_a_broken_file_of_the_pairing_is_a_sentence(home, text):
    (home / "paired-server.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    done = run("write", "x", "--offline")
    assert "remove it ('specsteer unpair'), and pair again" in done.stderr
    assert run("unpair").exit_code == 0


def test_a_server_that_is_away_is_no_impostor(home):
    with socket.socket() as deaf:  # nobody else gets its port
        deaf.bind(("127.0.0.1", 0))
        paired = paired_with(f"https://127.0.0.1:{deaf.getsockname()[1]}")
        connection = Connection(
            paired.server, TOKEN, lambda _: None, certificate=paired.certificate
        )
        with pytest.raises(CloudUnreachableError, match="there is no answer"):
            connection.request("hello", "GET", "/healthz")
        connection.close()
    with pytest.raises(CloudRefusedError, match="has no TLS"):
        Connection("http://127.0.0.1:1", TOKEN, lambda _: None, None, "x")
    with pytest.raises(CloudRefusedError, match="pair the device again"):
        Connection(paired.server, TOKEN, lambda _: None, None, "x")


def written(cloud, text=()):
    """The verdict on a block behind a text."""
    cloud.submit(block_after(text, (1, 2)))
    return cloud.collect()


def test_a_text_goes_on_at_the_next_address_and_never_at_an_impostors(tmp_path):
    """Nobody is at the first; the second goes in mid-text; then nobody is left but one
    with another certificate."""
    request, later = open_request(), open_request(text=(7,))
    pinned = {"certificate": paired_with("").certificate}
    with (
        socket.socket() as deaf,
        running(tls=tls_in(tmp_path)) as server,
        running(tls=tls_in(tmp_path, 1)) as stranger,
    ):
        deaf.bind(("127.0.0.1", 0))
        second, third = (CutRelay(server.socket.getsockname()[1]) for _ in range(2))
        first = f"https://127.0.0.1:{deaf.getsockname()[1]}"
        others = [secure(one.url) for one in (second, third, stranger)]
        cloud = CloudVerifier(
            first, fakes.TOKEN, lambda _: None, **pinned, others=others
        )
        cloud.open(request)
        assert cloud.url == others[0]
        assert_same(written(cloud), written(verifier(request)))
        second.close()
        with pytest.raises(SessionLostError):
            written(cloud, (7,))
        cloud.open(later)
        assert cloud.url == others[1]
        assert_same(written(cloud, (7,)), written(verifier(later), (7,)))
        third.close()
        with pytest.raises(CertificateError, match="another one than at pairing"):
            cloud.open(request)
        cloud.close()
        for rest in ([first], []):
            nobody = CloudVerifier(first, fakes.TOKEN, print, **pinned, others=rest)
            with pytest.raises(CloudUnreachableError, match="no answer"):
                nobody.open(request)
            nobody.close()


def test_other_addresses_are_those_of_the_server_of_the_settings(home):
    """Not of one that is named for once."""
    write_paired(home, paired_with("https://127.0.0.1:2"))
    (home / "settings.toml").write_text('also_at = "https://127.0.0.1:1"\n')
    settings = read_settings()
    assert service_config(settings).settings.also_at == "https://127.0.0.1:1"
    other = service_config(settings, server="https://example.org").settings
    assert other.also_at == ""
    with pytest.raises(InvalidSettingsError, match="does not begin with https"):
        service_config(replace(settings, also_at="http://127.0.0.1:1"))
