"""TLS on the port that the server listens on, beside HTTP in the clear if that is
allowed: on loopback, for a proxy or the person's own programs.

The first byte of a connection tells which it is. `ConnectionTable` holds a connection
from its first moment on, also while hands are shaken: uvicorn and asyncio by themselves
would let anybody open as many as the system has files, and leave them at that.
"""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from types import FrameType
from typing import Any, Literal, cast

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from cloud_api import problems
from cloud_api.engine.thread import EngineThread
from cloud_api.errors import QuotaError
from cloud_api.service import Bookings, Service
from cloud_api.settings import ConnectionLimits
from cloud_api.stream import OpenStreams

FRAME_LIMIT = 64 << 10  # the most bytes of a frame; those of devices are much smaller
PING_SECONDS = 20.0
"""How often a device is asked whether it is still there, and for how long."""
REST_SECONDS = 75  # how long a connection may rest between two requests
_COME_BACK_SECONDS = 5.0
WAITING = 256  # how many connections the system holds until they are accepted
_ACCEPTED_AT_ONCE = 16
"""How many connections asyncio accepts before it reads from one of them: far fewer than
the table holds, so that whoever sends its request at once is heard even in a flood."""

CONNECTIONS = "connections"
ANSWERS = "answers"
PEER = "peer"
"""Keys of an ASGI scope's state; the first two are put there by the application."""
_ARRIVED = "arrived"

Stage = Literal["header", "body"]


class Peer:
    """One connection in the table. `close` must end it at once; its argument is the
    stage that took too long, or None if there is no room."""

    def __init__(self, address: str, close: Callable[[Stage | None], None]) -> None:
        self.network = network_of(address)
        self.close = close
        self.user = ""
        """Whose token a request has carried; empty for a stranger."""
        self.resting_since: float | None = None
        """When the connection began to wait for a further request; None during one."""
        self.stage: Stage | None = None
        """The part of a request that the server waits for."""
        self.deadline: float | None = None
        self.unread_deadline: float | None = None
        self.unread = 0
        """Bytes of answers that the client has not read, if they are many."""


class ConnectionTable:
    """All connections, the oldest first."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._peers: dict[Peer, None] = {}
        self._bookings = Bookings()

    def __len__(self) -> int:
        return len(self._peers)

    def enter(self, peer: Peer, now: float) -> None:
        """Add a connection; if there is no room, another one is closed."""
        self._peers[peer] = None
        self.expect(peer, "header", now)
        surplus = self._surplus(peer)
        if surplus is not None:
            self._close(surplus, None)

    def recognise(self, peer: Peer, user: str, now: float) -> None:
        """Note whose connection it is. If the user has too many, or all users together,
        one that rests between two requests is closed, of that user or of whoever has
        the most: clients open such a connection again by themselves.

        Raises:
            QuotaError: none rests. The user may come back at the time that the error
                names, and the oldest of them is then closed.
        """
        if peer.user or peer not in self._peers:
            return
        known = [one for one in self._peers if one.user]
        among = [one for one in known if one.user == user]
        if len(among) < self.limits.known_per_user:
            if len(known) < self.limits.known:
                peer.user = user
                return
            ((greedy, _),) = Counter(one.user for one in known).most_common(1)
            among = [one for one in known if one.user == greedy]
        resting = [one for one in among if one.resting_since is not None]
        leaving = min(resting, key=lambda one: one.resting_since or 0.0, default=None)
        if leaving is None and self._bookings.redeem(user, now):
            leaving = among[0]
        if leaving is None:
            raise QuotaError(
                "there are as many connections as this server takes",
                self._bookings.book(user, _COME_BACK_SECONDS, now),
            )
        self._close(leaving, None)
        peer.user = user

    def leave(self, peer: Peer) -> None:
        """Note that the connection has ended."""
        self._peers.pop(peer, None)

    def expect(self, peer: Peer, stage: Stage | None, now: float) -> None:
        """Note what a connection's client has to send next. A stage that goes on keeps
        its deadline, however many bytes have dripped in."""
        peer.resting_since = None
        if stage == peer.stage:
            return
        limits = self.limits
        seconds = {"header": limits.header_seconds, "body": limits.body_seconds}
        peer.stage, peer.deadline = stage, None
        if stage is not None:
            peer.deadline = now + seconds[stage]

    def rest(self, peer: Peer, now: float) -> None:
        """Note that the client has its answer and may send another request."""
        self.expect(peer, None, now)
        peer.resting_since = now

    def unread(self, peer: Peer, size: int, now: float) -> None:
        """Note that the client has left `size` bytes of its answer unread; 0: it reads
        again. If all connections of one user leave too much, the one that leaves the
        most is closed."""
        peer.unread, peer.unread_deadline = size, None
        if not size:
            return
        peer.unread_deadline = now + self.limits.unread_seconds
        theirs = [
            one
            for one in self._peers
            if one.unread
            and one.user == peer.user
            and (one.user or one.network == peer.network)
        ]
        if sum(one.unread for one in theirs) > self.limits.unread_bytes:
            self._close(max(theirs, key=lambda one: one.unread), None)

    def expire(self, now: float) -> None:
        """Close the connections whose deadlines are over; called several times a
        second."""
        for peer in list(self._peers):
            if peer.deadline is not None and peer.deadline <= now:
                self._close(peer, peer.stage)
            elif peer.unread_deadline is not None and peer.unread_deadline <= now:
                self._close(peer, None)

    def _close(self, peer: Peer, stage: Stage | None) -> None:
        del self._peers[peer]
        peer.close(stage)

    def _surplus(self, newcomer: Peer) -> Peer | None:
        """The connection that has to go for another that has come; None if there is
        room for all."""
        strangers = [one for one in self._peers if not one.user]
        neighbours = [one for one in strangers if one.network == newcomer.network]
        if len(neighbours) > self.limits.strangers_per_network:
            return neighbours[0]
        crowded = len(strangers) > self.limits.strangers
        if not crowded and len(self._peers) <= self.limits.connections:
            return None
        # The network with the most strangers makes room.
        fullest = Counter(one.network for one in strangers).most_common(1)[0][0]
        return next(one for one in strangers if one.network == fullest)


def network_of(address: str) -> str:
    """What counts as one place: an IPv4 address, or an IPv6 network of 64 bits, of
    which every machine can take as many addresses as it likes."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address) and not parsed.ipv4_mapped:
        return str(ipaddress.IPv6Network((parsed.packed, 64), strict=False))
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


def place_of(scope: Mapping[str, Any]) -> str:
    """The network that a request came from; empty if it is unknown."""
    client = scope.get("client")
    return network_of(client[0]) if client else ""


class _Watched(asyncio.Protocol):
    """Keeps the table informed of a connection of either kind."""

    _peer: Peer
    _table: ConnectionTable
    app_state: dict[str, Any]
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        super().connection_lost(exc)
        self._table.leave(self._peer)

    def pause_writing(self) -> None:
        """The client reads more slowly than it asks."""
        super().pause_writing()
        size = max(1, self.transport.get_write_buffer_size())
        self._table.unread(self._peer, size, self.loop.time())

    def resume_writing(self) -> None:
        """The client has read."""
        super().resume_writing()
        self._table.unread(self._peer, 0, self.loop.time())


class HttpConnection(_Watched, H11Protocol):
    """A connection over HTTP/1.1, until it becomes a WebSocket."""

    def connection_made(  # type: ignore[override]  # as uvicorn has it
        self, transport: asyncio.Transport
    ) -> None:
        """Enter the connection into the table."""
        arrived: FirstByte | None = self.app_state.pop(_ARRIVED, None)
        if arrived is not None:
            arrived.leave()
        super().connection_made(transport)
        self._peer = Peer(self.client[0] if self.client else "", self._hang_up)
        self._table = self.app_state[CONNECTIONS]
        self.app_state = {**self.app_state, PEER: self._peer}
        self._table.enter(self._peer, self.loop.time())

    def data_received(self, data: bytes) -> None:
        """Read bytes of a request."""
        if not self.transport.is_closing():
            super().data_received(data)
            self._note_stage()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Become a `StreamConnection`, which is given the whole request at once. One
        that it could not even parse is answered, where uvicorn would leave it."""
        super().handle_websocket_upgrade(event)
        stream = self.transport.get_protocol()
        if not isinstance(stream, StreamConnection):
            return
        if stream.conn.handshake_exc is not None and not stream.handshake_initiated:
            self.transport.write(raw_answer(problems.of_status(400)))
            self.transport.close()

    def on_response_complete(self) -> None:
        """Go on with the next request, which may be here already."""
        super().on_response_complete()
        self._note_stage()

    def _note_stage(self) -> None:
        """Note in the table what the client has to send."""
        if self.transport.get_protocol() is not self:
            return  # it is a WebSocket now
        now, state = self.loop.time(), self.conn.their_state
        if state is h11.SEND_BODY:
            self._table.expect(self._peer, "body", now)
        elif state is not h11.IDLE:
            self._table.expect(self._peer, None, now)
        elif self.cycle is None or self.conn.trailing_data[0]:
            self._table.expect(self._peer, "header", now)
        else:
            self._table.rest(self._peer, now)

    def _hang_up(self, stage: Stage | None) -> None:
        """Hang up, with the reason for a client whose request has begun, or that found
        no room."""
        heard = self.cycle or bool(self.conn.trailing_data[0])
        answered = self.cycle and self.cycle.response_started
        if stage is None and not heard:
            self.transport.write(raw_answer(problems.NO_ROOM))
        elif stage is not None and heard and not answered:
            self.transport.write(raw_answer(problems.TOO_SLOW))
        self.transport.abort()


class StreamConnection(_Watched, WebSocketsSansIOProtocol):
    """The WebSocket that an HTTP connection becomes. Until the application has accepted
    it, the time for the header runs on. Then the client sends when it likes: a stream
    ends with its session, and uvicorn's own pings find out clients that are gone."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._peer, self._table = self.app_state[PEER], self.app_state[CONNECTIONS]
        self._peer.close = lambda _: self.transport.abort()

    def start_keepalive(self) -> None:
        """The application has accepted the stream."""
        super().start_keepalive()
        self._table.expect(self._peer, None, self.loop.time())

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        """The application is done with the stream, or has denied it."""
        super().on_task_complete(task)
        if self.initial_response is not None:
            self.app_state[ANSWERS][self.initial_response[0]] += 1


def raw_answer(problem: problems.Problem) -> bytes:
    """An answer outside of the application, before the server hangs up."""
    response = problem.response()
    lines = [f"HTTP/1.1 {problem.status} {problem.title}".encode()]
    headers = [*response.raw_headers, (b"connection", b"close")]
    lines += [name + b": " + value for name, value in headers]
    return b"\r\n".join([*lines, b"", bytes(response.body)])


class VerifierServer(uvicorn.Server):
    """uvicorn with the table of connections. Before it ends, it finishes the blocks
    that it verifies and says so to the devices. Nothing about requests is logged,
    frames keep their sizes, nothing is endless."""

    def __init__(
        self,
        app: FastAPI,
        on_listening: Callable[[], None],
        http: type[asyncio.Protocol] = HttpConnection,
    ) -> None:
        """Serve `app`; each connection is an `http`."""
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http=http,
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
        super().__init__(config)
        self._service: Service = app.state.service
        self._streams: OpenStreams = app.state.streams
        self._engine: EngineThread = app.state.engine
        self._table: ConnectionTable = app.state.connections
        self._on_listening = on_listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and call `on_listening`."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(WAITING)  # uvicorn has one number for both
        self._on_listening()

    async def on_tick(self, counter: int) -> bool:
        """Close the connections whose time is over, and end if the engine has failed;
        uvicorn calls this ten times a second."""
        self._table.expire(asyncio.get_running_loop().time())
        self.should_exit |= self._engine.failure is not None
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, finish the rounds, say goodbye to the devices, hang up."""
        for server in self.servers:
            server.close()
        if not self.force_exit:
            await self._service.drain(
                self._service.settings.stop_seconds, self._streams.tasks
            )
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002
        """The first signal stops gracefully, the second at once."""
        if self.should_exit:
            # The loop may be waiting for rounds; the default action ends it now.
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
        self.should_exit = True


_HANDSHAKE = 0x16  # the first byte of a TLS connection: a record with a handshake


class FirstByte(asyncio.Protocol):
    """A connection until its first byte has come, and, if that begins TLS, until hands
    are shaken; then `HttpConnection` takes its place. Made by uvicorn for each
    connection: see `first_byte`."""

    _peer: Peer
    _transport: asyncio.Transport

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
        state = {**app_state, _ARRIVED: self}
        self._http = partial(HttpConnection, config, server_state, state, _loop)
        self._context = context
        self._plain = plain
        self._loop = _loop or asyncio.get_running_loop()
        self._waiting: set[Any] = server_state.connections
        self._table: ConnectionTable = app_state[CONNECTIONS]

    def connection_made(  # type: ignore[override]  # asyncio says: any transport
        self, transport: asyncio.Transport
    ) -> None:
        """Enter the connection into the table."""
        self._transport = transport
        peer = transport.get_extra_info("peername")
        address = peer[0] if isinstance(peer, tuple) else ""
        self._peer = Peer(address, lambda _: transport.abort())
        self._waiting.add(self)
        self._table.enter(self._peer, self._loop.time())

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """The client has gone before it said anything."""
        self.leave()

    def data_received(self, data: bytes) -> None:
        """Hand the connection over to TLS or to HTTP."""
        transport = self._transport
        if transport.is_closing():
            return
        if data[0] == _HANDSHAKE:
            tls = _Handshake(self, self._loop, self._http(), self._context)
            transport.set_protocol(tls)
            tls.connection_made(transport)
            tls.read_first(data)
        elif self._plain:
            plain = self._http()
            transport.set_protocol(plain)
            plain.connection_made(transport)
            plain.data_received(data)
        else:
            transport.write(raw_answer(problems.NO_TLS))
            transport.close()

    def leave(self) -> None:
        """Leave the table: another protocol has the connection, or nobody."""
        self._waiting.discard(self)
        self._table.leave(self._peer)

    def shutdown(self) -> None:
        """Hang up, as the server ends; uvicorn calls this."""
        self._transport.abort()


class _Handshake(SSLProtocol):
    """asyncio's TLS over a connection that has begun. It leaves the table if hands are
    never shaken."""

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
    """What uvicorn makes of each connection: `FirstByte` with these settings; HTTP in
    the clear is answered if `plain`, else refused with a hint at TLS."""
    made = partial(FirstByte, context=context, plain=plain)
    return cast("type[asyncio.Protocol]", made)
