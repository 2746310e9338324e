"""Running the server in this process until it is told to stop."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cloud_api import logs
from cloud_api.app import create_app
from cloud_api.door import DoorLimits
from cloud_api.engine.llama import LlamaOptions, load_models
from cloud_api.errors import ServerError
from cloud_api.server import (
    VerifierServer,
    address_of,
    is_loopback,
    listen,
    room_for_connections,
)
from cloud_api.settings import ServerSettings
from models.owner_only import may_be_swapped, write_whole

_HARD_STOP_SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class Doorway:
    """Where to listen, whom to tell, and when to leave."""

    host: str
    port: int
    allow_remote: bool
    announce: Path | None
    token_origin: str
    """How a person finds the token, for the screen; never the token."""
    exit_with_stdin: bool


def serve(options: LlamaOptions, token: str, doorway: Doorway) -> bool:
    """Serve until stopped; whether the engine thread has ended too.

    Raises:
        ServerError: the address cannot be had, or the models cannot be loaded.
    """
    check_host(doorway.host, doorway.allow_remote)
    check_announce(doorway.announce)
    listener = listen(doorway.host, doorway.port)
    logs.configure()
    connections = room_for_connections(DoorLimits().connections)
    settings = ServerSettings(token, door=DoorLimits(connections))
    app = create_app(settings, partial(load_models, options))
    server = VerifierServer(app, lambda: _say(address_of(listener), doorway))
    if doorway.exit_with_stdin:
        _watch_stdin(partial(_stop, server))
    server.run(sockets=[listener])
    failure = app.state.scheduler.failure
    if failure is not None:
        raise ServerError(failure)
    return bool(app.state.scheduler.close(0.0))


def check_host(host: str, allow_remote: bool) -> None:
    """Raise ServerError for an address that others reach, unless that is wanted."""
    if not allow_remote and not is_loopback(host):
        raise ServerError(
            f"{host} can be reached by other machines, and this server speaks no TLS; "
            "put a proxy that does (Caddy, tailscale serve) before 127.0.0.1, or add "
            "--allow-remote if the network itself is trusted"
        )


def check_announce(path: Path | None) -> None:
    """Raise ServerError where the address could not be written to `path`."""
    if path is not None and not os.access(path.parent, os.W_OK):
        raise ServerError(f"{path} cannot be written; choose another file to announce")
    if path is not None and may_be_swapped(path.parent):
        raise ServerError(
            f"other users can put another file in the place of {path}, and so have "
            "tokens sent to them; announce in a folder of your own"
        )


def _say(url: str, doorway: Doorway) -> None:
    """One line of JSON for programs, one sentence for people."""
    line = json.dumps({"url": url}) + "\n"
    sys.stdout.write(line)
    sys.stdout.flush()
    if doorway.announce is not None:
        write_whole(doorway.announce, line.encode())
    sys.stderr.write(f"listening on {url} · {doorway.token_origin}\n")
    sys.stderr.flush()


def _stop(server: VerifierServer) -> None:
    server.should_exit = True
    time.sleep(_HARD_STOP_SECONDS)
    os._exit(1)


def _watch_stdin(ended: Callable[[], None]) -> None:
    """Call `ended` in a thread when standard input ends."""

    def watch() -> None:
        try:
            while os.read(0, 4096):
                pass
        except OSError:
            pass
        ended()

    threading.Thread(target=watch, name="stdin", daemon=True).start()
