"""The HTTP routes: what they answer, how they refuse, and what one user may have."""

from unittest.mock import Mock

import pytest
from websockets.exceptions import ConnectionClosed

from cloud_api.engine.models import Models
from cloud_api.settings import UserLimits
from decoding_core import wire_json
from decoding_core.errors import EngineError
from decoding_core.messages import VERSIONS, Kind, Problem, Verdict
from tests.cloud_api.cloud_fakes import (
    GENERALIST,
    VOCABULARY,
    FakeModel,
    ask,
    block_after,
    client_of,
    fake_models,
    frames_of,
    is_lost,
    open_request,
    open_session,
    replace_text,
    running,
    send_block,
    stream,
)
from tests.waiting import PATIENCE, wait_until


def opening(**changes):
    return {**wire_json.open_to_json(open_request()), **changes}


def with_terms(**changes):
    body = opening()
    return {**body, "terms": {**body["terms"], **changes}}


def problem_of(response):
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert body["status"] == response.status_code
    assert set(body) == {"type", "title", "status", "code", "detail"}
    assert body["type"] == f"urn:specsteer:problem:{body['code']}"
    return response.status_code, body["code"]


def test_a_session_opens_and_ends(client):
    response = client.post("/v1/sessions", json=opening())

    assert response.status_code == 201
    assert wire_json.opened_from_json(response.json()).generalist == "fake-1"
    session_id = response.json()["session_id"]
    assert client.delete(f"/v1/sessions/{session_id}").status_code == 204
    gone = client.delete(f"/v1/sessions/{session_id}")
    assert problem_of(gone) == (404, "session-lost")
    assert is_lost(client, session_id)


def test_health_is_told_to_everybody(server):
    assert ask("GET", server.url + "/healthz").json() == {"state": "alive"}
    assert ask("GET", server.url + "/readyz").json() == {"state": "ready"}
    assert "server" not in ask("GET", server.url + "/healthz").headers


MUCH = {"method": "costeer", "costeer_steps": 1000, "costeer_alpha": 90.0}
WRONG = {"draft_limit": 65, "temperature": 11.0, "seed": -1, "costeer_steps": 0}
REFUSED = {
    "400 protocol-version": [opening(version=VERSIONS[-1] + 1, new_field=1)],
    "400 message": [opening(prompt_ids=[VOCABULARY])],
    "409 vocabulary-mismatch": [opening(vocabulary_id="other")],
    "422 unknown-method": [with_terms(method="no_such")],
    "422 invalid-settings": [with_terms(candidates=65), with_terms(**MUCH)],
    "422 invalid-request": [
        *([], opening(version=True), opening(extra=1), opening(text_ids=[-1])),
        *(opening(prompt_ids=ids) for ids in ([], ["1"], [1.5])),
        *(with_terms(method="../../x"), with_terms(rule="never")),
        *(with_terms(**{name: value}) for name, value in WRONG.items()),
    ],
}


@pytest.mark.parametrize("expected", REFUSED)
def test_what_cannot_be_is_refused_with_a_sentence(client, expected):
    for body in REFUSED[expected]:
        answer = client.post("/v1/sessions", json=body)
        status, code = problem_of(answer)
        assert f"{status} {code}" == expected, body
    if code == "vocabulary-mismatch":
        assert "generalist 'fake-1' and base 'fake-2';" in answer.json()["detail"]


@pytest.mark.parametrize(("prompt", "text", "room"), [(492, 0, 492), (1, 511, 512)])
def test_prompt_and_text_have_room_together(client, prompt, text, room):
    """512 tokens; when a text begins, less a draft of 4 and 16 settled ones. One that
    goes on is opened again as far as it had come."""
    full = opening(prompt_ids=[1] * prompt, text_ids=[1] * text)
    longer = {**full, "prompt_ids": [1] * (prompt + 1)}

    assert client.post("/v1/sessions", json=full).status_code == 201
    refused = client.post("/v1/sessions", json=longer)
    assert problem_of(refused) == (413, "context-full")
    assert f"{room} tokens" in refused.json()["detail"]


def test_what_is_no_json_and_unknown_routes_and_methods_are_problems(client):
    headers = {"content-type": "application/json"}
    for content in (b"{", b"\xff\xfe", b"", b"NaN", b'{"version": 3, "terms": NaN}'):
        response = client.post("/v1/sessions", content=content, headers=headers)
        assert problem_of(response)[0] in (400, 422), content
    assert problem_of(client.get("/nowhere")) == (404, "not-found")
    assert problem_of(client.put("/v1/sessions")) == (405, "method-not-allowed")


def test_bodies_are_limited_announced_or_not_and_so_are_answers():
    with (
        running(body_bytes=1000, answer_bytes=500) as server,
        client_of(server) as client,
    ):
        for content in (b"x" * 1001, iter([b"x" * 600] * 2)):
            large = client.post("/v1/sessions", content=content)
            assert problem_of(large) == (413, "body-too-large")
        response = client.post("/v1/sessions", json=with_terms(candidates=50))
        assert problem_of(response) == (422, "invalid-settings")


def test_an_engine_that_fails_is_told_and_can_be_tried_again():
    models = fake_models()
    with running(lambda: models) as server, client_of(server) as client:
        session_id = open_session(client)
        models.base.fault = lambda _: EngineError("broken")
        failed = send_block(client, session_id, block_after((), (1,)))
        models.base.fault = None
        repaired = send_block(client, session_id, block_after((), (1,)))

    assert (failed.kind, failed.value) == (Kind.ERROR, Problem.ENGINE)
    assert isinstance(repaired, Verdict)


def test_a_fault_of_the_server_is_told_without_its_words(server, client, monkeypatch):
    broken = Mock(side_effect=RuntimeError("canary-4242"))
    monkeypatch.setattr(server.service, "open", broken)
    response = client.post("/v1/sessions", json=opening())

    assert problem_of(response) == (500, "internal")
    assert "canary" not in response.text


def test_who_is_told_to_come_back_is_let_in_then():
    """Refused before the body is read; another text in a session counts too."""
    limits = UserLimits(openings=2, openings_per_second=0.5)
    with running(user=limits) as server, client_of(server) as client:
        now = [1000.0]
        server.service._clock = lambda: now[0]
        session_id = open_session(client)
        assert replace_text(client, session_id, open_request()).status_code == 200
        answers = [client.post("/v1/sessions", content=b"no JSON") for _ in range(2)]
        for answer in answers:
            assert (answer.status_code, answer.json()["code"]) == (429, "too-much")
        waits = [int(answer.headers["Retry-After"]) for answer in answers]
        assert waits == [2, 4]
        for wait in waits:
            now[0] = 1000.0 + wait
            assert client.post("/v1/sessions", json=opening()).status_code == 201
        # A block is no opening.
        assert not is_lost(client, session_id)


@pytest.mark.parametrize("limit", ["streams", "unread"])
def test_a_stream_too_many_ends_and_no_session(limit):
    """The oldest; or the one that holds the most that its device leaves unread."""
    user = UserLimits(streams=1) if limit == "streams" else UserLimits()
    with running(user=user) as server, client_of(server) as client:
        session_id = open_session(client)
        with stream(server, session_id) as greedy, stream(server, session_id) as modest:
            opened = server.app.state.streams

            def fill():
                first, second = opened._streams.values()
                opened.count_unread(second, user.unread_bytes // 3)
                opened.count_unread(first, user.unread_bytes)

            if limit == "unread":
                wait_until(lambda: len(opened) == 2)
                server.on_loop(fill)
            with pytest.raises(ConnectionClosed) as caught:
                greedy.recv(PATIENCE)
            modest.send(frames_of(open_request()).encode_block(block_after((), (7,))))
            modest.recv(PATIENCE)

    assert caught.value.rcvd.code == 1013


def test_a_refusal_that_was_dropped_is_answered_resync():
    """Where the answers of all sessions take too much memory."""
    with running(kept_answer_bytes=0) as server, client_of(server) as client:
        session_id = open_session(client)
        block = block_after((), (7,))
        assert isinstance(send_block(client, session_id, block), Verdict)
        again = send_block(client, session_id, block)
        later = block_after((), (8,), epoch=1, round_=1)

        assert again.kind is Kind.RESYNC
        assert isinstance(send_block(client, session_id, later), Verdict)


@pytest.fixture(scope="module")
def bare():
    """A client of a server that runs the generalist alone."""
    alone = Models(FakeModel(GENERALIST))
    with running(lambda: alone) as server, client_of(server) as client:
        yield client


@pytest.mark.parametrize(
    ("method", "base", "drafted"),
    [
        ("steering", "edge", (4, 5)),
        ("lossless", "edge", (4, 5)),
        ("generalist", "cloud", ()),
    ],
)
def test_sessions_that_need_no_base_are_opened(bare, method, base, drafted):
    """With rows of the generalist alone; a long prompt is read in chunks."""
    prompt = [i % 60 for i in range(400)]
    request = open_request(prompt, method=method, base=base)
    session_id = open_session(bare, request)
    answer = send_block(bare, session_id, block_after((), drafted), request)
    assert [row.base_logprobs for row in answer.rows] == [None] * (len(drafted) or 1)


def test_sessions_that_need_one_are_refused_with_what_to_do(bare):
    """In one sentence, when they are opened."""
    for method in ("steering", "lossless", "rejection", "costeer"):
        body = with_terms(method=method, temperature=1.0)
        response = bare.post("/v1/sessions", json=body)
        assert problem_of(response) == (422, "invalid-settings"), method
        detail = response.json()["detail"]
        assert "--base edge" in detail
        assert ";" not in detail


def test_the_models_and_limits_are_told(bare):
    """And another vocabulary is refused without naming a base that there is not."""
    body = bare.get("/v1/models").json()
    assert body["base"] is None
    assert body["generalist"] == {
        "name": "fake-1",
        "vocabulary_id": "fake-vocabulary",
        "context_length": 512,
    }
    assert body["limits"]["context_length"] == 512
    assert body["limits"]["candidates"] == VOCABULARY
    response = bare.post("/v1/sessions", json=opening(vocabulary_id="x"))
    assert problem_of(response) == (409, "vocabulary-mismatch")
    assert "generalist 'fake-1';" in response.json()["detail"]
