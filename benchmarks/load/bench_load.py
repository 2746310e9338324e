"""`specsteer lab bench load`: many texts at once on a server in a process of its own, a
user who floods it, a long run."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import click
import httpx
import numpy as np
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from benchmarks.options import AT_LEAST_ONE, NEW_FILE, NONE_OR_MORE, flag, option
from benchmarks.speed.serving import child_process, serve_until_stdin_ends
from decoding_core import wire_json
from decoding_core.errors import CloudUnreachableError
from decoding_core.messages import DraftBlock, OpenSession, Verdict, digest
from decoding_core.settings import Terms
from decoding_core.verifier import role_of
from models.command_line import Command

FACTOR = 2.0  # most that a flood may raise another user's p95, against a quiet server
FLAT = 0.05  # growth of memory over a soak that still counts as none, of what there was
_BEGINS_SECONDS = 3.0  # after which a flood has reached all its parts
_SAMPLE_SECONDS = 5.0
_WARM_UP = 0.3
"""Part of the samples that does not count: caches fill, the allocator settles."""
_POLL_SECONDS = 0.02
_CONTEXT = 1024
_TOKEN = "token-of-"  # what the token of a user's device begins with
_OPENINGS, _HALF_HEADERS, _SLOW_READERS = 256, 128, 32  # of a flood, at once


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
            user = token.removeprefix(_TOKEN)
            return Caller(user, f"{user}'s device", frozenset(Scope))

        def refuse(self, token: str, place: str) -> float:  # noqa: ARG002
            """No token is wrong."""
            return 0.0

    generalist, base = Path(order["generalist"]), Path(order["base"])
    threads = EngineSettings(threads=1)
    options = ModelOptions(generalist, base, order["slots"], _CONTEXT, threads)
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
    models: dict[str, Any]  # what `GET /v1/models` says

    @property
    def address(self) -> tuple[str, int]:
        """Where it listens."""
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
def household(slots: int) -> Iterator[Household]:
    """The server of the embedded pair, once it is ready. Raises CloudUnreachableError
    if it ended before it was ready."""
    from models.files import locate

    pair = {"generalist": str(locate("generalist")), "base": str(locate("specialist"))}
    order = json.dumps({**pair, "slots": slots})
    with child_process(f"{__name__}:serve", order) as (child, line):
        url = json.loads(line)["url"]
        shown = headers("watcher")
        while (answer := httpx.get(f"{url}/v1/models", headers=shown)).is_error:
            if child.poll() is not None:
                raise CloudUnreachableError("the server of the measurement ended")
            time.sleep(_POLL_SECONDS)
        yield Household(url, child, answer.json())


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
    return {"Authorization": f"Bearer {_TOKEN}{user}"}


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
    home = Household(order["url"], None, order["models"])  # type: ignore[arg-type]
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


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement of several texts at once."""

    texts: int
    slots: int
    at_once: bool
    rounds_per_second: float
    first_ms: float  # median of the time from the opening to the first verdict
    p50_ms: float
    p95_ms: float  # of the further rounds
    computing_ms: float
    """Of the server, for each round; prompts are shared out over the rounds."""
    refused: int  # how often a device was asked to come back


def measure(home: Household, slots: int, texts: list[Text], *, at_once: bool) -> Row:
    """Have the texts written, and say what it took."""
    computing, began = home.computing(), time.perf_counter()
    times = asyncio.run(write_all(home, texts, at_once=at_once))
    seconds, computing = time.perf_counter() - began, home.computing() - computing
    rounds = sum(one.rounds for one in texts)
    return Row(
        len(texts),
        slots,
        at_once,
        rounds / seconds,
        1000 * float(np.median([one.first for one in times])),
        1000 * percentile(times, 50),
        1000 * percentile(times, 95),
        1000 * computing / rounds,
        sum(one.refused for one in times),
    )


def show(row: Row) -> str:
    """A line of the table."""
    how = "at once" if row.at_once else "one by one"
    return (
        f"{row.texts:5} on {row.slots:3} {how:10} {row.rounds_per_second:7.1f}"
        f"{row.first_ms:10.0f}{row.p50_ms:9.0f}{row.p95_ms:9.0f}"
        f"{row.computing_ms:11.1f}{row.refused:9}"
    )


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
        memory = home.memory()
    what = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    ratio = p95[1] / p95[0]
    lines.append(f"p95 times {ratio:.2f}; the flood: {what}; {memory >> 20} MiB")
    return ratio, lines


async def soaked(home: Household, seconds: float, devices: int) -> tuple[float, str]:
    """Have devices write texts of all lengths, leave some of them in their midst, open
    some in vain and break some connections, until the time is over; by which part the
    server's memory grew after the warm-up, on the line through the samples, and a line
    that says more."""
    end, began = time.monotonic() + seconds, time.monotonic()
    samples: list[tuple[float, float]] = []
    texts = rounds = 0

    async def sample() -> None:
        while time.monotonic() < end:
            await asyncio.sleep(_SAMPLE_SECONDS)
            samples.append((time.monotonic() - began, home.memory() / (1 << 20)))

    async def device(number: int) -> None:
        nonlocal texts, rounds
        choose = random.Random(number)
        async with home.client() as client:
            while time.monotonic() < end:
                text = Text(
                    f"user {number % 3}",
                    prompt=choose.randrange(20, 500),
                    rounds=choose.randrange(2, 20),
                    drafted=choose.randrange(1, 16),
                    pause=choose.choice((0.0, 0.05, 0.5)),
                    seed=choose.randrange(1 << 30),
                )
                texts += 1
                if choose.random() < 0.2:  # opened in vain
                    body = opening(home, text)
                    await client.post(
                        "/v1/sessions", json=body, headers=headers(text.user)
                    )
                elif choose.random() < 0.2:  # left in its midst
                    with suppress(TimeoutError):
                        async with asyncio.timeout(choose.uniform(0.1, 2)):
                            await write(home, client, text)
                else:
                    times = await write(home, client, text)
                    rounds += 1 + len(times.rounds)

    async with asyncio.TaskGroup() as group:
        group.create_task(sample())
        for number in range(devices):
            group.create_task(device(number))
    at, memory = np.array(samples[int(_WARM_UP * len(samples)) :]).T
    slope, start = np.polyfit(at, memory, 1)
    first, last = start + slope * at[0], start + slope * at[-1]
    growth = float(last / first - 1)
    return growth, (
        f"{(time.monotonic() - began) / 60:.1f} minutes, {texts} texts, {rounds} "
        f"rounds: {first:.1f} MiB at first, {last:.1f} at last "
        f"({100 * growth:+.1f} %), {memory.max():.1f} at most; "
        f"{home.descriptors()} files open at the end"
    )


@click.command("load", cls=Command)
@option(
    "--texts",
    AT_LEAST_ONE,
    (1, 4, 16, 64),
    "How many texts at once; may be repeated.",
    multiple=True,
)
@option("--slots", AT_LEAST_ONE, 16, "Caches of the server, of most rows.")
@option("--few-slots", AT_LEAST_ONE, 4, "Caches of the server, of the last two rows.")
@option("--rounds", click.IntRange(2), 20, "Blocks of each text.")
@option("--prompt", AT_LEAST_ONE, 300, "Its tokens.")
@option(
    "--idle",
    NONE_OR_MORE,
    1000,
    "Sockets that say nothing, beside the last text on --slots.",
)
@flag("--flood", "Instead: one user writes while another floods.")
@option(
    "--soak",
    click.FloatRange(0.5),
    None,
    "Instead: six devices write so long; does the memory stay flat?",
    metavar="MINUTES",
)
@option("--json", NEW_FILE, None, "Also write the rows there.", name="json_file")
def command(
    texts: tuple[int, ...],
    slots: int,
    few_slots: int,
    rounds: int,
    prompt: int,
    idle: int,
    flood: bool,
    soak: float | None,
    json_file: Path | None,
) -> None:
    """Many texts at once on one server, with the embedded pair.

    Devices in one process write texts of random tokens, in blocks of eight of which
    few are kept, and draft for 20 ms between them. The server is a process of its own,
    with one thread a model. First as many texts as --texts says, at once and, as a
    comparison, 16 of them one by one; then one text beside --idle sockets that say
    nothing; at last as many texts as --few-slots, and four times as many, on those.

    The flood is 256 openings with prompts that fill the context, blocks, answers that
    are not read and requests that never end, over and over, at low priority. The exit
    status is 1 if the other user's p95 is more than twice that of a quiet server.

    The devices of a soak are of three users; they leave some texts in their midst, or
    only open them. The exit status is 1 if the server's memory grows by more than a
    twentieth, on the line through the samples after the first third.
    """
    if flood:
        with household(few_slots) as home:
            ratio, lines = flooded(home, 4, 2 * rounds)
        click.echo("\n".join(lines))
        sys.exit(ratio > FACTOR)
    if soak:
        with household(few_slots) as home:
            growth, line = asyncio.run(soaked(home, 60 * soak, devices=6))
        click.echo(line)
        sys.exit(growth > FLAT)
    rows: list[Row] = []

    def run(home: Household, count: int, room: int, *, at_once: bool = True) -> Row:
        todo = [Text(prompt=prompt, rounds=rounds, seed=n) for n in range(count)]
        rows.append(measure(home, room, todo, at_once=at_once))
        print(show(rows[-1]), flush=True)
        return rows[-1]

    print(
        "texts on slots           rounds/s  first ms   p50 ms   p95 ms   computing  "
        "refused"
    )
    with household(slots) as home:
        for count in texts:
            run(home, count, slots)
        run(home, min(16, max(texts)), slots, at_once=False)
        with ExitStack() as stack:
            before = home.memory()
            for _ in range(idle):
                stack.enter_context(socket.create_connection(home.address, 20))
            run(home, 1, slots)
            more = (home.memory() - before) / (1 << 20)
            print(
                f"      beside {idle} idle sockets: {home.descriptors()} files open, "
                f"{more:.0f} MiB more"
            )
    with household(few_slots) as home:
        few = run(home, few_slots, few_slots)
        many = run(home, 4 * few_slots, few_slots)
        print(
            f"      {many.texts} texts on {few_slots} slots take "
            f"{many.computing_ms / few.computing_ms:.2f} times the computing of "
            f"{few.texts} a round"
        )
    if json_file is not None:
        json_file.write_text(json.dumps([asdict(row) for row in rows], indent=1))
