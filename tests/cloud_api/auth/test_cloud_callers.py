"""What is a device's is no other device's, and a token is good for its scopes alone."""

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from cloud_api.auth import OWNER, Caller, Scope
from cloud_api.middleware import OPEN_PATHS, SCOPES_OF_PATHS
from decoding_core import wire_json
from tests.cloud_api.auth.test_cloud_auth import routes_of
from tests.cloud_api.cloud_fakes import (
    HEADERS,
    TOKEN,
    client_of,
    is_lost,
    open_request,
    open_session,
    replace_text,
    running,
    stream,
)
from tests.waiting import PATIENCE

CALLERS = {
    TOKEN: Caller("ana", "laptop", frozenset({Scope.VERIFY})),
    "other": Caller("ben", "phone", frozenset({Scope.VERIFY})),
    "her-other": Caller("ana", "tablet", frozenset({Scope.VERIFY})),
    "looker": Caller("ana", "screen", frozenset({Scope.STATUS})),
    "owner": OWNER,
}


class Household:
    """An authority that knows these tokens."""

    def caller(self, token):
        return CALLERS.get(token)

    def refuse(self, token, place):
        return 0.0


@pytest.fixture(scope="module")
def server():
    with running(authority=Household()) as server:
        yield server


def asking(client, token):
    """What every route of a session answers to this token."""
    headers = {"Authorization": f"Bearer {token}"}
    session_id = open_session(client)
    path = f"/v1/sessions/{session_id}"
    text = wire_json.open_to_json(open_request())
    answers = [
        client.put(path, json=text, headers=headers),
        client.delete(path, headers=headers),
    ]
    assert not is_lost(client, session_id)
    assert replace_text(client, session_id, open_request()).is_success
    return [(one.status_code, one.json()["code"]) for one in answers], path


@pytest.mark.parametrize("token", ["other", "her-other", "owner"])
def test_a_session_of_another_device_looks_unknown(server, token, monkeypatch):
    with client_of(server) as client:
        answers, path = asking(client, token)
        assert answers == [(404, "session-lost")] * 2
        monkeypatch.setitem(HEADERS, "Authorization", f"Bearer {token}")
        with pytest.raises(InvalidStatus) as denied, stream(server, path[13:]):
            pass
    assert denied.value.response.status_code == 404


def test_a_token_without_the_scope_is_told_so(server):
    with client_of(server) as client:
        answers, _ = asking(client, "looker")
        assert answers == [(403, "forbidden")] * 2
        headers = {"Authorization": "Bearer looker"}
        assert client.get("/v1/models", headers=headers).status_code == 403
        assert client.get("/nowhere", headers=headers).status_code == 404


def test_every_route_needs_a_scope(server):
    for path in {path for _, path in routes_of(server.app)} - OPEN_PATHS:
        assert any(path.startswith(start) for start in SCOPES_OF_PATHS), path


def test_a_device_that_may_ask_no_more_loses_its_streams_at_once(server):
    """And no other device's."""
    with client_of(server) as client:
        session_id = open_session(client)
        with stream(server, session_id) as socket:
            server.on_loop(lambda: server.service.end_device("phone"))
            assert not is_lost(client, session_id)
            server.on_loop(lambda: server.service.end_device("laptop"))
            socket.recv(PATIENCE)
            with pytest.raises(ConnectionClosed) as closed:
                socket.recv(PATIENCE)
        assert closed.value.rcvd.code == 4404
        assert is_lost(client, session_id)
