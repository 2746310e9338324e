"""Which server is told which token; an address behind which there is no SpecSteer
server, or a spiteful one."""

import json
import re
import threading
from contextlib import closing
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from decoding_core import errors
from decoding_core.messages import DraftBlock, OpenSession, digest
from decoding_core.settings import MethodSettings
from decoding_core.verifier import role_of
from edge_app.commands import program
from edge_app.commands.service_config import config_of, service_config
from edge_app.config.settings import PrivacyLimits, Settings
from edge_app.service.requests import WriteRequest
from edge_app.service.service import WritingService
from edge_app.transport.client import CloudVerifier
from models.files import locate
from models.local.describing import describe
from models.prompts import Request
from tests.fakes import verdict_on

KEPT = "the-token-of-the-server-on-this-machine"
SERVERS = [
    # The address, whether it is of this machine, and whether a token is safe there.
    ("http://127.0.0.1:8765", True, False),
    ("http://localhost:8765", True, False),
    ("http://[::1]:8765", True, False),
    ("HTTPS://127.0.0.1:9443", True, True),
    ("http://192.168.1.20:8765", False, False),
    ("https://box", False, True),
    ("https://localhost.example.org", False, True),
    ("https://127.0.0.1.example.org", False, True),
    ("http://[::1", False, False),
    ("", False, True),
]


@pytest.mark.parametrize(("server", "here", "safe"), SERVERS)
def test_a_token_goes_where_it_should(home, server, here, safe):
    """That of this machine is told to no other one; none is sent in clear unless the
    person said so, before anything is sent. Without one nothing is at risk."""
    (home / "cloud-token").write_text(KEPT + "\n")
    chosen = service_config(Settings(server=server)).settings
    assert chosen.token == (KEPT if here else "")
    (home / "cloud-token").unlink()
    request = WriteRequest(Request("x"), privacy=PrivacyLimits())
    for token, in_clear in (("mine", False), ("mine", True), ("", False)):
        settings = Settings(server=server, token=token, token_in_clear=in_clear)
        service = WritingService(service_config(settings))
        role = role_of(settings.method.terms())
        if token and not in_clear and not safe:
            with pytest.raises(errors.InvalidSettingsError, match="--token-in-clear"):
                service._check(request, role, "specialist")
        else:
            service._check(request, role, "specialist")
        service._check(replace(request, offline=True), role, "specialist")


def test_a_generalist_of_ones_own_needs_a_server_of_ones_own():
    """--generalist means the server that is started here, whatever the settings say."""
    settings = Settings(server="http://192.168.1.20:8765")
    options = {"server": None, "generalist": locate("generalist")}
    assert config_of(settings, options).settings.server == ""


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.seen.append(dict(self.headers))
        status, body = self.server.answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_DELETE = do_POST  # noqa: N815

    def log_message(self, *_):
        pass


@pytest.fixture
def other():
    """A server that gives `answer` to whatever it is asked."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        server.seen = []
        server.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        yield server
        server.shutdown()


def verify(url, token="t"):
    """Open a session and have one block verified."""
    with closing(CloudVerifier(url, token, lambda _: None)) as verifier:
        verifier.open(OpenSession((1, 2), (), "v", MethodSettings().terms()))
        verdict_on(verifier, DraftBlock(0, 0, 0, digest(()), (), (3,)))


def test_any_answer_becomes_an_error_of_ours(other):
    """With a sentence that can be shown. Without a token the server is asked all the
    same, and says what is missing; it is not "unreachable"."""
    session = {"session_id": "s", "generalist": "g", "base": "b"}
    forged = {**session, "session_id": "a\nb"}
    for status, body, error, words in (
        (200, b"<html>", "Message", "not JSON"),
        (200, b"[]", "Message", "not an object"),
        (200, b"", "Message", "no session"),
        (302, b"", "CloudRefused", "sends its visitors elsewhere .status 302."),
        (404, b"\xff", "CloudRefused", "there is no SpecSteer server at http://127"),
        (418, b"teapot", "CloudRefused", "refused: status 418"),
        (500, b"oops", "CloudUnreachable", "failed: status 500"),
        (201, json.dumps(session).encode(), "CloudRefused", "status 201"),
        (201, json.dumps(forged).encode(), "Message", "no session"),
    ):
        other.answer = (status, body)
        with pytest.raises(getattr(errors, f"{error}Error"), match=words):
            verify(other.url)
    assert "Authorization" in other.seen[-1]
    other.answer = (401, b"")
    with pytest.raises(errors.CloudRefusedError, match="--token or SPECSTEER_TOKEN"):
        verify(other.url, "")
    assert "Authorization" not in other.seen[-1]


def test_doctor_takes_no_other_answer_for_a_server(other, home):
    """As a hotel's page for its guests gives it."""
    settings = Settings(server=other.url, token="t", token_in_clear=True)
    for status, body, words in (
        (302, b"", "sends its visitors elsewhere"),
        (204, b"", "no SpecSteer server"),
        (200, b"{}", "no SpecSteer server"),
        (200, b"<html>Welcome to the hotel</html>", "not JSON"),
    ):
        other.answer = (status, body)
        with pytest.raises(errors.DecodingError, match=words):
            program._server(settings)


def test_doctor_says_how_a_server_of_other_tokens_is_written_with(other, home):
    settings = Settings(server=other.url, token="t", token_in_clear=True)
    own = describe(locate("specialist")).vocabulary_id
    for vocabulary, versions, words in (
        (own, [], "answers$"),
        ("other", [3, 4], "answers, with another vocabulary: texts go as bytes"),
    ):
        body = {"generalist": {"vocabulary_id": vocabulary}, "versions": versions}
        other.answer = (200, json.dumps(body).encode())
        assert re.search(words, program._server(settings))
    body["versions"] = [3]
    other.answer = (200, json.dumps(body).encode())
    with pytest.raises(errors.CloudRefusedError, match="update SpecSteer there"):
        program._server(settings)


def test_doctor_sends_no_token_in_clear_unasked(other, home):
    """Whoever listens on the port of a server that has ended would be given it."""
    (home / "cloud-token").write_text(KEPT)
    for server in (other.url, other.url.replace("127.0.0.1", "localhost")):
        with pytest.raises(errors.InvalidSettingsError, match="--token-in-clear"):
            program._server(Settings(server=server))
    assert other.seen == []
