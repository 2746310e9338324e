"""Mutated frames over a socket, with the embedded pair. `specsteer lab bench load` has
the server under load: many texts, idle sockets, a flood, and a soak."""

import asyncio
import itertools

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from benchmarks.load.bench_load import Text, headers, household, opening, write_all
from decoding_core import wire_json
from decoding_core.verifier import role_of
from tests.decoding_core.test_mutated_frames import frames
from tests.waiting import PATIENCE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home():
    with household(4) as found:
        yield found


def test_fifty_thousand_mutated_frames_over_a_socket(home):
    """Each is answered or hung up upon; then the server goes on as before."""
    text = Text("fuzz", prompt=5)
    body = opening(home, text, draft_limit=8)
    size = role_of(wire_json.open_from_json(body).terms).frames.up_size
    url = f"{home.url.replace('http', 'ws', 1)}/v1/sessions"
    sent, memory, codes = 0, [], set()
    mutated = (one for one in frames(5) if sent % 7 == 0 or len(one) == size)
    with httpx.Client(base_url=home.url, verify=False) as client:
        answer = client.post("/v1/sessions", json=body, headers=headers(text.user))
        path = f"{url}/{answer.json()['session_id']}/stream"
        while sent < 50_000:
            with connect(
                path, additional_headers=headers(text.user), compression=None
            ) as socket:
                try:
                    for frame in itertools.islice(mutated, 50_000 - sent):
                        socket.send(frame)
                        sent += 1
                        socket.recv(PATIENCE)
                except ConnectionClosed as error:
                    codes.add(error.rcvd.code)
            memory.append(home.memory())
        assert client.get("/readyz").status_code == 200
    assert codes == {1008}
    half = memory[len(memory) // 2 :]
    assert max(half) <= 1.05 * min(half)
    asyncio.run(write_all(home, [Text(rounds=3)]))
