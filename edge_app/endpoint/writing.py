"""Texts of the writing service, on the event loop of the endpoint.

The service writes one text at a time, in a thread; requests wait for each other.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

from decoding_core.errors import CloudBusyError, StoppedError
from edge_app.decoding.events import Emit, Event, Finished, Notice, Settled
from edge_app.service.requests import WriteRequest
from models.openai_api.answers import FinishReason, Usage
from models.openai_api.stop_finder import StopFinder

WAITING = 8
"""Requests that may wait for their turn."""


class Writes(Protocol):
    """What the endpoint needs of the writing service."""

    def write(self, request: WriteRequest, emit: Emit, stop: threading.Event) -> None:
        """Write a text, as `service.requests.Service` has it."""


@dataclass(slots=True, eq=False)
class VoiceText:
    """One text, while it is written."""

    request: WriteRequest
    stops: StopFinder
    stop: threading.Event
    finish: FinishReason = "length"
    count: int = 0

    @property
    def usage(self) -> Usage:
        """The tokens that were written. Those that were read are not told: their
        number would say how much of the history was."""
        return Usage(0, self.count)


class VoiceTexts:
    """Writes texts for other programs, one after the other."""

    def __init__(self, service: Writes, say: Callable[[str], None]) -> None:
        """`say` shows the person a sentence, such as that the server is gone."""
        self._service = service
        self._say = say
        self._turn = asyncio.Lock()
        self._asked = 0
        self._running: set[VoiceText] = set()

    def __len__(self) -> int:
        return self._asked

    def stop(self) -> None:
        """End the text that is being written."""
        for text in self._running:
            text.stop.set()

    @asynccontextmanager
    async def begun(
        self, request: WriteRequest, stops: Sequence[str]
    ) -> AsyncIterator[VoiceText]:
        """A text, once it has its turn, while the block runs.

        Raises:
            CloudBusyError: too many wait.
        """
        if self._asked > WAITING:
            raise CloudBusyError("too many texts wait to be written", 5.0)
        self._asked += 1
        try:
            async with self._turn:
                yield VoiceText(request, StopFinder(stops), threading.Event())
        finally:
            self._asked -= 1

    async def write(self, text: VoiceText) -> AsyncGenerator[str, None]:
        """Pieces of the text as they are settled; raises what the service does."""
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[Event | None] = asyncio.Queue()

        def emit(event: Event | None) -> None:
            loop.call_soon_threadsafe(events.put_nowait, event)

        def work() -> None:
            try:
                self._service.write(text.request, emit, text.stop)
            finally:
                emit(None)

        writing = asyncio.create_task(asyncio.to_thread(work))
        self._running.add(text)
        try:
            while (event := await events.get()) is not None:
                if piece := self._taken(event, text):
                    yield piece
            await writing
            if rest := text.stops.rest():
                yield rest
        finally:
            text.stop.set()
            self._running.discard(text)
            # The next text must not begin before this one has let the service go.
            await asyncio.wait({writing})
            if not writing.cancelled():
                writing.exception()  # it was raised above, or nobody reads any more

    def _taken(self, event: Event, text: VoiceText) -> str:
        """What an event adds to the text."""
        if isinstance(event, Notice):
            self._say(event.text)
        ended = text.stops.found
        if ended:
            return ""
        if isinstance(event, Finished):
            if event.reason == "stopped":
                raise StoppedError("the text was stopped")
            text.finish = "stop" if event.reason in ("end", "refused") else "length"
        if not isinstance(event, Settled):
            return ""
        text.count += len(event.tokens)
        piece = text.stops.push("".join(token.text for token in event.tokens))
        if text.stops.found:
            text.finish = "stop"
            text.stop.set()
        return piece
