"""Devices and servers of different versions agree, or both say which to update."""

import logging
from dataclasses import replace

import pytest

from cloud_api import problems
from decoding_core.messages import VERSION, VERSIONS
from decoding_core.wire_json import VERSION_HEADER, open_to_json
from edge_app.transport.client import error_of
from tests.cloud_api.cloud_fakes import HEADERS, ask, open_request, running


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (str(VERSION - 1), "update SpecSteer on the server (http://x)"),
        (str(VERSIONS[-1] + 1), "update SpecSteer on the device (http://x)"),
        ("-", "update SpecSteer on the server and on this device"),
    ],
)
def test_the_device_says_which_of_the_two_to_update(header, says):
    problem = {"code": "protocol-version", "detail": "no"}
    assert says in str(error_of("http://x", 400, problem, None, header))


@pytest.mark.parametrize(
    ("device", "older"), [(VERSION - 1, "the device"), (VERSIONS[-1] + 1, "the server")]
)
def test_the_server_says_so_too(caplog, device, older):
    caplog.set_level(logging.WARNING)
    body = open_to_json(replace(open_request(), version=device))
    with running() as server:
        answer = ask("POST", f"{server.url}/v1/sessions", json=body, headers=HEADERS)

    assert (answer.status_code, answer.json()["code"]) == (400, "protocol-version")
    assert answer.headers[VERSION_HEADER] == str(VERSIONS[-1])
    assert f"update SpecSteer on {older}" in answer.json()["detail"]
    (record,) = [r for r in caplog.records if r.name == problems.__name__]
    assert f"update SpecSteer on {older}" in record.getMessage()
