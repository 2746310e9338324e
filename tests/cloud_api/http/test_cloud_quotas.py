"""What one user may have at once, over real sockets."""

import pytest
from websockets.exceptions import ConnectionClosed

from cloud_api.settings import UserLimits
from decoding_core import wire_json
from decoding_core.messages import Kind, Verdict
from tests.cloud_api.cloud_fakes import (
    block_after,
    client_of,
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


def test_who_is_told_to_come_back_is_let_in_then():
    """Refused before the body is read; another text in a session counts too."""
    limits = UserLimits(openings=2, openings_per_second=0.5)
    body = wire_json.open_to_json(open_request())
    with running(user=limits) as server, client_of(server) as client:
        now = [1000.0]
        server.service._clock = server.service.rounds._clock = lambda: now[0]
        session_id = open_session(client)
        assert replace_text(client, session_id, open_request()).status_code == 200
        answers = [client.post("/v1/sessions", content=b"no JSON") for _ in range(2)]
        for answer in answers:
            assert (answer.status_code, answer.json()["code"]) == (429, "too-much")
        waits = [int(answer.headers["Retry-After"]) for answer in answers]
        assert waits == [2, 4]
        for wait in waits:
            now[0] = 1000.0 + wait
            assert client.post("/v1/sessions", json=body).status_code == 201
        # A block is no opening.
        assert not is_lost(client, session_id)


def test_a_stream_too_many_ends_the_oldest_and_no_session():
    with running(user=UserLimits(streams=1)) as server, client_of(server) as client:
        request = open_request()
        frames = frames_of(request)
        session_id = open_session(client, request)
        block = block_after((), (7,))
        with stream(server, session_id) as old, stream(server, session_id) as new:
            with pytest.raises(ConnectionClosed) as caught:
                old.recv(PATIENCE)
            new.send(frames.encode_block(block))
            assert frames.decode_answer(new.recv(PATIENCE)).round == 0

    assert caught.value.rcvd.code == 1013


def test_who_leaves_too_much_unread_is_hung_up_upon():
    """The stream that holds the most; the session stays."""
    with running() as server, client_of(server) as client:
        request = open_request()
        session_id = open_session(client, request)
        with stream(server, session_id) as greedy, stream(server, session_id) as modest:
            opened = server.app.state.streams
            wait_until(lambda: len(opened) == 2)
            streams = list(opened._streams.values())
            limit = server.service.settings.user.unread_bytes

            def fill():
                opened.count_unread(streams[1], limit // 3)
                opened.count_unread(streams[0], limit)

            server.on_loop(fill)
            with pytest.raises(ConnectionClosed) as caught:
                greedy.recv(PATIENCE)
            modest.send(frames_of(request).encode_block(block_after((), (7,))))
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
