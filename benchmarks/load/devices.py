"""A household's server in a process of its own, devices that write at it, and a user
who floods it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from benchmarks.speed.serving import child_process, serve_until_stdin_ends
from decoding_core import wire_json
from decoding_core.errors import CloudBusyError, CloudUnreachableError
from decoding_core.messages import DraftBlock, OpenSession, Terms, Verdict, digest
from decoding_core.verifier import role_of
from edge_app.transport.client import Connection

_POLL_SECONDS = 0.02


def token_of(user: str) -> str:
    """The token of a user's device."""
    return f"token-of-{user}"


def serve() -> None:
    """Run the server that the first line of standard input describes, until that ends.
    Says its address in one line of JSON."""
    from cloud_api.auth import Caller, Scope
    from cloud_api.engine.models import ModelOptions
    from cloud_api.engine.thread import load_models
    from cloud_api.run import create_app, listen, room_for_connections
    from cloud_api.settings import ConnectionLimits, ServerSettings
    from models.running.settings import EngineSettings

    order: dict[str, Any] = json.loads(sys.stdin.readline())

    class AnyUser:
        """Takes the token of any user for theirs."""

        def caller(self, token: str) -> Caller | None:
            """The user whose token it is."""
            user = token.removeprefix("token-of-")
            return Caller(user, f"{user}'s device", frozenset(Scope))

        def refuse(self, token: str, place: str) -> float:  # noqa: ARG002
            """No token is wrong."""
            return 0.0

    options = ModelOptions(
        Path(order["generalist"]),
        Path(order["base"]),
        order["slots"],
        order["context"],
        EngineSettings(threads=order["threads"]),
    )
    room = room_for_connections(ConnectionLimits().connections)
    settings = ServerSettings(connections=ConnectionLimits(room))
    app = create_app(settings, partial(load_models, options), AnyUser())
    listener = listen("127.0.0.1", 0)
    serve_until_stdin_ends(app, listener)


@dataclass(frozen=True, slots=True)
class Household:
    """A server that listens."""

    url: str
    process: subprocess.Popen[str]
    models: dict[str, Any]
    """What `GET /v1/models` says."""

    @property
    def port(self) -> int:
        """Of loopback."""
        return int(self.url.rsplit(":", 1)[1])

    def computing(self) -> float:
        """Seconds of computing that the process has taken."""
        fields = self._proc("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Bytes of memory that the process has (RSS)."""
        return int(self._proc("statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def descriptors(self) -> int:
        """Files and sockets that the process has open."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def _proc(self, name: str) -> str:
        return Path(f"/proc/{self.process.pid}/{name}").read_text()


@contextmanager
def household(
    slots: int, *, context: int = 1024, threads: int = 1
) -> Iterator[Household]:
    """The server of the embedded pair, once it is ready.

    Raises:
        CloudUnreachableError: it ended before it was ready.
    """
    from models.files import locate

    order = {
        "generalist": str(locate("generalist")),
        "base": str(locate("specialist")),
        "slots": slots,
        "context": context,
        "threads": threads,
    }
    entry = f"{__name__}:serve"
    with child_process(entry, json.dumps(order)) as (child, line):
        url = json.loads(line)["url"]
        connection = Connection(url, token_of("watcher"), lambda _: None)
        while True:
            if child.poll() is not None:
                raise CloudUnreachableError("the server of the measurement ended")
            try:
                models = connection.request("models", "GET", "/v1/models")
                break
            except (CloudBusyError, CloudUnreachableError):
                time.sleep(_POLL_SECONDS)
        connection.close()
        yield Household(url, child, models)


@dataclass(frozen=True, slots=True)
class Text:
    """What one device writes: a prompt, then blocks of which few tokens are kept."""

    user: str = "owner"
    prompt: int = 300
    rounds: int = 20
    drafted: int = 8
    pause: float = 0.02
    """Seconds that it drafts between a verdict and the next block."""
    seed: int = 0


@dataclass(slots=True)
class Times:
    """What the device saw."""

    first: float = 0.0
    """Seconds from asking for the session to the first verdict."""
    rounds: list[float] = field(default_factory=list)
    """Seconds from each further block to its verdict."""
    refused: int = 0
    """How often it was asked to come back."""


def headers(user: str) -> dict[str, str]:
    """What shows the user's token."""
    return {"Authorization": f"Bearer {token_of(user)}"}


def opening(home: Household, text: Text, **terms: Any) -> dict[str, Any]:
    """The body that begins a text of random tokens."""
    choose = random.Random(text.seed)
    size = home.models["limits"]["vocabulary_size"]
    prompt = tuple(choose.randrange(size) for _ in range(text.prompt))
    vocabulary = home.models["generalist"]["vocabulary_id"]
    chosen = Terms("steering", seed=text.seed, draft_limit=16)
    request = OpenSession(prompt, (), vocabulary, chosen)
    body = wire_json.open_to_json(request)
    body["terms"].update(terms)
    return body


async def write(home: Household, client: httpx.AsyncClient, text: Text) -> Times:
    """Write a text to its end over a stream, as the client of a device does."""
    times = Times()
    body = opening(home, text)
    began = time.perf_counter()
    while True:
        answer = await client.post(
            "/v1/sessions", json=body, headers=headers(text.user)
        )
        if answer.status_code == 201:
            break
        if answer.status_code not in (429, 503):
            answer.raise_for_status()
        times.refused += 1
        await asyncio.sleep(float(answer.headers["Retry-After"]))
    session_id = answer.json()["session_id"]
    url = f"{home.url.replace('http', 'ws', 1)}/v1/sessions/{session_id}/stream"
    async with connect(
        url, additional_headers=headers(text.user), compression=None
    ) as socket:
        await _write_rounds(home, socket, text, body, times, began)
    return times


async def _write_rounds(
    home: Household,
    socket: ClientConnection,
    text: Text,
    body: dict[str, Any],
    times: Times,
    began: float,
) -> None:
    """Send block after block, each once the one before is answered."""
    frames = role_of(wire_json.open_from_json(body).terms).frames
    choose = random.Random(text.seed + 1)
    size = home.models["limits"]["vocabulary_size"]
    ids: list[int] = []
    settled: tuple[int, ...] = ()
    epoch = 0
    for number in range(text.rounds):
        await asyncio.sleep(text.pause)
        drafted = tuple(choose.randrange(size) for _ in range(text.drafted))
        block = DraftBlock(epoch, number, len(ids), digest(ids), settled, drafted)
        sent = time.perf_counter()
        await socket.send(frames.encode_block(block))
        answer = frames.decode_answer(bytes(await socket.recv(decode=False)))
        done = time.perf_counter()
        if not isinstance(answer, Verdict):
            raise WebSocketException(f"the server answered {answer.kind.name}")
        if number:
            times.rounds.append(done - sent)
        else:
            times.first = done - began
        ids += [*settled, *drafted[: answer.accepted]]
        settled = ()
        if answer.accepted < len(drafted):
            epoch += 1
        if answer.rows:
            row = answer.rows[0]
            best = int(np.argmax(row.generalist_logprobs))
            settled = (int(row.token_ids[best]),)


async def write_all(
    home: Household, texts: Sequence[Text], *, at_once: bool = True
) -> list[Times]:
    """Write texts at once, or one after the other."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
    async with httpx.AsyncClient(
        base_url=home.url, timeout=600, limits=limits, verify=False
    ) as client:
        if at_once:
            return list(
                await asyncio.gather(*(write(home, client, one) for one in texts))
            )
        return [await write(home, client, one) for one in texts]


def percentile(times: Iterable[Times], share: float) -> float:
    """Of the rounds but each text's first, in seconds."""
    return float(np.percentile([r for one in times for r in one.rounds], share))


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
