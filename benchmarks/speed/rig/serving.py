"""The pair of a measurement, and the server that runs its large half in a process.

Both processes build their engines from one `PairOrder`. The server is that of
`specsteer-cloud`, uvicorn, door, sessions, scheduler and all; only what it loads is
chosen here.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any, Literal

from base import python_child
from benchmarks.speed.rig.engines import Pace, PacedBatch, TracedBatch
from benchmarks.speed.rig.trace import Role, Trace, TraceLogits
from cloud_api.engine.loading import load_models
from cloud_api.engine.models import ModelOptions, Models
from decoding_core.errors import CloudBusyError, CloudUnreachableError
from decoding_core.protocols import BatchEngine
from edge_app.transport.client import Connection
from models.running.settings import EngineSettings

if TYPE_CHECKING:
    from fastapi import FastAPI

Kind = Literal["embedded", "random", "paced"]

_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Paces:
    """The times of a pair that waits."""

    specialist: Pace
    generalist: Pace
    base: Pace


@dataclass(frozen=True, slots=True)
class PairOrder:
    """Which engines to build, on the device and on the server."""

    kind: Kind
    specialist: str = ""
    """A file, of the base too; empty where the pair is paced."""
    generalist: str = ""
    threads: int = 1
    """Of the specialist."""
    server_threads: int = 1
    """Of each model of the server."""
    context: int = 4096
    """Tokens a text."""
    vocabulary_size: int = 0
    private_length: int = 0
    """Tokens of the specialist's prompt, where a trace takes the place of logits."""
    public_length: int = 0
    trace: Trace | None = None
    """None: the logits are the models' own."""
    paces: Paces | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """The models' files."""
        return tuple(file for file in (self.specialist, self.generalist) if file)

    def device(self) -> BatchEngine:
        """The specialist."""
        if self.paces is not None:
            return self._paced("specialist", self.paces.specialist)
        from models.running.loading import load_model

        model = load_model(Path(self.specialist), EngineSettings(threads=self.threads))
        context = model.open(1, self.context, owns_model=True)
        return self._traced("specialist", context)

    def server(self, slots: int = 1) -> Models:
        """Generalist and base."""
        if self.paces is not None:
            return Models(
                self._paced("generalist", self.paces.generalist, slots),
                self._paced("base", self.paces.base, slots),
            )
        loaded = load_models(
            ModelOptions(
                Path(self.generalist),
                Path(self.specialist),
                slots,
                self.context,
                EngineSettings(threads=self.server_threads),
            )
        )
        if self.trace is None:
            return loaded
        opened = loaded.opened()
        assert opened.base is not None
        return Models(
            self._traced("generalist", opened.generalist),
            self._traced("base", opened.base),
            loaded.at_once,
        )

    def to_json(self) -> str:
        """All of it in one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> PairOrder:
        """The order that `to_json` gave."""
        body: dict[str, Any] = json.loads(line)
        if body["trace"]:
            body["trace"] = Trace(**body["trace"])
        if body["paces"]:
            paces = {role: Pace(**pace) for role, pace in body["paces"].items()}
            body["paces"] = Paces(**paces)
        return cls(**body)

    def _logits(self, role: Role) -> TraceLogits:
        assert self.trace is not None
        private = role == "specialist"
        length = self.private_length if private else self.public_length
        return TraceLogits(self.trace, role, length, self.vocabulary_size)

    def _traced(self, role: Role, engine: BatchEngine) -> BatchEngine:
        if self.trace is None:
            return engine
        return TracedBatch(engine, self._logits(role))

    def _paced(self, role: Role, pace: Pace, slots: int = 1) -> PacedBatch:
        logits, size = self._logits(role), self.vocabulary_size
        return PacedBatch(role, pace, logits, size, slots, self.context)


def serve() -> None:
    """Run the server of the order that stands, with its token, in the first line of
    standard input, until that ends. Says its address in one line of JSON."""
    # FastAPI costs half a second that the device's process does not pay.
    from cloud_api.auth import OneToken
    from cloud_api.run import create_app, listen
    from cloud_api.settings import ServerSettings

    token, line = sys.stdin.readline().rstrip("\n").split(" ", 1)
    order, listener = PairOrder.from_json(line), listen("127.0.0.1", 0)
    app = create_app(ServerSettings(), partial(order.server, 4), OneToken(token))
    serve_until_stdin_ends(app, listener)


def serve_until_stdin_ends(app: FastAPI, listener: socket) -> None:
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

    threading.Thread(target=end_with_stdin, daemon=True).start()
    server.run(sockets=[listener])
    if app.state.engine.failure:
        sys.exit(app.state.engine.failure)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens, and the word that it wants to hear."""

    url: str
    token: str

    @property
    def port(self) -> int:
        """Of loopback."""
        return int(self.url.rsplit(":", 1)[1])

    def through(self, port: int) -> Address:
        """The same server behind a relay on another port."""
        return Address(f"http://127.0.0.1:{port}", self.token)


@contextmanager
def serving(order: PairOrder) -> Iterator[Address]:
    """A server process with the large half of a pair, ready to verify.

    Raises:
        CloudUnreachableError: it ended before it was ready.
    """
    token = secrets.token_urlsafe(24)
    entry = f"{__name__}:serve"
    with child_process(entry, f"{token} {order.to_json()}") as (child, line):
        address = Address(json.loads(line)["url"], token)
        connection = Connection(address.url, token, lambda _: None)
        while True:
            if child.poll() is not None:
                raise CloudUnreachableError("the server of the measurement ended")
            try:
                connection.request("ready", "GET", "/readyz")
                break
            except (CloudBusyError, CloudUnreachableError):
                time.sleep(_POLL_SECONDS)
        connection.close()
        yield address


@contextmanager
def child_process(
    entry: str, first_line: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process of ours that is told a line, says one, and ends with its standard
    input; the process and its line.

    Raises:
        CloudUnreachableError: it ended without a word.
    """
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
