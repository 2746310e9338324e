"""Devices and servers of different versions agree, or both say which to update."""

import json
import logging
import threading
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from cloud_api import problems
from decoding_core.errors import VersionRefusedError
from decoding_core.messages import VERSION
from decoding_core.versions import HEADER, SPOKEN, Versions
from decoding_core.wire_json import open_to_json
from edge_app.transport import client
from edge_app.transport import client as device_problems
from edge_app.transport import verifier as cloud
from edge_app.transport.verifier import CloudVerifier
from tests.cloud_api.cloud_fakes import (
    HEADERS,
    TOKEN,
    ask,
    block_after,
    open_request,
    running,
)


@contextmanager
def a_server_of(version, knows_ranges):
    """One that speaks this version alone; what it was asked."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((self.headers[HEADER], body["version"]))
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
            if knows_ranges:
                self.send_header(HEADER, str(version))
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
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def verifier_of(url):
    return CloudVerifier(url, TOKEN, lambda _: None)


@pytest.mark.parametrize("knows_ranges", [True, False])
@pytest.mark.parametrize(
    ("version", "older"), [(VERSION - 1, "the server"), (VERSION + 1, "the device")]
)
def test_the_device_says_which_of_the_two_to_update(version, older, knows_ranges):
    with a_server_of(version, knows_ranges) as (url, asked):
        verifier = verifier_of(url)
        with pytest.raises(VersionRefusedError) as caught:
            verifier.open(open_request())

    assert f"update SpecSteer on {older} ({url})" in str(caught.value)
    assert asked == [(str(SPOKEN), VERSION)]


@pytest.mark.parametrize("knows_ranges", [True, False])
def test_a_newer_device_speaks_as_an_older_server_does(monkeypatch, knows_ranges):
    """It asks again once, and remembers."""
    both = Versions(VERSION, VERSION + 1)
    monkeypatch.setattr(device_problems, "SPOKEN", both)
    monkeypatch.setattr(client, "SPOKEN", both)
    monkeypatch.setattr(cloud, "VERSION", VERSION + 1)
    with a_server_of(VERSION, knows_ranges) as (url, asked):
        verifier = verifier_of(url)
        for _ in range(2):
            assert verifier.open(open_request()).generalist == "large"
            verifier._session_id = ""

    assert [version for _, version in asked] == [VERSION + 1, VERSION, VERSION]


def test_a_newer_device_writes_with_this_server(monkeypatch):
    """Frames and all."""
    both = Versions(VERSION, VERSION + 1)
    monkeypatch.setattr(device_problems, "SPOKEN", both)
    monkeypatch.setattr(client, "SPOKEN", both)
    monkeypatch.setattr(cloud, "VERSION", VERSION + 1)
    with running() as server:
        verifier = verifier_of(server.url)
        verifier.open(open_request())
        verifier.submit(block_after((), (7, 8)))
        assert verifier.collect().round == 0
        verifier.close()


@pytest.mark.parametrize(
    ("device", "header", "older"),
    [
        (VERSION - 1, None, "the device"),
        (VERSION + 1, None, "the server"),
        (VERSION + 2, f"{VERSION + 1}-{VERSION + 2}", "the server"),
    ],
)
def test_the_server_says_so_too(caplog, device, header, older):
    """Also to a device of before there were ranges; in its answer and in its log."""
    caplog.set_level(logging.WARNING)
    body = open_to_json(replace(open_request(), version=device))
    with running() as server:
        given = {**HEADERS, **({HEADER: header} if header else {})}
        answer = ask("POST", f"{server.url}/v1/sessions", json=body, headers=given)

    assert (answer.status_code, answer.json()["code"]) == (400, "protocol-version")
    assert answer.headers[HEADER] == str(SPOKEN)
    assert f"update SpecSteer on {older}" in answer.json()["detail"]
    (record,) = [r for r in caplog.records if r.name == problems.__name__]
    assert f"update SpecSteer on {older}" in record.getMessage()


def test_a_refusal_that_names_no_version_is_a_sentence_too():
    error = device_problems.error_of(
        "http://x", 400, {"code": "protocol-version", "detail": "no"}, None, "-"
    )
    assert "update SpecSteer on the server and on this device" in str(error)
    assert error.common is None
