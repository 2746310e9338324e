"""A household's server in a process of its own, for several users."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.speed.rig.serving import child_process, serve_until_stdin_ends
from decoding_core.errors import CloudBusyError, CloudUnreachableError
from edge_app.transport.client import Connection

_POLL_SECONDS = 0.02


def token_of(user: str) -> str:
    """The token of a user's device."""
    return f"token-of-{user}"


def serve() -> None:
    """Run the server that the first line of standard input describes, until that ends.
    Says its address in one line of JSON."""
    from cloud_api.auth import Caller, Scope
    from cloud_api.engine.loading import load_models
    from cloud_api.engine.models import ModelOptions
    from cloud_api.run import create_app, listen, room_for_connections
    from cloud_api.settings import DoorLimits, ServerSettings
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
    room = room_for_connections(DoorLimits().connections)
    settings = ServerSettings(door=DoorLimits(room))
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
