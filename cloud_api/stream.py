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
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter, WebSocket
from starlette.websockets import WebSocketDisconnect

from cloud_api import problems
from cloud_api.auth import Caller
from cloud_api.errors import LoadingError, StoppingError, log_fault
from cloud_api.service import UNANSWERED, Service, StreamEnd
from cloud_api.settings import UserLimits
from decoding_core.errors import MessageError, SessionLostError
from decoding_core.messages import FrameFormat, Kind, Problem, Signal, Verdict

TEXT_DONE = 1000
BAD_FRAME = 1008
STOPPING = 1012
SESSION_LOST = 4404
TEXT_REPLACED = 4409
TOO_MUCH = 1013
_LAST_WORD_SECONDS = 1.0

Reply = tuple[bytes, int | None]  # A frame, and the code to hang up with after it

router = APIRouter()


@dataclass(slots=True, eq=False)
class OpenStream:
    """A stream that a device holds open."""

    session_id: str
    caller: Caller
    end: asyncio.Future[StreamEnd]  # says why the stream has to end, once it has to
    unread: int = 0  # bytes of answers that were not handed to the device yet

    def end_for(self, why: StreamEnd) -> None:
        """Have it end, if it need not already."""
        if not self.end.done():
            self.end.set_result(why)


class OpenStreams:
    """The streams of all devices, the oldest first."""

    def __init__(self, limits: UserLimits) -> None:
        self._limits = limits
        self._streams: dict[asyncio.Task[Any], OpenStream] = {}

    def __len__(self) -> int:
        return len(self._streams)

    @property
    def tasks(self) -> Collection[asyncio.Task[Any]]:
        """Those that serve the streams."""
        return self._streams

    @contextmanager
    def opened(self, session_id: str, caller: Caller) -> Iterator[OpenStream]:
        """While a device holds a stream of a session open, in the task that serves it.
        The user's own oldest stream is ended if there are too many."""
        task = asyncio.current_task()
        assert task is not None
        end: asyncio.Future[StreamEnd] = asyncio.get_running_loop().create_future()
        self._streams[task] = stream = OpenStream(session_id, caller, end)
        theirs = self._of(caller.user)
        if len(theirs) > self._limits.streams:
            theirs[0].end_for("too much")
        try:
            yield stream
        finally:
            del self._streams[task]

    def end(self, session_id: str, why: StreamEnd) -> None:
        """End all streams of a session."""
        for stream in self._streams.values():
            if stream.session_id == session_id:
                stream.end_for(why)

    def count_unread(self, stream: OpenStream, size: int) -> None:
        """Note that `size` bytes more, or less, wait for the device of a stream. If the
        user's devices leave too much unread, the stream that holds the most ends."""
        stream.unread += size
        theirs = self._of(stream.caller.user)
        if sum(one.unread for one in theirs) > self._limits.unread_bytes:
            max(theirs, key=lambda one: one.unread).end_for("too much")

    def _of(self, user: str) -> list[OpenStream]:
        """The user's streams that need not end."""
        return [
            one
            for one in self._streams.values()
            if one.caller.user == user and not one.end.done()
        ]


@router.websocket("/v1/sessions/{session_id}/stream")
async def stream(websocket: WebSocket, session_id: str) -> None:
    """Verify the blocks that come as frames until one side hangs up."""
    service: Service = websocket.app.state.service
    streams: OpenStreams = websocket.app.state.streams
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
        with streams.opened(session_id, caller) as record:
            await _Stream(websocket, service, streams, record, frames).run()
    except Exception:  # noqa: BLE001 - uvicorn would log what it says
        log_fault("a websocket request")


@dataclass(slots=True)
class _Stream:
    """One connection: a reader that starts rounds and a writer that answers them."""

    socket: WebSocket
    service: Service
    streams: OpenStreams
    record: OpenStream
    frames: FrameFormat
    newest: tuple[int, int] = 0, 0  # epoch and round of the last block that came
    closed: bool = False
    replies: asyncio.Queue[asyncio.Future[Reply]] = field(
        default_factory=lambda: asyncio.Queue(UNANSWERED)
    )

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
            message = await self.socket.receive()
            if message["type"] == "websocket.disconnect":
                code = message.get("code", 1005)
                if code == TEXT_DONE:
                    with suppress(SessionLostError):
                        self.service.close(self.record.session_id, self.record.caller)
                raise WebSocketDisconnect(code)
            frame: bytes = message.get("bytes") or b""
            await self.replies.put(group.create_task(self._reply(frame)))

    async def _write(self) -> None:
        while True:
            frame, code = await (await self.replies.get())
            if self.closed:
                return None
            await self.socket.send_bytes(frame)
            self.streams.count_unread(self.record, -len(frame))
            if code is not None:
                return await self._close(code)

    async def _say_goodbye(self) -> None:
        await self.service.stopping.wait()
        await self._say_last(self._stopping())

    async def _end(self) -> None:
        why = await self.record.end
        if why == "text replaced":
            # The answers that are on their way are to a text that is no more.
            await self._close(TEXT_REPLACED)
        elif why == "too much":
            # A device that does not read would not read this either.
            self.closed = True
            with suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORD_SECONDS):
                    await self.socket.close(TOO_MUCH)
            raise WebSocketDisconnect(TOO_MUCH)
        else:
            await self._say_last(self._lost())

    async def _say_last(self, reply: Reply) -> None:
        """Say the last word, after the answers that are on their way."""
        said: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        said.set_result(reply)
        self.streams.count_unread(self.record, len(reply[0]))
        await self.replies.put(said)

    async def _close(self, code: int) -> None:
        if not self.closed:
            self.closed = True
            await self.socket.close(code)

    def _signal(self, kind: Kind, value: int) -> bytes:
        return self.frames.encode_signal(Signal(kind, *self.newest, value))

    def _stopping(self) -> Reply:
        return self._signal(Kind.ERROR, Problem.STOPPING), STOPPING

    def _lost(self) -> Reply:
        return self._signal(Kind.RESYNC, 0), SESSION_LOST

    async def _reply(self, frame: bytes) -> Reply:
        """The answer to a frame, which is counted until it is sent."""
        code = None
        try:
            block = self.frames.decode_block(frame)
            self.newest = block.epoch, block.round
            record = self.record
            found = await self.service.verify(record.session_id, block, record.caller)
            if isinstance(found, Verdict):
                answer = self.frames.encode_verdict(found, len(block.drafted))
            else:
                answer = self.frames.encode_signal(found)
        except MessageError:
            answer, code = self._signal(Kind.ERROR, Problem.MESSAGE), BAD_FRAME
        except SessionLostError:
            answer, code = self._lost()
        except StoppingError:
            answer, code = self._stopping()
        self.streams.count_unread(self.record, len(answer))
        return answer, code
