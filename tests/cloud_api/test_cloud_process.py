"""The server as a process of its own: how it starts, ends, and what it never says."""

import json
import signal
import socket
import stat
import sys
from contextlib import ExitStack
from functools import partial

import pytest
from click.testing import CliRunner
from websockets.exceptions import ConnectionClosed, InvalidStatus

from base.addresses import is_loopback
from base.owner_only import write_whole
from cloud_api import run
from cloud_api.cli import main
from cloud_api.engine.models import Models
from decoding_core import wire_json
from decoding_core.messages import Problem
from tests.cloud_api.cloud_fakes import (
    HEADERS,
    SERVER,
    TOKEN,
    FakeModel,
    ask,
    block_after,
    client_of,
    environment,
    frames_of,
    open_request,
    open_session,
    process,
    send_block,
    stream,
    wait_until_ready,
)
from tests.hostile import HOSTILE, dangers
from tests.waiting import PATIENCE, wait_until


@pytest.fixture
def serve(tmp_path):
    model = tmp_path / "model.gguf"
    model.write_bytes(b"GGUF")
    return ["serve", "--port", "0", "--generalist", str(model), "--base", str(model)]


@pytest.fixture
def command(serve):
    return [*SERVER, *serve]


@pytest.fixture(name="environment")
def fixture_environment(tmp_path):
    return environment(tmp_path / "home", SPECSTEER_CLOUD_TOKEN=TOKEN)


def url_of(child):
    return json.loads(child.stdout.readline())["url"]


def test_it_makes_a_token_and_ends_with_the_program_that_started_it(
    command, environment, tmp_path
):
    del environment["SPECSTEER_CLOUD_TOKEN"]
    announced = tmp_path / "address.json"
    command += ["--exit-with-stdin", "--address-file", str(announced)]
    with process(command, environment) as child:
        url = url_of(child)
        wait_until_ready(url)
        path = tmp_path / "home" / "cloud-token"
        headers = {"Authorization": f"Bearer {path.read_text().strip()}"}
        status = ask("GET", url + "/v1/models", headers=headers).status_code
        child.stdin.close()
        code = child.wait(timeout=PATIENCE)
        err = child.stderr.read()

    assert status == 200
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert code == 0
    assert json.loads(announced.read_text())["url"] == url
    assert err == f"listening on {url} · token in {path}\n"


def test_it_listens_while_it_loads_and_can_be_stopped_then(command, environment):
    environment["FAKE_MODELS"] = "slow"
    body = wire_json.open_to_json(open_request())
    with process(command, environment) as child:
        url = url_of(child)
        loading = {"state": "loading", "model": "generalist", "share": 0.25}

        def is_told():
            ready = ask("GET", url + "/readyz")
            assert (ready.status_code, ready.headers["retry-after"]) == (503, "1")
            return ready.json() == loading

        # It listens before the first model is begun.
        wait_until(is_told, "it is not told how much is loaded")
        opened = ask("POST", url + "/v1/sessions", headers=HEADERS, json=body)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=PATIENCE)

    assert (opened.status_code, opened.json()["code"]) == (503, "loading")
    assert opened.headers["retry-after"] == "1"
    assert child.returncode == 0
    assert out == ""
    assert err == f"listening on {url} · with the token that was given\n"


HOSTILE_REQUESTS = [
    b"%s\r\n\r\n",
    b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: %s\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: %.20s\r\n\r\n",
    b"GET /v1/sessions/x/stream HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Key: %.9s\r\n\r\n",
]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems: one loopback")
def test_silent_sockets_and_bad_requests_neither_block_it_nor_fill_the_log(
    command, environment
):
    # Fewer files than sockets that come.
    few = ["bash", "-c", 'ulimit -n 200; exec "$@"', "bash", *command]
    with process(few, environment) as child, ExitStack() as stack:
        url = url_of(child)
        wait_until_ready(url)
        address = "127.0.0.1", int(url.rpartition(":")[2])
        for n in range(300):
            place = f"127.0.0.{n % 30 + 2}", 0  # the whole network is this machine
            stack.enter_context(socket.create_connection(address, PATIENCE, place))
        for _ in range(100):
            with socket.create_connection(address, PATIENCE) as bad:
                bad.sendall(b"nonsense\r\n\r\n")
                assert bad.recv(4096).startswith(b"HTTP/1.1 400 ")
        for request in HOSTILE_REQUESTS:
            with socket.create_connection(address, PATIENCE) as bad:
                bad.sendall(request % HOSTILE.encode())
                bad.shutdown(socket.SHUT_WR)
                while bad.recv(4096):
                    pass
        health = [ask("GET", url + "/healthz").status_code for _ in range(3)]
        with client_of(url) as client:
            open_session(client)
        child.send_signal(signal.SIGTERM)
        _, err = child.communicate(timeout=PATIENCE)
    assert health == [200] * 3
    assert len(err.splitlines()) <= 10
    assert dangers(err) == []


@pytest.mark.slow
@pytest.mark.parametrize("signals", [1, 2])
def test_a_model_that_is_stuck_delays_a_stop_a_little(command, environment, signals):
    """The first signal waits for the block for a while, the second ends it at once."""
    environment["FAKE_MODELS"] = "stuck"
    request = open_request(prompt=(1,))
    frames = frames_of(request)
    with process(command, environment) as child:
        url = url_of(child)
        wait_until_ready(url)
        with client_of(url) as client:
            session_id = open_session(client, request)
        with stream(url, session_id) as socket, stream(url, session_id) as silent:
            socket.send(frames.encode_block(block_after((), (1,))))
            assert child.stderr.readline().startswith("listening")
            assert child.stderr.readline() == "stuck\n"
            child.send_signal(signal.SIGTERM)
            assert frames.decode_answer(silent.recv()).value == Problem.STOPPING
            assert child.poll() is None, "it waits for the block"
            if signals == 2:
                child.send_signal(signal.SIGTERM)
                assert child.wait(timeout=PATIENCE) == -signal.SIGTERM
                return
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    socket.recv()
        assert child.wait(timeout=PATIENCE) == 0
    assert closed.value.rcvd.code == 1012


@pytest.mark.parametrize(
    ("load", "sentence"),
    [
        (
            lambda *_: Models(FakeModel(1), FakeModel(2, vocabulary="other")),
            "the generalist 'fake-1' and the base 'fake-2' have different "
            "vocabularies; give two models that share one",
        ),
        (lambda *_: 1 / 0, "the models could not be loaded (ZeroDivisionError)"),
    ],
)
def test_models_that_cannot_be_run_end_it(serve, monkeypatch, load, sentence):
    monkeypatch.setattr(run, "load_models", load)
    monkeypatch.setattr(run, "configure_logging", lambda: None)
    result = CliRunner().invoke(main, [*serve, "--token", "x"])

    assert result.exit_code == 1
    assert result.output.splitlines()[-1] == f"Error: {sentence}"


def test_loopback_addresses():
    assert all(map(is_loopback, ("127.0.0.1", "::1", "localhost", "127.8.8.8")))
    assert not is_loopback("192.168.1.1")


CANARY = (61, 62, 63, 61, 62, 63)
CANARY_TEXT = "canary-4242"
WRONG_TOKEN = {"Authorization": f"Bearer {CANARY_TEXT}"}


def spoken(numbers):
    """How a list of ids would look in a log."""
    return [sep.join(map(str, numbers)) for sep in (", ", ",", " ")]


@pytest.mark.parametrize("kind", ["well", "faulty"])
def test_nothing_that_was_sent_is_ever_shown(command, environment, kind, tmp_path):
    """Every route, its errors and the stream, with ids and a text that must not be
    seen again: not on the screen, in an error, a figure, the page or a file. Where all
    goes well, the token is one of a household's, with which devices are paired too."""
    environment["FAKE_MODELS"] = kind
    household = kind == "well"
    token_file = tmp_path / "home" / "cloud-token"
    if household:
        del environment["SPECSTEER_CLOUD_TOKEN"]
        token_file.parent.mkdir(mode=0o700)
        write_whole(token_file, TOKEN.encode())
    with process([*command, "--sessions", "1", "--openai"], environment) as child:
        url = url_of(child)
        wait_until_ready(url)
        with client_of(url) as client:
            errors = list(drive_http(client))
            errors += list(drive_openai(client))
            errors += list(drive_status(client))
            if household:
                errors += list(drive_pairing(client))
        errors += list(drive_streams(url))
        child.send_signal(signal.SIGTERM)
        out, err = child.communicate(timeout=PATIENCE)

    assert len(errors) > 10
    kept = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    kept = [path for path in kept if path != token_file]
    files = [path.read_bytes().decode("latin-1") + path.name for path in kept]
    for text in (out, err, *errors, *files):
        for secret in (CANARY_TEXT, TOKEN, *spoken(CANARY[:3])):
            assert secret not in text
    if kind == "faulty":
        assert "RuntimeError in" in err
    else:
        # Where it listens, and which of the two is to be updated.
        _, refused = err.splitlines()
        assert refused.endswith("update SpecSteer on the server")


def refused(response):
    assert 400 <= response.status_code < 500, response.text
    return response.text


def refused_bodies(client, path, body, *changes):
    """The errors of a route: to a body that is changed, and to what is none."""
    for change in (*changes, {CANARY_TEXT: CANARY_TEXT}):
        yield refused(client.post(path, json={**body, **change}))
    yield refused(client.post(path, json=CANARY_TEXT))
    yield refused(client.post(path, content=CANARY_TEXT.encode()))


def drive_http(client):
    """Use and misuse every route; the texts of the errors."""
    request = open_request(CANARY, CANARY)
    session_id = open_session(client, request)
    for block in (
        block_after(CANARY, CANARY[:4]),
        block_after(CANARY, CANARY[:4], epoch=1, round_=1),
        block_after((), CANARY[:4], epoch=0, round_=0),
    ):
        send_block(client, session_id, block, request)
    body = wire_json.open_to_json(request)
    yield from refused_bodies(
        *(client, "/v1/sessions", body),
        *({"prompt_ids": [*CANARY, odd]} for odd in (CANARY_TEXT, 10_000)),
        {"prompt_ids": list(CANARY) * 200},
        {"vocabulary_id": CANARY_TEXT},
        {"version": 9},
        *({"terms": {**body["terms"], n: CANARY_TEXT}} for n in ("method", "rule")),
    )
    yield refused(client.get(f"/{CANARY_TEXT}?{CANARY_TEXT}"))
    yield refused(client.delete(f"/v1/sessions/{CANARY_TEXT}"))
    yield refused(client.get("/v1/models", headers=WRONG_TOKEN))


def drive_openai(client):
    """Texts of the plain generalist, and what is wrong with some; the errors."""
    said = {"role": "user", "content": CANARY_TEXT}
    chat = {"model": "generalist", "messages": [said], "max_tokens": 3}
    path = "/openai/v1/chat/completions"
    for streams in (False, True):
        assert client.post(path, json={**chat, "stream": streams}).status_code == 200
    yield from refused_bodies(
        *(client, path, {}),
        *({**chat, name: CANARY_TEXT} for name in ("model", "n")),
        {**chat, "messages": [{**said, "role": CANARY_TEXT}]},
        {**chat, "messages": [{**said, "content": CANARY_TEXT * 99}]},
        {**chat, "tools": [{CANARY_TEXT: CANARY_TEXT}]},
    )
    yield refused(client.get(f"/openai/v1/models/{CANARY_TEXT}"))
    yield refused(client.get("/openai/v1/models", headers=WRONG_TOKEN))
    yield client.get("/openai/v1/models").text


def drive_status(client):
    """The page, its form with a wrong token and the right one, and the figures."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    enter = partial(client.post, "/status/enter", headers=form)
    yield refused(enter(content=f"token={CANARY_TEXT}"))
    assert enter(content=f"token={TOKEN}").status_code == 303
    seen = [client.get(f"/?{CANARY_TEXT}").text, client.get("/metrics").text]
    assert "waiting blocks" in seen[0]
    assert "specsteer_rounds_total" in seen[1]
    yield from seen
    for path in ("/healthz", "/readyz", "/v1/models", "/status.css"):
        yield client.get(path).text


def drive_pairing(client):
    """Both routes, with codes that there are not and bodies that are none."""
    digits = CANARY_TEXT.encode().hex()
    for path, body in (
        ("/v1/pair", {"number": 4242, "message": digits}),
        ("/v1/pair/proof", {"exchange": CANARY_TEXT, "proof": digits}),
    ):
        changes = ({field: CANARY_TEXT} for field in body)
        yield from refused_bodies(client, path, body, {}, *changes)


def drive_streams(url):
    """A stream with good frames and bad ones, and one that is denied."""
    request = open_request(CANARY, CANARY)
    frames = frames_of(request)
    with client_of(url) as client:
        session_id = open_session(client, request)
    for last in (CANARY_TEXT, CANARY_TEXT.encode(), b"\xff" * frames.up_size):
        with stream(url, session_id) as ws:
            ws.send(frames.encode_block(block_after(CANARY, CANARY[:4])))
            ws.recv()
            ws.send(last)
            ws.recv()
    with pytest.raises(InvalidStatus) as denied:
        stream(url, CANARY_TEXT)
    yield denied.value.response.body.decode()
