"""Another text in the place of a session's: what is kept, what is void, who may."""

import pytest
from websockets.exceptions import ConnectionClosed

from edge_app.transport.client import CloudVerifier
from tests.cloud_api.cloud_fakes import (
    TOKEN,
    assert_same,
    block_after,
    client_of,
    fake_models,
    frames_of,
    open_request,
    open_session,
    replace_text,
    running,
    send_block,
    stream,
    verifier,
)
from tests.waiting import PATIENCE, wait_until

PROMPT = tuple(n % 60 for n in range(300))


def assert_answers(frame, request, block):
    """A frame says to the first block of a text what a verifier in this process
    does."""
    verdict = frames_of(request).decode_answer(frame)
    assert_same(verdict, verifier(request).verify(block))


def test_another_version_is_not_read_again():
    """Fewer than 32 tokens before its first verdict, whatever the old text was; the
    answers are those of a new session."""
    models = fake_models()
    first, again = open_request(PROMPT), open_request(PROMPT, (5, 6, 7))
    frames, text = frames_of(first), []
    with running(lambda: models) as server, client_of(server) as client:
        session_id = open_session(client, first)
        with stream(server, session_id) as socket:
            for round_ in range(6):
                block = block_after(text, (1, 2, 3), epoch=round_, round_=round_)
                socket.send(frames.encode_block(block))
                socket.recv()
                text += [1, 2, 3]
            for model in models.each():
                model.calls.clear()
            response = replace_text(client, session_id, again)
            block = block_after((5, 6, 7), (8, 9))
            socket.send(frames.encode_block(block))
            answer = socket.recv()

    names = {"generalist": "fake-1", "base": "fake-2"}
    assert response.status_code == 200
    assert response.json() == {"session_id": session_id, **names}
    assert_answers(answer, again, block)
    for model in models.each():
        assert sum(len(r.token_ids) for call in model.calls for r in call) < 32


@pytest.mark.parametrize("epoch", [0, 5])
def test_a_new_text_has_no_answers_of_the_old_one(server, client, epoch):
    """It may begin with epoch 0, or go on counting; the stream goes on."""
    old, new = open_request((1,)), open_request((9,))
    frames, session_id = frames_of(old), open_session(client, old)
    block = block_after((), (1, 2))
    with stream(server, session_id) as socket:
        for request in (old, new, new):
            socket.send(frames.encode_block(block))
            assert_answers(socket.recv(), request, block)
            assert replace_text(client, session_id, new).status_code == 200
            block = block_after((), (1, 2), epoch=epoch)


def test_a_text_is_replaced_while_its_blocks_are_out():
    """One is in the models, one waits. Their stream ends, for nobody asks any more; the
    first block of the new text has the same name and gets its own verdict."""
    models = fake_models()
    first, again = open_request((1,)), open_request((1, 7, 8))
    frames = frames_of(first)
    with running(lambda: models) as server, client_of(server) as client:
        session_id = open_session(client, first)
        models.generalist.gate.clear()
        with stream(server, session_id) as socket:
            for round_ in range(2):
                old = block_after((1,) * round_, (1,), round_=round_)
                socket.send(frames.encode_block(old))
            assert models.generalist.entered.wait(PATIENCE)
            wait_until(lambda: len(server.service.running) == 2)
            assert replace_text(client, session_id, again).status_code == 200
            with pytest.raises(ConnectionClosed) as closed:
                socket.recv()
        assert closed.value.rcvd.code == 4409
        with stream(server, session_id) as socket:
            new = block_after((), (1, 2))
            socket.send(frames.encode_block(new))
            wait_until(lambda: len(server.service.running) == 3)
            models.generalist.gate.set()
            assert_answers(socket.recv(), again, new)

    assert [len(call) for call in models.generalist.calls] == [1, 1]


@pytest.mark.parametrize("changes", [{}, {"draft_limit": 6}])
def test_the_device_keeps_its_session_with_blocks_out(changes):
    """It hangs up, so that no answer to the old text comes, and not in a way that ends
    the session. The end of the text does end it."""
    models = fake_models()
    first, again = open_request((1,)), open_request((1, 2), **changes)
    with running(lambda: models) as server:
        device = CloudVerifier(server.url, TOKEN, lambda _: None)
        opened = device.open(first)
        models.generalist.gate.clear()
        for round_ in range(2):
            device.submit(block_after((1,) * round_, (1,), round_=round_))
        assert models.generalist.entered.wait(PATIENCE)
        assert device.open(again).session_id == opened.session_id
        models.generalist.gate.set()
        block = block_after((), (1, 2))
        device.submit(block)
        verdict = device.collect()
        assert_same(verdict, verifier(again).verify(block))
        device.close()
        wait_until(lambda: not len(server.service.sessions))


@pytest.mark.parametrize(
    ("request_", "status", "code"),
    [
        (open_request((1,) * 600), 413, "context-full"),
        (open_request((1, 64)), 400, "message"),
        (open_request(method="no_such"), 422, "unknown-method"),
    ],
)
def test_a_text_that_cannot_be_leaves_the_old_one(client, request_, status, code):
    session_id = open_session(client, open_request((1,)))
    block = block_after((), (1, 2))
    verdict = send_block(client, session_id, block)
    refused = replace_text(client, session_id, request_)

    assert (refused.status_code, refused.json()["code"]) == (status, code)
    assert_same(send_block(client, session_id, block), verdict)
