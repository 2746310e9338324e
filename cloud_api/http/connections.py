"""uvicorn's connections, watched by the door.

uvicorn itself waits for a header or a body for ever, and for as many clients as there
are. These two classes tell the door what each connection waits for, and close it when
the door says so. The server calls `Door.expire` with each of its ticks.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn._types import ASGISendEvent
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState

from cloud_api.door import Door, Stage, Visit
from cloud_api.http import problems

DOOR = "door"
VISIT = "visit"
"""Keys of an ASGI scope's state; the first is put there by the application."""


class HttpConnection(H11Protocol):
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
        """A client has come."""
        super().connection_made(transport)
        self._visit = Visit(self.client[0] if self.client else "", self._leave)
        self.app_state[VISIT] = self._visit
        self._door.enter(self._visit, self.loop.time())

    def connection_lost(self, exc: Exception | None) -> None:
        """It has gone."""
        super().connection_lost(exc)
        self._door.leave(self._visit)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request."""
        if not self.transport.is_closing():
            super().data_received(data)
            self._tell()

    def on_response_complete(self) -> None:
        """The answer is on its way; the next request may be here already."""
        super().on_response_complete()
        self._tell()

    def pause_writing(self) -> None:
        """The client reads more slowly than it asks."""
        super().pause_writing()
        self._door.unread(self._visit, self.loop.time())

    def resume_writing(self) -> None:
        """It has read."""
        super().resume_writing()
        self._door.unread(self._visit, None)

    def _tell(self) -> None:
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
        """Hang up; who was heard, or came when all was full, is told why."""
        heard = self._asked or bool(self.conn.trailing_data[0])
        answered = self._asked and self.cycle.response_started
        if stage is None and not heard:
            self.transport.write(_answer(problems.no_room()))
        elif stage is not None and heard and not answered:
            self.transport.write(_answer(problems.too_slow()))
        self.transport.abort()


class StreamConnection(WebSocketsSansIOProtocol):
    """The WebSocket that it becomes. Until the application has accepted it, the time
    for the header runs on. Then it sends when it likes: a stream ends with its session,
    and uvicorn's own pings find out clients that are gone."""

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

    def data_received(self, data: bytes) -> None:
        """The request to upgrade, then frames."""
        super().data_received(data)
        if self.conn.handshake_exc is not None and not self.handshake_initiated:
            # It could not even be parsed; uvicorn would leave it at that.
            self.transport.write(_answer(problems.bad_request()))
            self.transport.close()

    async def send(self, message: ASGISendEvent) -> None:
        """Accept the stream, or send a frame."""
        await super().send(message)
        if message["type"] == "websocket.accept":
            self._door.expect(self._visit, None, self.loop.time())

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        super().connection_lost(exc)
        self._door.leave(self._visit)

    def pause_writing(self) -> None:
        """The client reads more slowly than it asks."""
        super().pause_writing()
        self._door.unread(self._visit, self.loop.time())

    def resume_writing(self) -> None:
        """It has read."""
        super().resume_writing()
        self._door.unread(self._visit, None)


def _answer(problem: problems.Problem) -> bytes:
    """An answer outside of the application, before the server hangs up."""
    response = problem.response()
    lines = [f"HTTP/1.1 {problem.status} {problem.title}".encode()]
    headers = [*response.raw_headers, (b"connection", b"close")]
    lines += [name + b": " + value for name, value in headers]
    return b"\r\n".join([*lines, b"", bytes(response.body)])
