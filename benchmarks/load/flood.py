"""A user who floods the server: openings, long prompts, blocks, answers that are not
read, requests that never end. Runs in a process of its own, at low priority, as other
machines' devices would."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import httpx
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from benchmarks.load.devices import Text, headers, opening
from benchmarks.load.household import Household
from benchmarks.speed.rig.serving import child_process
from decoding_core import wire_json
from decoding_core.messages import DraftBlock, digest
from decoding_core.verifier import role_of

OPENINGS = 256
HALF_HEADERS = 128
SLOW_READERS = 32
USER = "flood"
_HEADER = (
    b"GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token-of-flood\r\nX: "
)


class Flood:
    """Everything at once, over and over, until it is cancelled."""

    def __init__(self, home: Household) -> None:
        self._home = home
        self._text = Text(USER, prompt=home.models["limits"]["context_length"] - 120)
        self.counts: Counter[str] = Counter()
        """What came of it."""

    async def run(self) -> None:
        """Flood."""
        limits = httpx.Limits(max_connections=None)
        async with (
            httpx.AsyncClient(
                base_url=self._home.url, timeout=60, limits=limits, verify=False
            ) as client,
            asyncio.TaskGroup() as group,
        ):
            for number in range(OPENINGS):
                group.create_task(self._write(client, number))
            for _ in range(HALF_HEADERS):
                group.create_task(self._never_end())

    async def _write(self, client: httpx.AsyncClient, number: int) -> None:
        """Open texts of long prompts, and send blocks of which no answer is read."""
        terms = {"method": "lossless"} if number < SLOW_READERS else {}
        body = opening(self._home, replace(self._text, seed=number), **terms)
        frames = role_of(wire_json.open_from_json(body).terms).frames
        while True:
            try:
                answer = await client.post(
                    "/v1/sessions", json=body, headers=headers(USER)
                )
            except httpx.TransportError:
                self.counts["broken"] += 1
                await asyncio.sleep(0.1)
                continue
            self.counts[f"openings answered {answer.status_code}"] += 1
            if answer.status_code != 201:
                await asyncio.sleep(float(answer.headers.get("Retry-After", 1)))
                continue
            path = f"/v1/sessions/{answer.json()['session_id']}/stream"
            url = self._home.url.replace("http", "ws", 1) + path
            with suppress(OSError, WebSocketException, TimeoutError):
                async with connect(
                    url, additional_headers=headers(USER), compression=None, max_queue=1
                ) as socket:
                    for round_ in range(8):
                        block = DraftBlock(round_, round_, 0, digest(()), (), (1,) * 16)
                        await socket.send(frames.encode_block(block))
                        self.counts["blocks"] += 1
                    await asyncio.sleep(5 if number < SLOW_READERS else 0.5)

    async def _never_end(self) -> None:
        """Begin a request, and send a byte now and then."""
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1", self._home.port
                )
                writer.write(_HEADER)
                self.counts["half headers"] += 1
                while not reader.at_eof():
                    await asyncio.sleep(1)
                    writer.write(b"y")
                    await writer.drain()
                writer.close()
            await asyncio.sleep(0.1)


def flood() -> None:
    """Flood the server that the first line of standard input names, until that ends;
    then say in a line of JSON what came of it."""
    os.nice(19)
    order = json.loads(sys.stdin.readline())
    home = Household(order["url"], None, order["models"])  # type: ignore[arg-type]
    one = Flood(home)

    async def run() -> None:
        task = asyncio.create_task(one.run())
        print("{}", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        print(json.dumps(one.counts), flush=True)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(run())


@contextmanager
def flooding(home: Household) -> Iterator[Counter[str]]:
    """A flood while the block runs; what came of it is known after."""
    counts: Counter[str] = Counter()
    order = json.dumps({"url": home.url, "models": home.models})
    with child_process(f"{__name__}:flood", order) as (child, _):
        yield counts
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write("\n")
        child.stdin.flush()
        counts.update(json.loads(child.stdout.readline()))
