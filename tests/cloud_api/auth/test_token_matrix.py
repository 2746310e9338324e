"""Every route and every message of a stream, against every kind of token."""

import httpx
import pytest
from fastapi.routing import APIRoute
from starlette.routing import Route, WebSocketRoute
from websockets.exceptions import ConnectionClosed, InvalidStatus

from cloud_api import pairing
from cloud_api.auth import Scope, make_token
from cloud_api.errors import PeopleError
from cloud_api.household import WrongTokenDelay
from cloud_api.middleware import OPEN_PATHS, SCOPES_OF_PATHS
from decoding_core import wire_json
from tests.cloud_api.cloud_fakes import (
    PLAIN,
    block_after,
    frames_of,
    is_lost,
    open_request,
    open_session,
    stream,
)
from tests.cloud_api.people.people_fakes import household_server
from tests.waiting import PATIENCE

SHUT_OUT = "none", "wrong", "mistyped", "revoked", "rotated", "expired"
TOKENS = *SHUT_OUT, "other device", "other user", "other scope", "right"
OTHER_SCOPES = {Scope.STATUS, Scope.OPENAI}
STREAM = "STREAM", "/v1/sessions/{session_id}/stream"
FOREIGN = (404, "session-lost")
"""What a session of another device looks like: one that there never was."""
TEXT = wire_json.open_to_json(open_request())


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with household_server(tmp_path_factory.mktemp("matrix"), openai=True) as server:
        yield server


@pytest.fixture(scope="module")
def tokens(server):
    """A token of each kind; none is an empty one."""
    people = server.people
    people.add_user("ben")
    usual = "right", "revoked", "rotated", "other device"
    made = {name: people.add_device(name) for name in usual}
    people.revoke("revoked")
    people.rotate("rotated")
    return made | {
        "none": "",
        "wrong": make_token(),
        "mistyped": made["right"][:-1],
        "expired": people.add_device("expired", expires=people.now - 1),
        "other user": people.add_device("right", "ben"),
        "other scope": people.add_device("other scope", scopes=OTHER_SCOPES),
    }


def headers_of(token):
    return {"Authorization": f"Bearer {token}"} if token else {}


@pytest.fixture(scope="module")
def client(server):
    with httpx.Client(base_url=server.url, verify=PLAIN, timeout=PATIENCE) as client:
        yield client


@pytest.fixture
def session(client, tokens):
    """A session of the right device."""
    client.headers = headers_of(tokens["right"])
    yield open_session(client)
    client.headers = {}


ASKED = {
    ("GET", "/v1/models"): (None, 200),
    ("GET", "/v1/vocabulary/pieces/{start}"): (None, 422),
    ("GET", "/v1/openapi.json"): (None, 200),
    ("POST", "/v1/sessions"): (TEXT, 201),
    ("PUT", "/v1/sessions/{session_id}"): (TEXT, 200),
    ("DELETE", "/v1/sessions/{session_id}"): (None, 204),
    ("GET", "/metrics"): (None, 200),
    ("GET", "/openai/v1/models"): (None, 200),
    ("GET", "/openai/v1/models/{name}"): (None, 200),
    ("POST", "/openai/v1/chat/completions"): (None, 400),
    ("POST", "/openai/v1/completions"): (None, 400),
}
"""Every route that wants a token, but the stream: what is sent, and the answer to a
token that may ask it."""


def routes_of(app):
    """Every route, however deep: (method, path), STREAM for WebSockets."""
    found = set()
    for path, methods in app.openapi()["paths"].items():
        found |= {(method.upper(), path) for method in methods}
    for route in walk(app.routes):
        if isinstance(route, WebSocketRoute):
            found.add(("STREAM", route.path))
        elif isinstance(route, Route | APIRoute):
            found |= {(method, route.path) for method in route.methods}
    return {(m, p) for m, p in found if m != "HEAD"}


def walk(routes):
    for route in routes:
        yield route
        inner = getattr(route, "original_router", None) or getattr(route, "app", None)
        yield from walk(getattr(inner, "routes", []))


def test_these_are_all_the_routes(server):
    """A new one must be added here, and so be thought about. Open is how the server is,
    the form of the page, and what a new device asks."""
    routes = routes_of(server.app)
    assert {one for one in routes if one[1] not in OPEN_PATHS} == {*ASKED, STREAM}
    pairing = {"/v1/pair", "/v1/pair/proof"}
    page = {"/", "/status.css", "/status/enter", "/status/leave"}
    assert {"/healthz", "/readyz"} | pairing | page == OPEN_PATHS


def refusal_of(token, path):
    """Status and code of what a token may not ask; None for what it may."""
    if token in SHUT_OUT:
        return 401, "unauthorized"
    scope = next(s for begin, s in SCOPES_OF_PATHS.items() if path.startswith(begin))
    has = OTHER_SCOPES if token == "other scope" else {Scope.VERIFY}
    return None if scope in has else (403, "forbidden")


_OURS = {"invalid_api_key": "unauthorized", "forbidden": "forbidden"}
"""What the codes of OpenAI's clients are elsewhere."""


@pytest.mark.parametrize("token", TOKENS)
def test_the_page(client, tokens, token):
    """A form for whoever comes; the cookie is for the scope `status` alone."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    path, content = "/status/enter", f"token={tokens[token]}"
    answer = client.post(path, content=content, headers=form)
    may = token == "other scope"
    assert answer.status_code == (303 if may else 401)
    shown = client.get("/")
    client.cookies.clear()
    assert ("<table>" in shown.text) is may
    assert ("other device" in shown.text) is may  # and when it was last used


@pytest.mark.parametrize("token", TOKENS)
def test_every_route(server, client, session, tokens, token):
    for (method, path), (body, status) in ASKED.items():
        url = path.format(session_id=session, start=0, name="generalist")
        headers = headers_of(tokens[token]) or {"Authorization": ""}
        answer = client.request(method, url, json=body, headers=headers)
        expected = refusal_of(token, path)
        if expected is None and "session_id" in path and token.startswith("other"):
            expected = FOREIGN
        if expected is None:
            assert answer.status_code == status, (method, path)
        else:
            told = answer.json()
            code = told["code"] if "code" in told else _OURS[told["error"]["code"]]
            assert (answer.status_code, code) == expected, (method, path)
    # What was refused changed nothing.
    assert is_lost(client, session) is (token == "right")


@pytest.mark.parametrize("token", TOKENS)
def test_every_stream(server, session, tokens, token):
    frames, headers = frames_of(open_request()), headers_of(tokens[token])
    if token == "right":
        with stream(server, session, headers) as socket:
            socket.send(frames.encode_block(block_after((), (1, 2))))
            assert frames.decode_answer(socket.recv(PATIENCE)).accepted >= 0
        return
    with pytest.raises(InvalidStatus) as denied:
        stream(server, session, headers)
    status, _ = refusal_of(token, STREAM[1]) or FOREIGN
    assert denied.value.response.status_code == status


def test_a_running_stream_ends_when_its_token_does(server, client):
    """Though the device goes on sending; another device's goes on."""
    people, both, opened = server.people, [], []
    for name in ("phone", "tablet"):
        both.append(headers_of(people.add_device(name)))
        client.headers = both[-1]
        opened.append(open_session(client))
    frame = frames_of(open_request()).encode_block(block_after((), (1,)))
    mine, theirs = (stream(server, *one) for one in zip(opened, both, strict=True))
    with mine as lost, theirs as on:
        people.revoke("phone")
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                lost.send(frame)
                lost.recv(PATIENCE)
        assert closed.value.rcvd.code == 4404
        on.send(frame)
        on.recv(PATIENCE)
    assert client.get("/v1/models", headers=both[0]).status_code == 401
    client.headers = {}


def test_pairing_has_no_words_for_a_fault_and_waits_in_a_short_queue(
    server, client, monkeypatch
):
    canary = "canary4242"

    def broken(*_):
        raise PeopleError(f"{canary} cannot be used")

    body = {"number": 1, "message": "00"}
    monkeypatch.setattr(pairing, "begin", broken)
    answer = client.post("/v1/pair", json=body)
    assert answer.status_code == 500
    assert canary not in answer.text
    monkeypatch.setattr(pairing, "MOST_WAITING", 0)
    answer = client.post("/v1/pair", json=body)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


@pytest.mark.slow
def test_right_tokens_do_not_wait_for_wrong_ones(tmp_path):
    """A place that tries many is kept waiting; the device beside it is not."""
    forever = WrongTokenDelay(free=0, first_seconds=PATIENCE, most_seconds=PATIENCE)
    with household_server(tmp_path, patience=forever) as server:
        token = server.people.add_device("phone")
        options = {"base_url": server.url, "verify": PLAIN, "timeout": 0.2}
        with httpx.Client(**options) as wrong:
            for _ in range(3):
                with pytest.raises(httpx.ReadTimeout):
                    wrong.get("/v1/models", headers=headers_of(make_token()))
            assert wrong.get("/v1/models").status_code == 401  # none was tried
        with httpx.Client(**options | {"timeout": PATIENCE}) as right:
            answer = right.get("/v1/models", headers=headers_of(token))
        assert answer.status_code == 200
        server.household.note()
        (refusal,) = server.people.refusals()
        assert (refusal.place, refusal.times) == ("127.0.0.1", 3)
