"""`specsteer lab bench load`: a user who floods a server in a process of its own, and a
long run."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import click
import httpx
import numpy as np
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from benchmarks.options import AT_LEAST_ONE, option
from benchmarks.speed.serving import TOKEN, Address, Embedded, child_process, serving
from decoding_core import wire_json
from decoding_core.errors import CloudError
from decoding_core.messages import DraftBlock, OpenSession, Verdict, digest
from decoding_core.settings import Terms
from decoding_core.verifier import role_of
from models.command_line import Command

FACTOR = 2.0  # most that a flood may raise another user's p95, against a quiet server
FLAT = 0.05  # growth of memory over a soak that still counts as none, of what there was
_BEGINS_SECONDS = 3.0  # after which a flood has reached all its parts
_SAMPLE_SECONDS = 5.0
_WARM_UP = 0.3  # part of a soak in which caches fill and the allocator settles
_IDLE_SECONDS = 30.0  # after which the server of a soak forgets a text
_REST_SECONDS = _IDLE_SECONDS + 30.0  # that it gets to let go of what devices left
_CONTEXT = 1024
_OPENINGS, _HALF_HEADERS, _SLOW_READERS = 256, 128, 32  # of a flood, at once


@dataclass(frozen=True, slots=True)
class Household:
    """A server that listens, and what it says of its models."""

    server: Address
    models: dict[str, Any]

    @property
    def url(self) -> str:
        """Where it listens."""
        return self.server.url

    @property
    def address(self) -> tuple[str, int]:
        """The same as a host and a port."""
        return "127.0.0.1", int(self.url.rsplit(":", 1)[1])

    def client(self) -> httpx.AsyncClient:
        """A client with as many connections as it wants."""
        limits = httpx.Limits(max_connections=None)
        return httpx.AsyncClient(
            base_url=self.url, timeout=600, limits=limits, verify=False
        )

    def stream(self, session_id: str, user: str, **options: Any) -> connect:
        """A socket for the blocks of a session."""
        url = f"{self.url.replace('http', 'ws', 1)}/v1/sessions/{session_id}/stream"
        shown = headers(user)
        return connect(url, additional_headers=shown, compression=None, **options)


@dataclass(frozen=True, slots=True)
class Text:
    """What one device writes: a prompt, then blocks of which few tokens are kept."""

    user: str = "owner"
    prompt: int = 300
    rounds: int = 20
    drafted: int = 8
    pause: float = 0.02  # seconds that it drafts between a verdict and the next block
    seed: int = 0


@dataclass(slots=True)
class Times:
    """What the device saw."""

    first: float = 0.0  # seconds from asking for the session to the first verdict
    rounds: list[float] = field(default_factory=list)
    """Seconds from each further block to its verdict."""
    refused: int = 0  # how often it was asked to come back


def headers(user: str) -> dict[str, str]:
    """What shows the user's token."""
    return {"Authorization": f"Bearer {TOKEN}{user}"}


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
    """Write a text to its end over a stream, each block once the one before is
    answered."""
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
    frames = role_of(wire_json.open_from_json(body).terms).frames
    choose = random.Random(text.seed + 1)
    size = home.models["limits"]["vocabulary_size"]
    ids: list[int] = []
    settled: tuple[int, ...] = ()
    epoch = 0
    async with home.stream(answer.json()["session_id"], text.user) as stream:
        for number in range(text.rounds):
            await asyncio.sleep(text.pause)
            drafted = tuple(choose.randrange(size) for _ in range(text.drafted))
            block = DraftBlock(epoch, number, len(ids), digest(ids), settled, drafted)
            sent = time.perf_counter()
            await stream.send(frames.encode_block(block))
            verdict = frames.decode_answer(bytes(await stream.recv(decode=False)))
            done = time.perf_counter()
            if not isinstance(verdict, Verdict):
                raise WebSocketException(f"the server answered {verdict.kind.name}")
            if number:
                times.rounds.append(done - sent)
            else:
                times.first = done - began
            ids += [*settled, *drafted[: verdict.accepted]]
            epoch += verdict.accepted < len(drafted)
            settled = ()
            if verdict.rows:
                row = verdict.rows[0]
                settled = (int(row.token_ids[np.argmax(row.generalist_logprobs)]),)
    place = f"/v1/sessions/{answer.json()['session_id']}"
    await client.delete(place, headers=headers(text.user))
    return times


async def write_all(
    home: Household, texts: Sequence[Text], *, at_once: bool = True
) -> list[Times]:
    """Write texts at once, or one after the other."""
    async with home.client() as client:
        todo = [write(home, client, text) for text in texts]
        if at_once:
            return list(await asyncio.gather(*todo))
        return [await one for one in todo]


def percentile(times: Sequence[Times], share: float) -> float:
    """Of the rounds but each text's first, in seconds."""
    return float(np.percentile([r for one in times for r in one.rounds], share))


async def flood_one(
    home: Household, client: httpx.AsyncClient, seed: int, counts: Counter[str]
) -> None:
    """Open texts of long prompts over and over, and send blocks whose answers are not
    read; `counts` says what came of it."""
    slow = seed < _SLOW_READERS
    length = home.models["limits"]["context_length"] - 120
    text = Text("flood", prompt=length, seed=seed)
    body = opening(home, text, **({"method": "lossless"} if slow else {}))
    frames = role_of(wire_json.open_from_json(body).terms).frames
    while True:
        try:
            answer = await client.post(
                "/v1/sessions", json=body, headers=headers(text.user)
            )
        except httpx.TransportError:
            counts["broken"] += 1
            await asyncio.sleep(0.1)
            continue
        counts[f"openings answered {answer.status_code}"] += 1
        if answer.status_code != 201:
            await asyncio.sleep(float(answer.headers.get("Retry-After", 1)))
            continue
        session_id = answer.json()["session_id"]
        with suppress(OSError, WebSocketException, TimeoutError):
            async with home.stream(session_id, text.user, max_queue=1) as stream:
                for round_ in range(8):
                    block = DraftBlock(round_, round_, 0, digest(()), (), (1,) * 16)
                    await stream.send(frames.encode_block(block))
                    counts["blocks"] += 1
                await asyncio.sleep(5 if slow else 0.5)


async def never_end(home: Household, counts: Counter[str]) -> None:
    """Begin a request over and over, and send a byte of its header now and then."""
    header = "GET /v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: {}\r\nX: "
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(*home.address)
            writer.write(header.format(headers("flood")["Authorization"]).encode())
            counts["half headers"] += 1
            while not reader.at_eof():
                await asyncio.sleep(1)
                writer.write(b"y")
                await writer.drain()
            writer.close()
        await asyncio.sleep(0.1)


def flood() -> None:
    """Flood the server that the first line of standard input names, until a second one
    comes; then say in a line of JSON what came of it."""
    os.nice(19)
    order = json.loads(sys.stdin.readline())
    server = Address(order["url"], None)  # type: ignore[arg-type]
    home = Household(server, order["models"])
    counts = Counter[str]()

    async def run() -> None:
        async with home.client() as client:
            todo = [flood_one(home, client, n, counts) for n in range(_OPENINGS)]
            todo += [never_end(home, counts) for _ in range(_HALF_HEADERS)]
            tasks = [asyncio.create_task(one) for one in todo]
            print("{}", flush=True)
            await asyncio.to_thread(sys.stdin.readline)
            print(json.dumps(counts), flush=True)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

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


def flooded(home: Household, texts: int, rounds: int) -> tuple[float, list[str]]:
    """How many times the p95 of one user's rounds is what it was, once another user
    floods the server, and lines that say more."""
    asyncio.run(write_all(home, [Text("quiet", rounds=5, seed=90)]))  # warms up
    lines, p95 = [f"{'':10}{'first verdict':>14}{'p50':>9}{'p95':>9}"], []

    def run(name: str, first_seed: int) -> None:
        todo = [Text("quiet", rounds=rounds, seed=first_seed + n) for n in range(texts)]
        times = asyncio.run(write_all(home, todo, at_once=False))
        first = float(np.median([one.first for one in times]))
        p95.append(percentile(times, 95))
        shown = (first, percentile(times, 50), p95[-1])
        first_ms, *others = (f"{1000 * one:6.0f} ms" for one in shown)
        lines.append(f"{name:10}{first_ms:>14}{''.join(others)}")

    run("quiet", 0)
    with flooding(home) as counts:
        time.sleep(_BEGINS_SECONDS)
        run("flooded", 50)
        memory = home.server.memory()
    what = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    ratio = p95[1] / p95[0]
    lines.append(f"p95 times {ratio:.2f}; the flood: {what}; {memory >> 20} MiB")
    return ratio, lines


async def at_rest(server: Address, most: Mapping[str, int]) -> dict[str, int]:
    """What the server has open now that nobody writes, once it is no more than `most`
    or has had its time to let go."""
    until = time.monotonic() + _REST_SECONDS
    while True:
        await asyncio.sleep(1.0)  # the last request's connection goes
        found = {"open files": server.descriptors(), "threads": server.threads()}
        counts = server.metrics()
        for name in ("sessions", "streams", "connections"):
            found[name] = int(counts[f"specsteer_{name}"])
        if all(found[name] <= most[name] for name in most) or time.monotonic() > until:
            return found


async def write_until(end: float, home: Household, first: int) -> Counter[str]:
    """Have six devices write texts of all lengths without a pause, leave some of them
    in their midst and open some in vain, until the time is over; what came of it."""
    counts = Counter[str]()

    async def device(number: int) -> None:
        choose = random.Random(number)
        async with home.client() as client:
            while time.monotonic() < end:
                text = Text(
                    f"user {number % 3}",
                    prompt=choose.randrange(20, 500),
                    rounds=choose.randrange(2, 20),
                    drafted=choose.randrange(1, 16),
                    pause=0.0,
                    seed=choose.randrange(1 << 30),
                )
                if choose.random() < 0.2:
                    body, user = opening(home, text), headers(text.user)
                    answer = await client.post("/v1/sessions", json=body, headers=user)
                    counts[f"opened in vain ({answer.status_code})"] += 1
                    continue
                leaves = choose.uniform(0.1, 2) if choose.random() < 0.2 else None
                try:
                    async with asyncio.timeout(leaves):
                        times = await write(home, client, text)
                    counts["written"] += 1
                    counts["blocks of these"] += 1 + len(times.rounds)
                except TimeoutError:
                    if leaves is None:
                        raise
                    counts["left in their midst"] += 1

    try:
        async with asyncio.TaskGroup() as group:
            for number in range(first, first + 6):
                group.create_task(device(number))
    except ExceptionGroup as failed:
        raise CloudError(f"a device failed: {failed.exceptions[0]!r}") from failed
    return counts


async def soaked(home: Household, seconds: float) -> tuple[list[str], list[str]]:
    """Have devices write for so long, and rest after the warm-up and at the end: lines
    of what the server had at both times, and what of it grew."""
    server, samples = home.server, []
    await write_until(time.monotonic() + _WARM_UP * seconds, home, 0)
    begin = await at_rest(server, {"sessions": 0, "streams": 0})
    end = time.monotonic() + (1 - _WARM_UP) * seconds

    async def sample() -> None:
        while (now := time.monotonic()) < end:
            samples.append((now, server.memory() / (1 << 20)))
            await asyncio.sleep(_SAMPLE_SECONDS)

    counts, _ = await asyncio.gather(write_until(end, home, 6), sample())
    left = await at_rest(server, begin)
    at, memory = np.array(samples).T
    line = np.polyfit(at - at[0], memory, 1)
    first, last = np.polyval(line, (0.0, at[-1] - at[0]))
    what = ", ".join(f"{count} {name}" for name, count in counts.items())
    lines = [
        f"{(1 - _WARM_UP) * seconds / 60:.1f} minutes behind the warm-up: {what}",
        f"{'':12}{'warmed up':>12}{'at the end':>12}",
        f"{'memory':12}{first:8.1f} MiB{last:8.1f} MiB"
        f"   on the line through {len(samples)} samples; {memory.max():.1f} at most",
        *(f"{name:12}{count:12}{left[name]:12}" for name, count in begin.items()),
    ]
    grown = [
        f"{name} grew from {count} to {left[name]}, and stayed for "
        f"{_REST_SECONDS:.0f} s after the last device had gone"
        for name, count in begin.items()
        if left[name] > count
    ]
    if last > (1 + FLAT) * first:
        grown.insert(0, f"memory grew by {last / first - 1:.0%}, from {first:.1f} MiB")
    return lines, grown


@click.command("load", cls=Command)
@option("--slots", AT_LEAST_ONE, 4, "Caches of the server.")
@option("--rounds", click.IntRange(2), 40, "Blocks of each of the user's four texts.")
@option("--runs", AT_LEAST_ONE, 1, "How often, each time with a new server.")
@option(
    "--soak",
    click.FloatRange(0.5),
    None,
    "Instead: six devices write so long; does the server keep anything of it?",
    metavar="MINUTES",
)
def command(slots: int, rounds: int, runs: int, soak: float | None) -> None:
    """One user writes while another floods the server of the embedded pair.

    Devices in one process write texts of random tokens, in blocks of eight of which
    few are kept, and draft for 20 ms between them. The server is a process of its own,
    with one thread a model. How many people it serves is `lab bench capacity`.

    The flood is 256 openings with prompts that fill the context, blocks, answers that
    are not read and requests that never end, over and over, at low priority. The exit
    status is 1 if the other user's p95 is more than twice that of a quiet server.

    The devices of a soak are of three users and write without a pause; they leave some
    texts in their midst, or only open them, which the server forgets after 30 seconds
    here. The exit status is 1 if, after the first third, its memory grows by more than
    a twentieth, on the line through the samples, or if it has more open files, threads,
    texts, streams or connections after the devices have gone than after that third.
    """
    if soak:
        with serving(Embedded(_CONTEXT), slots, _IDLE_SECONDS) as server:
            home = Household(server, server.ask("/v1/models").json())
            lines, grown = asyncio.run(soaked(home, 60 * soak))
        click.echo("\n".join(lines))
        if grown:
            raise click.ClickException(f"the server leaks: {'; '.join(grown)}")
        return
    worst = 0.0
    for _ in range(runs):
        with serving(Embedded(_CONTEXT), slots) as server:
            home = Household(server, server.ask("/v1/models").json())
            ratio, lines = flooded(home, 4, rounds)
        click.echo("\n".join(lines))
        worst = max(worst, ratio)
    sys.exit(worst > FACTOR)
