"""The stream of frames: the same verdicts as the verifier in this process; retries,
pipelining, hanging up."""

import random
from contextlib import contextmanager
from socket import SHUT_RDWR

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from decoding_core.messages import DraftBlock, Kind, Problem, Signal, Verdict
from decoding_core.methods import available, build_for_server
from tests.cloud_api.cloud_fakes import (
    HEADERS,
    VOCABULARY,
    assert_same,
    block_after,
    client_of,
    connect,
    fake_models,
    frames_of,
    is_lost,
    open_request,
    open_session,
    running,
    send_block,
    stream,
    verifier,
)
from tests.waiting import PATIENCE, wait_until

GOING_AWAY = 1001
"""How a device hangs up that will come back."""


SLOWLY = {"temperature": 0.0}, {"base": "edge"}


@pytest.mark.parametrize("method", available())
@pytest.mark.parametrize(
    "changes", [{}, *(pytest.param(one, marks=pytest.mark.slow) for one in SLOWLY)]
)
def test_stream_and_this_process_verify_alike(server, client, method, changes):
    if method == "rejection" and "temperature" in changes:
        pytest.skip("it needs a temperature")
    changes = {"temperature": 0.7, "rule": "stochastic", **changes}
    request = open_request(method=method, **changes)
    frames, choose = frames_of(request), random.Random(7)
    most = request.terms.draft_limit if build_for_server(request.terms).drafts else 0
    local = verifier(request)
    text, settled, epoch = [], [], 0
    with stream(server, open_session(client, request)) as socket:
        for round_ in range(12):
            count = choose.randint(0, most)
            drafted = [choose.randrange(VOCABULARY) for _ in range(count)]
            block = block_after(text, drafted, settled, epoch, round_)
            verdict = local.verify(block)
            socket.send(frames.encode_block(block))
            frame = socket.recv()

            assert len(frame) == frames.down_size
            assert_same(frames.decode_answer(frame), verdict)
            text += [*settled, *drafted[: verdict.accepted]]
            rows = verdict.rows[-1:]
            settled = [int(choose.choice(row.token_ids)) for row in rows]
            epoch += verdict.accepted < count
        socket.send(frames.encode_block(DraftBlock(0, 0, 500, 0, (), ())))
        assert len(socket.recv()) == frames.down_size


@contextmanager
def gated(**options):
    """A server whose models wait; they, a client, a session with one token, and its
    frames."""
    models, request = fake_models(slots=options.pop("slots", 2)), open_request((1,))
    with running(lambda: models, **options) as server, client_of(server) as client:
        models.generalist.gate.clear()
        yield server, models, client, open_session(client, request), frames_of(request)
        models.generalist.gate.set()


def test_a_device_that_hangs_up_finds_the_answer_when_it_comes_back():
    """It waits for the one that is being made, and then gets the same bytes again."""
    block, answers = block_after((), (1, 2, 3)), []
    with gated() as (server, models, _, session_id, frames):
        for number in range(3):
            with stream(server, session_id) as socket:
                socket.send(frames.encode_block(block))
                assert models.generalist.entered.wait(PATIENCE)
                if number:
                    models.generalist.gate.set()
                    answers.append(socket.recv())
                socket.close(GOING_AWAY)

    assert isinstance(frames.decode_answer(answers[0]), Verdict)
    assert answers[0] == answers[1]
    assert len(models.generalist.calls) == 1


@pytest.mark.parametrize("frame", [b"", b"short", b"\x09" * 116, "text"])
def test_a_frame_that_is_no_block_ends_the_stream(server, client, frame):
    frames = frames_of(open_request())
    assert frames.up_size == 116
    url = f"{server.url}/v1/sessions/{open_session(client)}/stream"
    with connect(url.replace("http", "ws"), additional_headers=HEADERS) as socket:
        # Whatever the device offers, else sizes would tell of contents.
        assert socket.protocol.extensions == []
        socket.send(frame)
        answer, code = last_words(frames, socket)

    assert (answer.kind, answer.value, code) == (Kind.ERROR, Problem.MESSAGE, 1008)


def test_a_frame_above_all_sizes_is_not_read(server, client):
    with stream(server, open_session(client)) as socket:
        socket.send(b"x" * 70_000)
        assert code_of_end(socket) == 1009


def broken(*_):
    raise RuntimeError("canary-4242")


def test_a_stream_that_cannot_be_is_denied_with_a_problem(server, monkeypatch):
    """No words of a fault among it."""
    monkeypatch.setattr(server.service, "frames", broken)
    with pytest.raises(InvalidStatus) as denied:
        stream(server, "nobody")

    response = denied.value.response
    assert response.status_code == 500
    assert response.headers["content-type"] == "application/problem+json"
    assert b'"internal"' in response.body
    assert b"canary" not in response.body


def test_a_fault_in_a_stream_is_logged_once_and_ends_it(
    server, client, monkeypatch, caplog
):
    with stream(server, open_session(client)) as socket:
        monkeypatch.setattr(server.service, "verify", broken)
        socket.send(frames_of(open_request()).encode_block(block_after((), (1,))))
        with pytest.raises(ConnectionClosed):
            socket.recv()

    # uvicorn may add that the handshake was not completed, if the fault was faster.
    ours = [record.message for record in caplog.records if record.name == "cloud_api"]
    assert ours == ["a fault in a websocket request"]


def last_words(frames, socket):
    """The frame and the code with which the server hangs up by itself."""
    answer = frames.decode_answer(socket.recv())
    return answer, code_of_end(socket)


def code_of_end(socket):
    """The code with which the server hangs up, which sends nothing more."""
    with pytest.raises(ConnectionClosed) as closed:
        socket.recv()
    return closed.value.rcvd.code


def test_a_stream_ends_when_its_session_makes_room_for_another():
    with (
        running(known_sessions=1) as server,
        client_of(server) as client,
        stream(server, open_session(client)) as socket,
    ):
        open_session(client)
        answer, code = last_words(frames_of(open_request()), socket)
        assert (answer, code) == (Signal(Kind.RESYNC, 0, 0, 0), 4404)


def test_a_block_on_its_way_is_answered_before_the_stream_ends():
    with (
        gated() as (server, models, client, session_id, frames),
        stream(server, session_id) as socket,
    ):
        socket.send(frames.encode_block(block_after((), (1, 2), round_=3)))
        assert models.generalist.entered.wait(PATIENCE)
        client.delete(f"/v1/sessions/{session_id}")
        models.generalist.gate.set()
        answer = frames.decode_answer(socket.recv())

        assert (answer.epoch, answer.round) == (0, 3)
        assert isinstance(answer, Verdict)
        assert last_words(frames, socket) == (Signal(Kind.RESYNC, 0, 3, 0), 4404)


def test_a_device_that_hangs_up_with_1000_ends_its_session(server, client):
    """No DELETE is needed; with any other code, or none, it stays for a retry."""
    done, away, broken = (open_session(client) for _ in range(3))
    with stream(server, done) as socket:
        socket.close(1000)
    with stream(server, away) as socket:
        socket.close(GOING_AWAY)
    with stream(server, broken) as socket:
        socket.socket.shutdown(SHUT_RDWR)
    wait_until(lambda: not server.app.state.streams)

    assert [is_lost(client, one) for one in (done, away, broken)] == [
        *(True, False, False)
    ]


def test_a_text_that_is_done_leaves_its_slot_with_blocks_out():
    """Stop in mid-flight: one block is computed, one waits, and the device hangs up."""
    with gated(slots=1, patience=PATIENCE) as (server, models, client, done, frames):
        with stream(server, done) as socket:
            socket.send(frames.encode_block(block_after((), (1, 2))))
            socket.send(frames.encode_block(block_after((1, 2), (3,), round_=1)))
            assert models.generalist.entered.wait(PATIENCE)
            wait_until(lambda: len(server.service.running) == 2)
        wait_until(lambda: len(server.service.sessions) == 0)
        models.generalist.gate.set()
        wait_until(lambda: not server.service.running)
        session_id = open_session(client, open_request((1,)))
        answer = send_block(client, session_id, block_after((), (1,)))

    assert isinstance(answer, Verdict)
    assert [len(call) for call in models.generalist.calls] == [1, 1]


def test_a_text_that_waits_gets_the_slot_of_one_that_is_silent():
    """The engine thread wakes when the other's time is over, though nobody asks."""
    models = fake_models(slots=1)
    with running(lambda: models, patience=0.05) as server, client_of(server) as client:
        for session_id in [open_session(client), open_session(client)]:
            answer = send_block(client, session_id, block_after((), (1,)))
            assert isinstance(answer, Verdict)


def test_a_stop_finishes_the_round_and_says_goodbye():
    with (
        gated(stop_seconds=PATIENCE) as (server, models, _, session_id, frames),
        stream(server, session_id) as socket,
        stream(server, session_id) as silent,
    ):
        socket.send(frames.encode_block(block_after((), (1, 2))))
        assert models.generalist.entered.wait(PATIENCE)
        server.ask_to_stop()
        goodbye = frames.decode_answer(silent.recv())
        models.generalist.gate.set()
        verdict = frames.decode_answer(socket.recv())
        last, code = last_words(frames, socket)

    assert isinstance(verdict, Verdict)
    for signal in (goodbye, last):
        assert (signal.kind, signal.value) == (Kind.ERROR, Problem.STOPPING)
    assert code == 1012


def test_a_stop_interrupts_what_takes_too_long():
    with (
        gated(stop_seconds=0.0) as (server, models, _, session_id, frames),
        stream(server, session_id) as socket,
    ):
        socket.send(frames.encode_block(block_after((), (1, 2))))
        assert models.generalist.entered.wait(PATIENCE)
        server.ask_to_stop()
        wait_until(lambda: models.base.interrupted)

    assert models.generalist.interrupted
    assert models.base.closed
