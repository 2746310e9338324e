"""An address behind which there is no SpecSteer server, or a spiteful one."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from decoding_core import errors
from decoding_core.messages import DraftBlock, OpenSession, digest
from decoding_core.settings import MethodSettings
from edge_app.commands import program
from edge_app.config.settings import Settings
from edge_app.transport.client import CloudVerifier
from tests.fakes import verdict_on

SESSION = {"session_id": "s", "generalist": "g", "base": "b"}
FORGED = {**SESSION, "session_id": "a\nb"}


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
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.seen = []
    server.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.01,)).start()
    yield server
    server.shutdown()
    server.server_close()


def verify(url, token="t"):
    """Open a session and have one block verified."""
    verifier = CloudVerifier(url, token, lambda _: None)
    try:
        terms = MethodSettings().terms()
        verifier.open(OpenSession((1, 2), (), "v", terms))
        verdict_on(verifier, DraftBlock(0, 0, 0, digest(()), (), (3,)))
    finally:
        verifier.close()


@pytest.mark.parametrize(
    ("status", "body", "error", "words"),
    [
        (200, b"<html>", "Message", "not JSON"),
        (200, b"[]", "Message", "not an object"),
        (200, b"", "Message", "no session"),
        (302, b"", "CloudRefused", "sends its visitors elsewhere .status 302."),
        (404, b"\xff", "CloudRefused", "there is no SpecSteer server at http://127"),
        (418, b"teapot", "CloudRefused", "refused: status 418"),
        (401, b"", "CloudRefused", "refused the token"),
        (500, b"oops", "CloudUnreachable", "failed: status 500"),
        (201, json.dumps(SESSION).encode(), "CloudRefused", "status 201"),
        (201, json.dumps(FORGED).encode(), "Message", "no session"),
    ],
)
def test_any_answer_becomes_an_error_of_ours(other, status, body, error, words):
    """With a sentence that can be shown."""
    other.answer = (status, body)
    with pytest.raises(getattr(errors, f"{error}Error"), match=words):
        verify(other.url)


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


@pytest.mark.parametrize("server", ["127.0.0.1", "localhost"])
def test_doctor_sends_no_token_in_clear_unasked(other, home, server):
    """Whoever listens on the port of a server that has ended would be given it."""
    address = other.url.replace("127.0.0.1", server)
    (home / "cloud-token").write_text("the-token-of-this-machine")
    with pytest.raises(errors.InvalidSettingsError, match="--token-in-clear"):
        program._server(Settings(server=address))
    assert other.seen == []


def test_without_a_token_the_server_says_what_is_missing(other):
    """It is asked all the same; it is not "unreachable"."""
    other.answer = (401, b"")
    with pytest.raises(errors.CloudRefusedError, match="--token or SPECSTEER_TOKEN"):
        verify(other.url, "")
    assert "Authorization" not in other.seen[0]
