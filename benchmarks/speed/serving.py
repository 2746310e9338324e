"""The pair of a measurement, the server that runs its large half in a process, and a
relay on loopback that puts a round trip between device and server.

Linux completes a connection before a program can hold it up. What a real handshake
would have cost is put where it is felt: the first bytes of the device count as sent no
sooner than a whole round trip after its connect.
"""

from __future__ import annotations

import json
import os
import pickle
import queue
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from base import python_child
from benchmarks.speed.traced import Pace, PacedBatch, Role, Trace, TraceLogits
from cloud_api.engine.models import ModelOptions, Models
from cloud_api.engine.thread import load_models
from decoding_core.errors import CloudUnreachableError
from models.files import locate
from models.running.settings import EngineSettings

if TYPE_CHECKING:
    from fastapi import FastAPI

_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Paced:
    """A pair that waits, and whose trace takes the place of logits."""

    trace: Trace
    paces: Mapping[Role, Pace]
    context: int  # tokens a text
    private_length: int  # tokens of the specialist's prompt
    public_length: int
    vocabulary_size: int = 151_936
    files: tuple[Path, ...] = ()

    def device(self) -> Any:
        """The specialist."""
        return self._model("specialist", self.private_length)

    def server(self, slots: int = 1) -> Models:
        """Generalist and base."""
        length = self.public_length
        return Models(
            self._model("generalist", length, slots),
            self._model("base", length, slots),
        )

    def _model(self, role: Role, length: int, slots: int = 1) -> PacedBatch:
        size = self.vocabulary_size
        logits = TraceLogits(self.trace, role, length, size)
        return PacedBatch(role, self.paces[role], logits, size, slots, self.context)


@dataclass(frozen=True, slots=True)
class Embedded:
    """The embedded pair, or its specialist with another generalist; each model on one
    thread."""

    context: int  # tokens a text
    trace: Trace | None = None
    generalist: Path | None = None  # of another vocabulary

    @property
    def files(self) -> tuple[Path, ...]:
        """The models' files: the specialist's, which is the base's too, and the
        generalist's."""
        return locate("specialist"), self.generalist or locate("generalist")

    def device(self) -> Any:
        """The specialist."""
        from models.running.loading import load_model

        model = load_model(self.files[0], _ENGINE)
        return model.open(1, self.context, owns_model=True)

    def server(self, slots: int = 1) -> Models:
        """Generalist and base."""
        small, large = self.files
        return load_models(ModelOptions(large, small, slots, self.context, _ENGINE))


_ENGINE = EngineSettings(threads=1)
Engines = Paced | Embedded  # which engines to build, on the device and on the server


TOKEN = "token-of-"  # what the token of a user's device begins with


def serve() -> None:
    """Run the server whose pickled `Engines`, slots and idle time stand in the first
    line of standard input, until that ends. Says its address in one line of JSON."""
    # FastAPI costs half a second that the device's process does not pay.
    from cloud_api.auth import Caller, Scope
    from cloud_api.run import create_app, listen, room_for_connections
    from cloud_api.settings import ConnectionLimits, ServerSettings

    class AnyUser:
        """Takes the token of any user for theirs."""

        def caller(self, token: str) -> Caller | None:
            """The user whose token it is."""
            user = token.removeprefix(TOKEN)
            return Caller(user, f"{user}'s device", frozenset(Scope))

        def refuse(self, token: str, place: str) -> float:  # noqa: ARG002
            """No token is wrong."""
            return 0.0

    packed, slots, idle = sys.stdin.readline().split()
    engines: Engines = pickle.loads(bytes.fromhex(packed))
    room = room_for_connections(ConnectionLimits().connections)
    settings = ServerSettings(
        idle_seconds=float(idle), connections=ConnectionLimits(room)
    )
    app = create_app(settings, partial(engines.server, int(slots)), AnyUser())
    serve_until_stdin_ends(app, listen("127.0.0.1", 0))


def serve_until_stdin_ends(app: FastAPI, listener: socket.socket) -> None:
    """Serve, and say the address in one line of JSON; a failure of the engine ends the
    process with it."""
    from cloud_api.connections import VerifierServer
    from cloud_api.run import address_of

    def announce() -> None:
        print(json.dumps({"url": address_of(listener)}), flush=True)

    server = VerifierServer(app, announce)

    def end_with_stdin() -> None:
        sys.stdin.read()
        server.should_exit = True

    _start(end_with_stdin)
    server.run(sockets=[listener])
    if app.state.engine.failure:
        sys.exit(app.state.engine.failure)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens, and for which user it is asked."""

    url: str
    process: subprocess.Popen[str]
    user: str = "owner"

    @property
    def token(self) -> str:
        """What shows who the user is."""
        return TOKEN + self.user

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

    def threads(self) -> int:
        """Threads that the process has."""
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))

    def metrics(self) -> dict[str, float]:
        """What the server counts, by name and labels."""
        lines = self.ask("/metrics").raise_for_status().text.splitlines()
        counts = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name: float(count) for name, _, count in counts}

    def ask(self, path: str) -> httpx.Response:
        """What the server says at a path."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.get(self.url + path, headers=headers, timeout=60)

    def _proc(self, name: str) -> str:
        return Path(f"/proc/{self.process.pid}/{name}").read_text()


@contextmanager
def serving(engines: Engines, slots: int = 4, idle: float = 600.0) -> Iterator[Address]:
    """A server process with the large half of a pair, ready to verify, that forgets a
    text after `idle` seconds. Raises CloudUnreachableError if it ended before it was
    ready."""
    order = f"{pickle.dumps(engines).hex()} {slots} {idle}"
    with child_process(f"{__name__}:serve", order) as (child, line):
        address = Address(json.loads(line)["url"], child)
        while address.ask("/readyz").is_error:
            if child.poll() is not None:
                raise CloudUnreachableError("the server of the measurement ended")
            time.sleep(_POLL_SECONDS)
        yield address


@contextmanager
def child_process(
    entry: str, first_line: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process of ours that reads a line, prints one, and ends with its standard
    input; the process and its line. Raises CloudUnreachableError if it ended without a
    word."""
    child = python_child.start(
        entry,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,  # Ctrl-C is for us; the child ends with its pipe
    )
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdin.write(first_line + "\n")
        child.stdin.flush()
        line = child.stdout.readline()
        if not line:
            raise CloudUnreachableError(f"{entry} did not start")
        yield child, line
    finally:
        child.stdin.close()
        try:
            child.wait(10.0)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        child.stdout.close()


_SIZE = 1 << 16


class Delayed:
    """Bytes on their way in one direction; b"" is the end of them."""

    def __init__(
        self,
        delay: float,
        not_sent_before: float,
        clock: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Each takes `delay` seconds from when it was put in, or from
        `not_sent_before` if that is later."""
        self._delay = delay
        self._not_sent_before = not_sent_before
        self._clock = clock
        self._sleep = sleep
        self._on_the_way: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

    def put(self, data: bytes) -> None:
        """Send bytes, or b"" as the last."""
        sent = max(self._clock(), self._not_sent_before)
        self._on_the_way.put((sent + self._delay, data))

    def arriving(self) -> Iterator[bytes]:
        """Each when its time has come, until the end."""
        while True:
            due, data = self._on_the_way.get()
            left = due - self._clock()
            if left > 0.0:
                self._sleep(left)
            if not data:
                return
            yield data


class Relay:
    """Listens on a free port and passes on to another, with a round trip between."""

    def __init__(self, port: int, round_trip: float) -> None:
        """`round_trip` in seconds."""
        self._target = port
        self._trip = round_trip
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        _start(self._accept)

    def close(self) -> None:
        """Take no more connections; those that are there go on."""
        _shut(self._listener, socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                near, _ = self._listener.accept()
                _start(self._connect, near, time.perf_counter())

    def _connect(self, near: socket.socket, accepted: float) -> None:
        half = self._trip / 2.0
        up = Delayed(half, accepted + self._trip)
        down = Delayed(half, 0.0)
        _start(_read, near, up)
        time.sleep(max(0.0, accepted + half - time.perf_counter()))
        try:
            far = socket.create_connection(("127.0.0.1", self._target))
        except OSError:
            _shut(near, socket.SHUT_RDWR)  # a thread reads it: closing would wait
            near.close()
            return
        for one in (near, far):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        passing = [
            _start(_read, far, down),
            _start(_write, up, far),
            _start(_write, down, near),
        ]
        for thread in passing:
            thread.join()
        near.close()
        far.close()


def _start(target: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


def _read(source: socket.socket, way: Delayed) -> None:
    data = b"more"
    while data:
        try:
            data = source.recv(_SIZE)
        except OSError:  # reset: the other side hears that it ended
            data = b""
        way.put(data)


def _write(way: Delayed, target: socket.socket) -> None:
    with suppress(OSError):  # it hung up: what is still on its way is lost, as it is
        for data in way.arriving():
            target.sendall(data)
    _shut(target, socket.SHUT_WR)


def _shut(one: socket.socket, how: int) -> None:
    with suppress(OSError):  # not connected any more
        one.shutdown(how)


def relay() -> None:
    """Relay to the port, with the round trip in seconds, that the first line of
    standard input names, until that ends. Says its own port in one line."""
    port, trip = json.loads(sys.stdin.readline())
    print(Relay(port, trip).port, flush=True)
    sys.stdin.read()


@contextmanager
def relayed(address: Address, round_trip: float) -> Iterator[Address]:
    """A server as it is found a round trip away; without one, as it is."""
    if not round_trip:
        yield address
        return
    host, _, port = address.url.rpartition(":")
    order = json.dumps([int(port), round_trip])
    with child_process(f"{__name__}:relay", order) as (_, line):
        yield replace(address, url=f"{host}:{line.strip()}")
