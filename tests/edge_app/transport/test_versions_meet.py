"""Devices and servers of different versions agree, or both say which to update."""

import json
import logging
import threading
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from cloud_api import problems
from decoding_core.errors import CloudRefusedError
from decoding_core.messages import VERSION
from decoding_core.wire_json import VERSION_HEADER, open_to_json
from edge_app.transport import client as device_problems
from edge_app.transport.client import CloudVerifier
from tests.cloud_api.cloud_fakes import (
    HEADERS,
    TOKEN,
    ask,
    open_request,
    running,
)


@contextmanager
def a_server_of(version):
    """One that speaks this version."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if body["version"] == version:
                status, answer = (
                    201,
                    {
                        "session_id": "x",
                        "generalist": "large",
                        "base": "small",
                    },
                )
            else:
                detail = f"this server speaks version {version} of the protocol"
                status = 400
                answer = {"code": "protocol-version", "detail": detail}
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header(VERSION_HEADER, str(version))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self):
            self.send_error(404)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def verifier_of(url):
    return CloudVerifier(url, TOKEN, lambda _: None)


@pytest.mark.parametrize(
    ("version", "older"), [(VERSION - 1, "the server"), (VERSION + 1, "the device")]
)
def test_the_device_says_which_of_the_two_to_update(version, older):
    with a_server_of(version) as url:
        verifier = verifier_of(url)
        with pytest.raises(CloudRefusedError) as caught:
            verifier.open(open_request())

    assert f"update SpecSteer on {older} ({url})" in str(caught.value)


@pytest.mark.parametrize(
    ("device", "older"), [(VERSION - 1, "the device"), (VERSION + 1, "the server")]
)
def test_the_server_says_so_too(caplog, device, older):
    """In its answer and in its log."""
    caplog.set_level(logging.WARNING)
    body = open_to_json(replace(open_request(), version=device))
    with running() as server:
        answer = ask("POST", f"{server.url}/v1/sessions", json=body, headers=HEADERS)

    assert (answer.status_code, answer.json()["code"]) == (400, "protocol-version")
    assert answer.headers[VERSION_HEADER] == str(VERSION)
    assert f"update SpecSteer on {older}" in answer.json()["detail"]
    (record,) = [r for r in caplog.records if r.name == problems.__name__]
    assert f"update SpecSteer on {older}" in record.getMessage()


def test_a_refusal_that_names_no_version_is_a_sentence_too():
    error = device_problems.error_of(
        "http://x", 400, {"code": "protocol-version", "detail": "no"}, None, "-"
    )
    assert "update SpecSteer on the server and on this device" in str(error)
