"""The routes that OpenAI's clients ask: models, chats and completions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import aclosing, suppress
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from cloud_api import logs
from cloud_api.callers import Caller
from cloud_api.errors import UnknownModelError
from cloud_api.http import problems
from cloud_api.openai.writing import GeneralistText, GeneralistTexts
from decoding_core.errors import DecodingError
from models.openai_api.answers import (
    Answer,
    described_model,
    error_body,
    event,
    model_list,
)
from models.openai_api.schemas import ChatBody, CompletionBody, complaint

_STARTED = int(time.time())


class _Route(APIRoute):
    """Answers a body that breaks its schema as OpenAI does, without quoting it."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler, with that."""
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except RequestValidationError as error:
                words, field = complaint(error.errors())
                body = error_body(400, words, "invalid_request", field)
                return JSONResponse(body, 400)

        return handled


_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"description": what}
    for status, what in {
        400: "The request cannot be done, and the message says why",
        404: "There is no such model",
        413: "The body is larger than this server reads",
        429: "As many texts as may be are being written",
        503: "The models are being loaded, or there is no room now",
    }.items()
}
router = APIRouter(prefix="/openai/v1", route_class=_Route, responses=_ERRORS)


def _texts(request: Request) -> GeneralistTexts:
    texts: GeneralistTexts = request.app.state.texts
    return texts


def _caller(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


Texts = Annotated[GeneralistTexts, Depends(_texts)]
Asks = Annotated[Caller, Depends(_caller)]


@router.get("/models")
async def models(texts: Texts) -> dict[str, Any]:
    """The models that a request may name."""
    return model_list(texts.names, _STARTED)


@router.get("/models/{name}")
async def model(name: str, texts: Texts) -> dict[str, Any]:
    """One of them."""
    if name not in texts.names:
        raise UnknownModelError("there is no such model here")
    return described_model(name, _STARTED)


@router.post("/chat/completions")
async def chat(body: ChatBody, texts: Texts, caller: Asks) -> Response:
    """The next turn of a conversation."""
    return _TextResponse(body, texts, caller)


@router.post("/completions")
async def complete(body: CompletionBody, texts: Texts, caller: Asks) -> Response:
    """What follows a text."""
    return _TextResponse(body, texts, caller)


class _TextResponse(Response):
    """Writes a text into its answer, as a stream or whole, until it ends or the client
    has gone."""

    def __init__(
        self, body: ChatBody | CompletionBody, texts: GeneralistTexts, caller: Caller
    ) -> None:
        super().__init__()
        self._body = body
        self._texts = texts
        self._caller = caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write; a client that hangs up ends its text."""

        async def leave() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        writing = asyncio.create_task(self._write(scope, receive, send))
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

    async def _write(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = Answer(
            self._body.model, int(time.time()), isinstance(self._body, ChatBody)
        )
        async with self._texts.begun(self._body, self._caller) as text:
            if self._body.stream:
                await self._stream(text, answer, send)
                return
            async with aclosing(self._texts.write(text)) as written:
                pieces = [piece async for piece in written]
            body = answer.whole("".join(pieces), text.finish, text.usage)
            await JSONResponse(body)(scope, receive, send)

    async def _stream(self, text: GeneralistText, answer: Answer, send: Send) -> None:
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
                data = answer.first() + data
            body = {"type": "http.response.body", "body": data, "more_body": more}
            await send(body)

        try:
            async with aclosing(self._texts.write(text)) as written:
                async for piece in written:
                    await pass_on(answer.piece(piece))
            usage = text.usage if self._body.tells_usage else None
            await pass_on(answer.last(text.finish, usage), more=False)
        except Exception as error:
            if not started:
                raise
            if isinstance(error, DecodingError):
                told = problems.of_error(error)
            else:
                logs.fault("a streamed text")
                told = problems.internal()
            code = told.code.replace("-", "_")
            said = event(error_body(told.status, told.detail, code))
            await pass_on(said, more=False)
