"""The stream of a session: fixed-size frames over a WebSocket.

Every frame of a block gets one frame in answer, in the order in which they came. The
server hangs up after a frame that is no block of the session (1008), when the session
ends or is forgotten (4404, after `resync` with nothing held), when another text took
the place of the session's in a way that the stream cannot go on with (4409, at once;
the device connects again), when the user's devices have more streams or more unread
answers than one user may have (1013; the session stays) and when it stops (1012, after
an error frame that says so). A device that hangs up with code 1000 ends its session;
any other end leaves it open for a retry.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from fastapi import APIRouter, WebSocket
from starlette.websockets import WebSocketDisconnect

from cloud_api import logs
from cloud_api.callers import Caller
from cloud_api.errors import LoadingError, StoppingError
from cloud_api.http import problems
from cloud_api.sessions.service import OpenStream, Service
from cloud_api.sessions.session import UNANSWERED
from decoding_core.errors import MessageError, SessionLostError
from decoding_core.messages import FrameFormat, Kind, Problem, Signal, Verdict

TEXT_DONE = 1000
BAD_FRAME = 1008
STOPPING = 1012
SESSION_LOST = 4404
TEXT_REPLACED = 4409
TOO_MUCH = 1013
_LAST_WORD_SECONDS = 1.0

Reply = tuple[bytes, int | None]
"""A frame, and the code to hang up with after it."""

router = APIRouter()


@router.websocket("/v1/sessions/{session_id}/stream")
async def stream(websocket: WebSocket, session_id: str) -> None:
    """Verify the blocks that come as frames until one side hangs up."""
    service: Service = websocket.app.state.service
    caller: Caller = websocket.state.caller
    try:
        frames = service.frames(session_id, caller)
        _ = service.models
    except (SessionLostError, LoadingError, StoppingError) as error:
        denial = problems.of_error(error).response()
        await websocket.send_denial_response(denial)
        return
    try:
        await websocket.accept()
        with service.streaming(session_id, caller) as record:
            await _Stream(websocket, service, record, caller, frames).run()
    except Exception:  # noqa: BLE001 - uvicorn would log what it says
        logs.fault("a websocket request")


class _Stream:
    """One connection: a reader that starts rounds and a writer that answers them."""

    def __init__(
        self,
        socket: WebSocket,
        service: Service,
        record: OpenStream,
        caller: Caller,
        frames: FrameFormat,
    ) -> None:
        self._socket = socket
        self._service = service
        self._record = record
        self._session_id = record.session_id
        self._caller = caller
        self._frames = frames
        self._newest = 0, 0
        self._closed = False
        self._replies: asyncio.Queue[asyncio.Future[Reply]] = asyncio.Queue(UNANSWERED)

    async def run(self) -> None:
        """Until one side hangs up: the reader then ends and takes the others along."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._read(group))
                group.create_task(self._write())
                group.create_task(self._say_goodbye())
                group.create_task(self._end())
        except* WebSocketDisconnect:
            pass

    async def _read(self, group: asyncio.TaskGroup) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                code = message.get("code", 1005)
                if code == TEXT_DONE:
                    with suppress(SessionLostError):
                        self._service.close(self._session_id, self._caller)
                raise WebSocketDisconnect(code)
            frame: bytes = message.get("bytes") or b""
            await self._replies.put(group.create_task(self._reply(frame)))

    async def _write(self) -> None:
        while True:
            frame, code = await (await self._replies.get())
            if self._closed:
                return None
            await self._socket.send_bytes(frame)
            self._service.count_unread(self._record, -len(frame))
            if code is not None:
                return await self._close(code)

    async def _say_goodbye(self) -> None:
        await self._service.stopping.wait()
        await self._say_last(self._stopping())

    async def _end(self) -> None:
        why = await self._record.end
        if why == "text replaced":
            # The answers that are on their way are to a text that is no more.
            await self._close(TEXT_REPLACED)
        elif why == "too much":
            # A device that does not read would not be told either.
            self._closed = True
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORD_SECONDS):
                    await self._socket.close(TOO_MUCH)
            raise WebSocketDisconnect(TOO_MUCH)
        else:
            await self._say_last(self._lost())

    async def _say_last(self, reply: Reply) -> None:
        """Say the last word, after the answers that are on their way."""
        said: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        said.set_result(reply)
        self._service.count_unread(self._record, len(reply[0]))
        await self._replies.put(said)

    async def _close(self, code: int) -> None:
        if not self._closed:
            self._closed = True
            await self._socket.close(code)

    def _stopping(self) -> Reply:
        return self._problem(Problem.STOPPING), STOPPING

    def _lost(self) -> Reply:
        nothing = Signal(Kind.RESYNC, *self._newest, 0)
        return self._frames.encode_signal(nothing), SESSION_LOST

    async def _reply(self, frame: bytes) -> Reply:
        """The answer to a frame, which is counted until it is sent."""
        answer, code = await self._answer(frame)
        self._service.count_unread(self._record, len(answer))
        return answer, code

    async def _answer(self, frame: bytes) -> Reply:
        try:
            block = self._frames.decode_block(frame)
            self._newest = block.epoch, block.round
            answer = await self._service.verify(self._session_id, block, self._caller)
            if isinstance(answer, Verdict):
                return self._frames.encode_verdict(answer, len(block.drafted)), None
            return self._frames.encode_signal(answer), None
        except MessageError:
            return self._problem(Problem.MESSAGE), BAD_FRAME
        except SessionLostError:
            return self._lost()
        except StoppingError:
            return self._stopping()

    def _problem(self, problem: Problem) -> bytes:
        return self._frames.encode_signal(Signal(Kind.ERROR, *self._newest, problem))
