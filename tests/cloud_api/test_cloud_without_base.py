"""A server that runs the generalist alone, for devices that run the base."""

import pytest
from click.testing import CliRunner

from cloud_api import cli
from cloud_api.engine.models import Models
from decoding_core import wire_json
from tests.cloud_api.cloud_fakes import (
    GENERALIST,
    FakeModel,
    block_after,
    client_of,
    open_request,
    open_session,
    running,
    send_block,
)


@pytest.fixture(scope="module")
def server():
    with running(lambda: Models(FakeModel(GENERALIST))) as server:
        yield server


@pytest.fixture
def client(server):
    with client_of(server) as client:
        yield client


@pytest.mark.parametrize(
    ("method", "base"),
    [("steering", "edge"), ("lossless", "edge"), ("generalist", "cloud")],
)
def test_sessions_that_need_no_base_are_opened(client, method, base):
    """With rows of the generalist alone; a long prompt is read in chunks."""
    prompt = [i % 60 for i in range(400)]
    request = open_request(prompt, method=method, base=base)
    session_id = open_session(client, request)
    drafted = (4, 5) if method != "generalist" else ()
    answer = send_block(client, session_id, block_after((), drafted), request)
    rows = 2 if drafted else 1
    assert [row.base_logprobs for row in answer.rows] == [None] * rows
    assert client.delete(f"/v1/sessions/{session_id}").status_code == 204


@pytest.mark.parametrize("method", ["steering", "lossless", "rejection", "costeer"])
def test_sessions_that_need_one_are_refused_with_what_to_do(client, method):
    """In one sentence, when they are opened."""
    body = wire_json.open_to_json(open_request(method=method, temperature=1.0))
    response = client.post("/v1/sessions", json=body)
    assert response.status_code == 422
    problem = response.json()
    assert problem["code"] == "invalid-settings"
    assert "--base edge" in problem["detail"]
    assert problem["detail"].count(";") == 0


def test_the_models_say_that_there_is_none(client):
    """And another vocabulary is refused without naming it."""
    body = client.get("/v1/models").json()
    assert body["base"] is None
    assert body["generalist"]["name"] == "fake-1"
    assert body["limits"]["context_length"] == 512
    opening = wire_json.open_to_json(open_request()) | {"vocabulary_id": "x"}
    response = client.post("/v1/sessions", json=opening)
    assert response.json()["code"] == "vocabulary-mismatch"
    assert "fake-1" in response.json()["detail"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "specialist.gguf"),
        (("--no-base",), None),
        (("--generalist", "FILE"), None),
        (("--generalist", "FILE", "--base", "FILE"), "model.gguf"),
    ],
)
def test_which_base_is_loaded(arguments, expected, tmp_path, monkeypatch):
    """The embedded one beside the embedded generalist; else the one that is named."""
    file = tmp_path / "model.gguf"
    file.write_bytes(b"GGUF")
    seen = []

    def serve(options, _admission, **_where):
        seen.append(options.base)
        return True

    monkeypatch.setattr("cloud_api.run.serve", serve)
    words = [str(file) if word == "FILE" else word for word in arguments]
    result = CliRunner().invoke(cli.main, ["serve", *words])
    assert result.exit_code == 0, result.output
    assert [base and base.name for base in seen] == [expected]
    assert ("no base is loaded" in result.stderr) == (expected is None)
