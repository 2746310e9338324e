"""TLS on the port that the server listens on, beside HTTP in the clear where that may
be: on loopback, where a proxy or the person's own programs ask so.

The first byte of a connection tells which it is. The door knows a connection from its
first moment on, also while hands are shaken: uvicorn and asyncio by themselves would
let anybody open as many as the system has files, and leave them at that.
"""

from __future__ import annotations

import asyncio
import ssl
from asyncio.sslproto import SSLProtocol
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from cloud_api.connections import DOOR, Door, HttpConnection, Visit, raw_answer
from cloud_api.http import problems

_HANDSHAKE = 0x16
"""The first byte of a TLS connection: a record with a handshake."""


class FirstByte(asyncio.Protocol):
    """A connection until its first byte has come, and, where that begins TLS, until
    hands are shaken; then `HttpConnection` takes its place. Made by uvicorn for each
    connection: see `first_byte`."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        context: ssl.SSLContext,
        plain: bool,
    ) -> None:
        self._arguments = config, server_state, app_state, _loop
        self._context = context
        self._plain = plain
        self._loop = _loop or asyncio.get_running_loop()
        self._waiting: set[Any] = server_state.connections
        self._door: Door = app_state[DOOR]
        self._visit = Visit("", lambda _: None)
        self._transport: asyncio.Transport | None = None

    def connection_made(  # type: ignore[override]  # asyncio says: any transport
        self, transport: asyncio.Transport
    ) -> None:
        """Enter the connection at the door."""
        self._transport = transport
        peer = transport.get_extra_info("peername")
        address = peer[0] if isinstance(peer, tuple) else ""
        self._visit = Visit(address, lambda _: transport.abort())
        self._waiting.add(self)
        self._door.enter(self._visit, self._loop.time())

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """The client has gone before it said anything."""
        self.leave()

    def data_received(self, data: bytes) -> None:
        """Hand the connection over to TLS or to HTTP."""
        transport = self._transport
        assert transport is not None
        if transport.is_closing():
            return
        if data[0] == _HANDSHAKE:
            http = _HttpOverTls(self, *self._arguments)
            tls = _Handshake(self, self._loop, http, self._context)
            transport.set_protocol(tls)
            tls.connection_made(transport)
            tls.read_first(data)
        elif self._plain:
            self.leave()
            plain = HttpConnection(*self._arguments)
            transport.set_protocol(plain)
            plain.connection_made(transport)
            plain.data_received(data)
        else:
            transport.write(raw_answer(problems.no_tls()))
            transport.close()

    def leave(self) -> None:
        """Be no more: another protocol has the connection, or nobody."""
        self._waiting.discard(self)
        self._door.leave(self._visit)

    def shutdown(self) -> None:
        """Hang up, as the server ends; uvicorn calls this."""
        if self._transport is not None:
            self._transport.abort()


class _HttpOverTls(HttpConnection):
    """HTTP, once hands are shaken. It enters the door for itself."""

    def __init__(self, arrived: FirstByte, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._arrived = arrived

    def connection_made(  # type: ignore[override]  # as uvicorn has it
        self, transport: asyncio.Transport
    ) -> None:
        """Take the place of the connection that waited."""
        self._arrived.leave()
        super().connection_made(transport)


class _Handshake(SSLProtocol):
    """asyncio's TLS over a connection that has begun. It leaves the door where hands
    are never shaken."""

    def __init__(
        self,
        arrived: FirstByte,
        loop: asyncio.AbstractEventLoop,
        http: HttpConnection,
        context: ssl.SSLContext,
    ) -> None:
        super().__init__(loop, http, context, None, server_side=True)  # type: ignore[arg-type]  # typeshed: a loop with Windows' pipes, and one who waits
        self._arrived = arrived

    def read_first(self, data: bytes) -> None:
        """Read bytes that came before this protocol had the connection."""
        while data:
            buffer = self.get_buffer(len(data))
            count = min(len(buffer), len(data))
            buffer[:count] = data[:count]
            self.buffer_updated(count)
            data = data[count:]

    def connection_lost(self, exc: BaseException | None) -> None:
        """The client has gone, before or after hands were shaken."""
        self._arrived.leave()
        super().connection_lost(exc)


def first_byte(context: ssl.SSLContext, *, plain: bool) -> type[asyncio.Protocol]:
    """What uvicorn is to make of each connection: `FirstByte` with these settings; HTTP
    in the clear is answered where `plain`, else told to come with TLS."""

    class Arrival(FirstByte):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options, context=context, plain=plain)

    return Arrival
