"""The routes that OpenAI's clients ask: models, chats and completions."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.responses import JSONResponse, Response

from cloud_api import logs
from cloud_api.callers import Caller
from cloud_api.errors import UnknownModelError
from cloud_api.http import problems
from cloud_api.openai.writing import GeneralistTexts
from decoding_core.errors import DecodingError
from models.openai_api.answers import described_model, error_body, model_list
from models.openai_api.responding import TextResponse
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


_ERRORS = problems.described(
    "application/json",
    {
        "type": "object",
        "properties": {
            "error": {
                "type": "object",
                "properties": {
                    "message": {"type": "string"},
                    "type": {"type": "string"},
                    "param": {"type": ["string", "null"]},
                    "code": {"type": "string"},
                },
                "required": ["message", "type", "param", "code"],
            }
        },
        "required": ["error"],
    },
)
_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The text, whole or as a stream of events",
        "content": {
            "application/json": {"schema": {"type": "object"}},
            "text/event-stream": {"schema": {"type": "string"}},
        },
    }
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


@router.post("/chat/completions", responses=_EVENTS)
async def chat(body: ChatBody, texts: Texts, caller: Asks) -> Response:
    """The next turn of a conversation."""
    return _written(body, texts, caller)


@router.post("/completions", responses=_EVENTS)
async def complete(body: CompletionBody, texts: Texts, caller: Asks) -> Response:
    """What follows a text."""
    return _written(body, texts, caller)


def _written(
    body: ChatBody | CompletionBody, texts: GeneralistTexts, caller: Caller
) -> Response:
    return TextResponse(
        body,
        int(time.time()),
        lambda: texts.begun(body, caller),
        texts.write,
        _error_of,
    )


def _error_of(error: Exception) -> dict[str, Any]:
    """The body of an error in the midst of a stream."""
    if isinstance(error, DecodingError):
        told = problems.of_error(error)
    else:
        logs.fault("a streamed text")
        told = problems.internal()
    return error_body(told.status, told.detail, told.code.replace("-", "_"))
