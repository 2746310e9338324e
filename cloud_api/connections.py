"""TLS on the port that the server listens on, beside HTTP in the clear where that may
be: on loopback, where a proxy or the person's own programs ask so.

The first byte of a connection tells which it is. The door knows a connection from its
first moment on, also while hands are shaken: uvicorn and asyncio by themselves would
let anybody open as many as the system has files, and leave them at that.
"""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any, Literal

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from cloud_api import problems
from cloud_api.engine.scheduler import EngineThread
from cloud_api.errors import QuotaError
from cloud_api.service import Service
from cloud_api.session import Bookings
from cloud_api.settings import DoorLimits
from cloud_api.stream import OpenStreams

FRAME_LIMIT = 64 << 10
"""No frame of a device is nearly so large."""
PING_SECONDS = 20.0
"""How often a device is asked whether it is still there, and for how long."""
REST_SECONDS = 75
"""How long a connection may rest between two requests."""
_COME_BACK_SECONDS = 5.0
WAITING = 256
"""Connections that the system holds until they are accepted."""
_TICK_SECONDS = 0.1
"""How late the door may be to close a connection."""
_ACCEPTED_AT_ONCE = 16
"""asyncio accepts so many before it reads from one of them: far fewer than the door
lets in, so that whoever sends its request at once is heard even in a flood."""

DOOR = "door"
ANSWERS = "answers"
VISIT = "visit"
"""Keys of an ASGI scope's state; the first two are put there by the application."""

Stage = Literal["header", "body"]


class Visit:
    """One connection, as the door sees it. `leave` must close it at once; why is a
    stage that took too long, or None when there is no room."""

    def __init__(self, address: str, leave: Callable[[Stage | None], None]) -> None:
        self.network = network_of(address)
        self.leave = leave
        self.user = ""
        """Whose token a request has carried; empty for a stranger."""
        self.resting_since: float | None = None
        """Since when the connection waits for a further request; None while it has
        one."""
        self.stage: Stage | None = None
        """What the server waits for."""
        self.deadline: float | None = None
        self.unread_deadline: float | None = None
        self.unread = 0
        """Bytes of answers that the client has not read, where they are many."""

    @property
    def known(self) -> bool:
        """Whether a request has carried a token."""
        return bool(self.user)


class Door:
    """All connections there are, the oldest first."""

    def __init__(self, limits: DoorLimits) -> None:
        self.limits = limits
        self._visits: dict[Visit, None] = {}
        self._bookings = Bookings()
        self._next: float | None = None
        self.wake: Callable[[float], None] = lambda _: None
        """Told when `expire` has something to do next."""

    def __len__(self) -> int:
        return len(self._visits)

    def enter(self, visit: Visit, now: float) -> None:
        """Let a connection in; where there is no room, one has to leave."""
        self._visits[visit] = None
        self.expect(visit, "header", now)
        surplus = self._surplus(visit)
        if surplus is not None:
            self._turn_out(surplus, None)

    def recognise(self, visit: Visit, user: str, now: float) -> None:
        """Note whose connection it is. Where the user has too many, or all users
        together, one that rests between two requests is closed, of that user or of
        whoever has the most: clients open such a connection again by themselves.

        Raises:
            QuotaError: none rests. The user may come back at the time that the error
                names, and the oldest of them then makes room.
        """
        if visit.known or visit not in self._visits:
            return
        known = [one for one in self._visits if one.known]
        among = [one for one in known if one.user == user]
        if len(among) < self.limits.known_per_user:
            if len(known) < self.limits.known:
                visit.user = user
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
        self._turn_out(leaving, None)
        visit.user = user

    def leave(self, visit: Visit) -> None:
        """Note that the connection has ended."""
        self._visits.pop(visit, None)

    def expect(self, visit: Visit, stage: Stage | None, now: float) -> None:
        """Note what a connection's client has to send next. A stage that goes on keeps
        its deadline, however many bytes have dripped in."""
        visit.resting_since = None
        if stage == visit.stage:
            return
        visit.stage = stage
        visit.deadline = None
        if stage is not None:
            seconds = {
                "header": self.limits.header_seconds,
                "body": self.limits.body_seconds,
            }[stage]
            visit.deadline = now + seconds
            self._wait_for(visit.deadline)

    def rest(self, visit: Visit, now: float) -> None:
        """Note that the client has its answer and may send another request."""
        self.expect(visit, None, now)
        visit.resting_since = now

    def unread(self, visit: Visit, size: int, now: float) -> None:
        """Note that the client has not read so many bytes of its answer at `now`, or,
        with 0, that it reads again. Nothing more is answered on the connection until
        then; where all of one user's hold too much, the one that holds the most is
        closed."""
        visit.unread = size
        if not size:
            visit.unread_deadline = None
            return
        visit.unread_deadline = now + self.limits.unread_seconds
        self._wait_for(visit.unread_deadline)
        theirs = [
            one
            for one in self._visits
            if one.unread
            and one.user == visit.user
            and (one.known or one.network == visit.network)
        ]
        if sum(one.unread for one in theirs) > self.limits.unread_bytes:
            self._turn_out(max(theirs, key=lambda one: one.unread), None)

    def expire(self, now: float) -> None:
        """Close what has kept the server waiting for too long."""
        for visit in list(self._visits):
            if visit.deadline is not None and visit.deadline <= now:
                self._turn_out(visit, visit.stage)
            elif visit.unread_deadline is not None and visit.unread_deadline <= now:
                self._turn_out(visit, None)
        both = ((one.deadline, one.unread_deadline) for one in self._visits)
        deadlines = [when for pair in both for when in pair if when is not None]
        self._next = None
        if deadlines:
            self._wait_for(min(deadlines))

    def _wait_for(self, deadline: float) -> None:
        """Have `expire` called when a deadline has come."""
        if self._next is None or deadline < self._next:
            self._next = deadline
            self.wake(deadline)

    def _turn_out(self, visit: Visit, stage: Stage | None) -> None:
        del self._visits[visit]
        visit.leave(stage)

    def _surplus(self, newcomer: Visit) -> Visit | None:
        """The connection that has to leave, now that another has come; None where there
        is room for all."""
        strangers = [visit for visit in self._visits if not visit.known]
        neighbours = [one for one in strangers if one.network == newcomer.network]
        if len(neighbours) > self.limits.strangers_per_network:
            return neighbours[0]
        crowded = len(strangers) > self.limits.strangers
        if not crowded and len(self._visits) <= self.limits.connections:
            return None
        # Whoever fills the room makes room: the network with the most strangers.
        fullest = Counter(one.network for one in strangers).most_common(1)[0][0]
        return next(one for one in strangers if one.network == fullest)


def network_of(address: str) -> str:
    """What counts as one place: an IPv4 address, or an IPv6 network of 64 bits, of
    which every machine can take as many addresses as it likes."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        mapped = parsed.ipv4_mapped
        if mapped is not None:
            return str(mapped)
        return str(ipaddress.IPv6Network((parsed.packed, 64), strict=False))
    return str(parsed)


class _Watched(asyncio.Protocol):
    """What the door is told of connections of either kind."""

    _door: Door
    _visit: Visit
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        super().connection_lost(exc)
        self._door.leave(self._visit)

    def pause_writing(self) -> None:
        """The client reads more slowly than it asks."""
        super().pause_writing()
        size = max(1, self.transport.get_write_buffer_size())
        self._door.unread(self._visit, size, self.loop.time())

    def resume_writing(self) -> None:
        """The client has read."""
        super().resume_writing()
        self._door.unread(self._visit, 0, self.loop.time())


class HttpConnection(_Watched, H11Protocol):
    """A connection over HTTP/1.1, until it becomes a WebSocket."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, {**app_state}, _loop)
        self._door: Door = app_state[DOOR]
        self._visit = Visit("", self._leave)

    def connection_made(  # type: ignore[override]  # as uvicorn has it
        self, transport: asyncio.Transport
    ) -> None:
        """Enter the connection at the door."""
        super().connection_made(transport)
        self._visit = Visit(self.client[0] if self.client else "", self._leave)
        self.app_state[VISIT] = self._visit
        self._door.enter(self._visit, self.loop.time())

    def data_received(self, data: bytes) -> None:
        """Read bytes of a request, and tell the door what is still to come."""
        if not self.transport.is_closing():
            super().data_received(data)
            self._tell_door()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Become a `StreamConnection`, which is given the whole request at once."""
        super().handle_websocket_upgrade(event)
        stream = self.transport.get_protocol()
        if isinstance(stream, StreamConnection):
            stream.refuse_unread()

    def on_response_complete(self) -> None:
        """Go on with the next request, which may be here already."""
        super().on_response_complete()
        self._tell_door()

    def _tell_door(self) -> None:
        """Tell the door what the client has to send."""
        if self.transport.get_protocol() is not self:
            return  # it is a WebSocket now
        now, state = self.loop.time(), self.conn.their_state
        if state is h11.SEND_BODY:
            self._door.expect(self._visit, "body", now)
        elif state is not h11.IDLE:
            self._door.expect(self._visit, None, now)
        elif not self._asked or self.conn.trailing_data[0]:
            self._door.expect(self._visit, "header", now)
        else:
            self._door.rest(self._visit, now)

    @property
    def _asked(self) -> bool:
        """Whether a request has come."""
        return bool(self.cycle)

    def _leave(self, stage: Stage | None) -> None:
        """Hang up. A client whose request has begun, or that found no room, is told
        why."""
        heard = self._asked or bool(self.conn.trailing_data[0])
        answered = self._asked and self.cycle.response_started
        if stage is None and not heard:
            self.transport.write(raw_answer(problems.no_room()))
        elif stage is not None and heard and not answered:
            self.transport.write(raw_answer(problems.too_slow()))
        self.transport.abort()


class StreamConnection(_Watched, WebSocketsSansIOProtocol):
    """The WebSocket that an HTTP connection becomes. Until the application has accepted
    it, the time for the header runs on. Then the client sends when it likes: a stream
    ends with its session, and uvicorn's own pings find out clients that are gone."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._door: Door = app_state[DOOR]
        self._visit: Visit = app_state[VISIT]
        self._visit.leave = lambda _: self.transport.abort()

    def start_keepalive(self) -> None:
        """The application has accepted the stream."""
        super().start_keepalive()
        self._door.expect(self._visit, None, self.loop.time())

    def on_task_complete(self, task: asyncio.Task[None]) -> None:
        """The application is done with the stream, or has denied it."""
        super().on_task_complete(task)
        if self.initial_response is not None:
            self.app_state[ANSWERS][self.initial_response[0]] += 1

    def refuse_unread(self) -> None:
        """Answer a request to upgrade that could not even be parsed; uvicorn would
        leave it at that."""
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            self.transport.write(raw_answer(problems.bad_request()))
            self.transport.close()


def raw_answer(problem: problems.Problem) -> bytes:
    """An answer outside of the application, before the server hangs up."""
    response = problem.response()
    lines = [f"HTTP/1.1 {problem.status} {problem.title}".encode()]
    headers = [*response.raw_headers, (b"connection", b"close")]
    lines += [name + b": " + value for name, value in headers]
    return b"\r\n".join([*lines, b"", bytes(response.body)])


class VerifierServer(uvicorn.Server):
    """uvicorn with the door. Before it ends, it finishes the blocks that it verifies
    and tells the devices."""

    def __init__(
        self,
        app: FastAPI,
        on_listening: Callable[[], None],
        http: type[asyncio.Protocol] = HttpConnection,
    ) -> None:
        """Serve `app`; each connection is an `http`."""
        super().__init__(configuration(app, http))
        self._service: Service = app.state.service
        self._streams: OpenStreams = app.state.streams
        self._engine: EngineThread = app.state.engine
        self._door: Door = app.state.door
        self._on_listening = on_listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(WAITING)  # uvicorn has one number for both
        loop = asyncio.get_running_loop()

        def expire() -> None:
            self._door.expire(loop.time())

        def wake(deadline: float) -> None:
            # A little later, so that a crowd of deadlines is looked at once.
            loop.call_at(deadline + _TICK_SECONDS, expire)

        def end() -> None:
            self.should_exit = True

        self._door.wake = wake
        self._engine.when_it_fails(end)
        self._on_listening()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, finish the rounds, tell the devices, hang up."""
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


def configuration(app: FastAPI, http: type[asyncio.Protocol]) -> uvicorn.Config:
    """uvicorn's settings: nothing about requests is logged, frames keep their sizes,
    nothing is endless."""
    return uvicorn.Config(
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
