"""uvicorn with the settings of this service, and a stop that tells the devices."""

from __future__ import annotations

import errno
import ipaddress
import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from cloud_api.errors import ServerError
from cloud_api.scheduler import Scheduler
from cloud_api.sessions.service import Service

FRAME_LIMIT = 64 << 10
"""No frame of a device is nearly so large."""


def configuration(app: FastAPI) -> uvicorn.Config:
    """Nothing about requests is logged; frames keep their sizes; nothing is endless."""
    return uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="websockets-sansio",
        ws_max_size=FRAME_LIMIT,
        ws_per_message_deflate=False,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=16 << 10,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=1,
    )


class VerifierServer(uvicorn.Server):
    """A server that finishes what it judges and says goodbye before it ends."""

    def __init__(self, app: FastAPI, on_listening: Callable[[], None]) -> None:
        super().__init__(configuration(app))
        self._service: Service = app.state.service
        self._scheduler: Scheduler = app.state.scheduler
        self._on_listening = on_listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        self._on_listening()

    async def on_tick(self, counter: int) -> bool:
        """End also when the models could not be loaded."""
        failed = self._scheduler.failure is not None
        return await super().on_tick(counter) or failed

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, finish the rounds, tell the devices, hang up."""
        for server in self.servers:
            server.close()
        if not self.force_exit:
            await self._service.drain(self._service.settings.stop_seconds)
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """The first signal stops gracefully, the second at once."""
        if self.should_exit:
            # The loop may be waiting for rounds; the default action ends it now.
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
        self.should_exit = True


def listen(host: str, port: int) -> socket.socket:
    """A listening socket.

    Raises:
        ServerError: the address cannot be had.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        raise ServerError(_why_not(host, port, error)) from error


def address_of(listener: socket.socket) -> str:
    """The URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound to `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _why_not(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} on {host} is in use; choose another with --port"
    if error.errno == errno.EACCES:
        return f"this user may not listen on port {port}; choose one above 1023"
    return f"cannot listen on {host}: {error.strerror or 'no such address'}"
