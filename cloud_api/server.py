"""uvicorn with the settings of this service, and a stop that tells the devices."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

import uvicorn
from fastapi import FastAPI

from cloud_api.door import Door
from cloud_api.engine.thread import EngineThread
from cloud_api.errors import ServerError
from cloud_api.http.connections import HttpConnection, StreamConnection
from cloud_api.sessions.service import Service

FRAME_LIMIT = 64 << 10
"""No frame of a device is nearly so large."""
PING_SECONDS = 20.0
"""How often a device is asked whether it is still there, and for how long."""
REST_SECONDS = 75
"""How long a connection may rest between two requests."""
_WAITING = 256
"""Connections that the system holds until they are accepted."""
_ACCEPTED_AT_ONCE = 16
"""asyncio accepts so many before it reads from one of them: far fewer than the door
lets in, so that whoever sends its request at once is heard even in a flood."""
_OTHER_FILES = 64
"""Descriptors for what is no connection, or one that is about to be closed."""


def configuration(app: FastAPI) -> uvicorn.Config:
    """Nothing about requests is logged; frames keep their sizes; nothing is endless."""
    return uvicorn.Config(
        app,
        loop="asyncio",
        http=HttpConnection,
        ws=StreamConnection,
        ws_max_size=FRAME_LIMIT,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        ws_per_message_deflate=False,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=16 << 10,
        backlog=_ACCEPTED_AT_ONCE,
        timeout_keep_alive=REST_SECONDS,
        timeout_graceful_shutdown=1,
    )


class VerifierServer(uvicorn.Server):
    """A server that finishes what it judges and says goodbye before it ends."""

    def __init__(self, app: FastAPI, on_listening: Callable[[], None]) -> None:
        super().__init__(configuration(app))
        self._service: Service = app.state.service
        self._scheduler: EngineThread = app.state.scheduler
        self._door: Door = app.state.door
        self._on_listening = on_listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(_WAITING)  # uvicorn has one number for both
        self._on_listening()

    async def on_tick(self, counter: int) -> bool:
        """Hang up on who is too slow; end also when the models could not be loaded."""
        self._door.expire(asyncio.get_running_loop().time())
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
    # asyncio sends small answers without delay (TCP_NODELAY) only where the socket says
    # that it is TCP; one of socket.create_server leaves that open, and each request
    # then waits 40 ms for the client's acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((host, port))
        listener.listen(_WAITING)
    except OSError as error:
        listener.close()
        raise ServerError(_why_not(host, port, error)) from error
    return listener


def room_for_connections(wanted: int) -> int:
    """How many connections this process has file descriptors for, up to `wanted`; the
    limit of the process is raised for them as far as it may be."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
        soft = allowed
    return max(1, soft - _OTHER_FILES)


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
