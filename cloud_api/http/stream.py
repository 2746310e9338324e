"""The stream of a session: fixed-size frames over a WebSocket.

Every frame of a block gets one frame in answer, in the order in which they came. The
server hangs up after a frame that is no block of the session (1008), when the session
ends or is forgotten (4404, after `resync` with nothing held) and when it stops (1012,
after an error frame that says so).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, WebSocket
from starlette.websockets import WebSocketDisconnect

from cloud_api import logs
from cloud_api.errors import LoadingError, StoppingError
from cloud_api.http import problems
from cloud_api.sessions.service import Service
from decoding_core.errors import MessageError, SessionLostError
from decoding_core.messages import WINDOW, Verdict
from decoding_core.wire import FrameFormat, Kind, Problem, Signal

BAD_FRAME = 1008
STOPPING = 1012
SESSION_LOST = 4404

Reply = tuple[bytes, int | None]
"""A frame, and the code to hang up with after it."""

router = APIRouter()


@router.websocket("/v1/sessions/{session_id}/stream")
async def stream(websocket: WebSocket, session_id: str) -> None:
    """Verify the blocks that come as frames until one side hangs up."""
    service: Service = websocket.app.state.service
    try:
        frames = service.frames(session_id)
        _ = service.models
    except (SessionLostError, LoadingError, StoppingError) as error:
        denial = problems.of_error(error).response()
        await websocket.send_denial_response(denial)
        return
    try:
        await websocket.accept()
        with service.streaming(session_id) as ended:
            await _Stream(websocket, service, session_id, frames).run(ended)
    except Exception:  # noqa: BLE001 - uvicorn would log what it says
        logs.fault("a websocket request")


class _Stream:
    """One connection: a reader that starts rounds and a writer that answers them."""

    def __init__(
        self, socket: WebSocket, service: Service, session_id: str, frames: FrameFormat
    ) -> None:
        self._socket = socket
        self._service = service
        self._session_id = session_id
        self._frames = frames
        self._newest = 0, 0
        self._replies: asyncio.Queue[asyncio.Task[Reply]] = asyncio.Queue(WINDOW)

    async def run(self, ended: asyncio.Event) -> None:
        """Until one side hangs up: the reader then ends and takes the others along.
        `ended` is set when the session ends."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._read(group))
                group.create_task(self._write())
                group.create_task(
                    self._watch(self._service.stopping, self._stopping, group)
                )
                group.create_task(self._watch(ended, self._lost, group))
        except* WebSocketDisconnect:
            pass

    async def _read(self, group: asyncio.TaskGroup) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(message.get("code", 1005))
            frame: bytes = message.get("bytes") or b""
            await self._replies.put(group.create_task(self._reply(frame)))

    async def _write(self) -> None:
        while True:
            frame, code = await (await self._replies.get())
            await self._socket.send_bytes(frame)
            if code is not None:
                return await self._socket.close(code)

    async def _watch(
        self,
        event: asyncio.Event,
        last: Callable[[], Coroutine[Any, Any, Reply]],
        group: asyncio.TaskGroup,
    ) -> None:
        """Say the last word after the answers that are on their way."""
        await event.wait()
        await self._replies.put(group.create_task(last()))

    async def _stopping(self) -> Reply:
        return self._problem(Problem.STOPPING), STOPPING

    async def _lost(self) -> Reply:
        nothing = Signal(Kind.RESYNC, *self._newest, 0)
        return self._frames.encode_signal(nothing), SESSION_LOST

    async def _reply(self, frame: bytes) -> Reply:
        try:
            block = self._frames.decode_block(frame)
            self._newest = block.epoch, block.round
            answer = await self._service.verify(self._session_id, block)
            if isinstance(answer, Verdict):
                return self._frames.encode_verdict(answer, len(block.drafted)), None
            return self._frames.encode_signal(answer), None
        except MessageError:
            return self._problem(Problem.MESSAGE), BAD_FRAME
        except SessionLostError:
            return await self._lost()
        except StoppingError:
            return await self._stopping()

    def _problem(self, problem: Problem) -> bytes:
        return self._frames.encode_signal(Signal(Kind.ERROR, *self._newest, problem))
