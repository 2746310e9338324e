"""The token: every route but two asks for it."""

import pytest
from fastapi.routing import APIRoute
from starlette.routing import Route, WebSocketRoute
from websockets.exceptions import InvalidStatus

from cloud_api.auth import check_token, make_token, shown_token, stored_token
from cloud_api.middleware import OPEN_PATHS
from decoding_core.errors import InvalidSettingsError
from tests.cloud_api.cloud_fakes import (
    TOKEN,
    ask,
    client_of,
    connect,
    open_session,
    running,
)

WRONG = [
    {},
    {"Authorization": f"Bearer {TOKEN}x"},
    {"Authorization": f"Bearer {TOKEN[:-1]}"},
    {"Authorization": f"Bearer {TOKEN.upper()}"},
    {"Authorization": f"Basic {TOKEN}"},
    {"Authorization": TOKEN},
    {"Authorization": "Bearer"},
    {"Authorization": "Bearer ü".encode("latin-1").decode("latin-1")},
    {"X-Token": TOKEN},
]


@pytest.fixture(scope="module")
def server():
    with running(openai=True) as server:
        yield server


def routes_of(app):
    """Every route, however deep: (method, path), STREAM for WebSockets."""
    found = set()
    paths = app.openapi()["paths"]
    for path, methods in paths.items():
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
    """A new route must be added here, and so be thought about."""
    assert routes_of(server.app) == {
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/v1/models"),
        ("GET", "/v1/vocabulary/{count}"),
        ("GET", "/v1/openapi.json"),
        ("POST", "/v1/sessions"),
        ("PUT", "/v1/sessions/{session_id}"),
        ("DELETE", "/v1/sessions/{session_id}"),
        ("STREAM", "/v1/sessions/{session_id}/stream"),
        ("GET", "/metrics"),
        ("GET", "/"),
        ("GET", "/status.css"),
        ("POST", "/status/enter"),
        ("POST", "/status/leave"),
        ("GET", "/openai/v1/models"),
        ("GET", "/openai/v1/models/{name}"),
        ("POST", "/openai/v1/chat/completions"),
        ("POST", "/openai/v1/completions"),
    }


@pytest.mark.parametrize("headers", WRONG)
def test_no_route_is_answered_without_the_token(server, headers):
    with client_of(server) as client:
        session_id = open_session(client)
    headers = {k: v.encode("latin-1") for k, v in headers.items()}
    for method, path in [*sorted(routes_of(server.app)), ("GET", "/nowhere")]:
        if method == "STREAM" or path in OPEN_PATHS:
            continue
        url = server.url + path.format(session_id=session_id, count=1, name="x")
        response = ask(method, url, headers=headers)

        assert response.status_code == 401, (method, path)
        assert response.headers["www-authenticate"] == "Bearer"
        if path.startswith("/openai/"):  # as those clients know it
            assert response.json()["error"]["code"] == "invalid_api_key"
        else:
            assert response.json()["code"] == "unauthorized"


@pytest.mark.parametrize("headers", WRONG[:4])
@pytest.mark.parametrize("known", [True, False])
def test_no_stream_is_accepted_without_the_token(server, headers, known):
    with client_of(server) as client:
        session_id = open_session(client) if known else "nobody"
    url = server.url.replace("http", "ws") + f"/v1/sessions/{session_id}/stream"

    with pytest.raises(InvalidStatus) as denied:
        connect(url, additional_headers=headers)

    response = denied.value.response
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.headers["content-type"] == "application/problem+json"


def test_open_routes_are_only_these():
    """How the server is, the form of the page, and what a new device asks."""
    pairing = {"/v1/pair", "/v1/pair/proof"}
    page = {"/", "/status.css", "/status/enter", "/status/leave"}
    assert {"/healthz", "/readyz"} | pairing | page == OPEN_PATHS


def test_the_scheme_may_be_written_in_any_case():
    assert shown_token(f"bearer  {TOKEN} ") == TOKEN
    assert shown_token(f"Bearer {TOKEN} {TOKEN}") != TOKEN
    assert shown_token("Bearer") == shown_token(f"Basic {TOKEN}") == ""


def test_a_token_is_made_once_for_the_user_alone(tmp_path):
    token = stored_token(tmp_path)

    assert stored_token(tmp_path) == token
    path = tmp_path / "cloud-token"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["cloud-token"]
    assert len(token) > 40
    assert make_token() != token


@pytest.mark.parametrize("token", ["", "a b", "tokén", "a\n"])
def test_a_token_that_no_header_carries_is_refused(token):
    with pytest.raises(InvalidSettingsError, match="printable ASCII"):
        check_token(token)
