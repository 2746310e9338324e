"""A text as the answer to a request, while it is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from typing import Any, Generic, Protocol, TypeVar

from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from models.openai_api.answers import Answer, FinishReason, Usage, event
from models.openai_api.schemas import ChatBody, CompletionBody


class WrittenText(Protocol):
    """What is known of a text when its last piece was written."""

    @property
    def finish(self) -> FinishReason:
        """Why it ended."""

    @property
    def usage(self) -> Usage:
        """How many tokens were read and written."""


_Text = TypeVar("_Text", bound=WrittenText)


class TextResponse(Response, Generic[_Text]):
    """Writes a text into its answer, as a stream or whole, until it ends or the client
    has gone."""

    def __init__(
        self,
        body: ChatBody | CompletionBody,
        created: int,
        begin: Callable[[], AbstractAsyncContextManager[_Text]],
        write: Callable[[_Text], AsyncGenerator[str, None]],
        error_of: Callable[[Exception], dict[str, Any]],
    ) -> None:
        """`begin` gives the text while its block runs, `write` its pieces; `error_of`
        is the body of an error that comes when a stream has begun."""
        super().__init__()
        self._body = body
        self._answer = Answer(body.model, created, isinstance(body, ChatBody))
        self._begin = begin
        self._write = write
        self._error_of = error_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write; a client that hangs up ends its text. Raises what `begin` and `write`
        do before the answer has begun."""

        async def leave() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        writing = asyncio.create_task(self._respond(scope, receive, send))
        leaving = asyncio.create_task(leave())
        try:
            await asyncio.wait({writing, leaving}, return_when="FIRST_COMPLETED")
        finally:
            gone = not writing.done()
            leaving.cancel()
            writing.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({writing})
        if not gone:
            writing.result()

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._begin() as text:
            if self._body.stream:
                await self._stream(text, send)
                return
            async with aclosing(self._write(text)) as written:
                pieces = [piece async for piece in written]
            body = self._answer.whole("".join(pieces), text.finish, text.usage)
            await JSONResponse(body)(scope, receive, send)

    async def _stream(self, text: _Text, send: Send) -> None:
        """Send each piece as it comes. An error before the first is answered as one; a
        later one is the last event."""
        started = False

        async def pass_on(data: bytes, *, more: bool = True) -> None:
            nonlocal started
            if not started:
                started = True
                headers = [
                    (b"content-type", b"text/event-stream; charset=utf-8"),
                    (b"cache-control", b"no-store"),
                ]
                start = {"type": "http.response.start", "status": 200}
                await send({**start, "headers": headers})
                data = self._answer.first() + data
            body = {"type": "http.response.body", "body": data, "more_body": more}
            await send(body)

        try:
            async with aclosing(self._write(text)) as written:
                async for piece in written:
                    await pass_on(self._answer.piece(piece))
            usage = text.usage if self._body.tells_usage else None
            await pass_on(self._answer.last(text.finish, usage), more=False)
        except Exception as error:
            if not started:
                raise
            await pass_on(event(self._error_of(error)), more=False)
