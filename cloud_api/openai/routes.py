"""The routes that OpenAI's clients ask: models, chats and completions."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel
from starlette.responses import JSONResponse, Response

from cloud_api import logs
from cloud_api.callers import Caller
from cloud_api.errors import UnknownModelError
from cloud_api.http import problems
from cloud_api.openai.writing import GeneralistTexts
from decoding_core.errors import DecodingError
from models.openai_api.answers import described_model, error_body, model_list
from models.openai_api.responding import TextResponse
from models.openai_api.schemas import (
    ChatBody,
    CompletionBody,
    InvalidBodyError,
    read_body,
)

_STARTED = int(time.time())


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
router = APIRouter(prefix="/openai/v1", responses=_ERRORS)


def _described(kind: type[BaseModel]) -> dict[str, Any]:
    """The body of a route, for its description, with the parts in their places."""
    schema = kind.model_json_schema()
    parts = schema.pop("$defs", {})

    def inlined(node: Any) -> Any:
        if isinstance(node, dict):
            if "$ref" in node:
                return inlined(parts[node["$ref"].rsplit("/", 1)[1]])
            return {name: inlined(one) for name, one in node.items()}
        return [inlined(one) for one in node] if isinstance(node, list) else node

    content = {"application/json": {"schema": inlined(schema)}}
    return {"requestBody": {"required": True, "content": content}}


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


@router.post("/chat/completions", responses=_EVENTS, openapi_extra=_described(ChatBody))
async def chat(request: Request, texts: Texts, caller: Asks) -> Response:
    """The next turn of a conversation."""
    return await _written(request, ChatBody, texts, caller)


@router.post(
    "/completions", responses=_EVENTS, openapi_extra=_described(CompletionBody)
)
async def complete(request: Request, texts: Texts, caller: Asks) -> Response:
    """What follows a text."""
    return await _written(request, CompletionBody, texts, caller)


async def _written(
    request: Request,
    kind: type[ChatBody] | type[CompletionBody],
    texts: GeneralistTexts,
    caller: Caller,
) -> Response:
    try:
        body = read_body(kind, await request.body())
    except InvalidBodyError as error:
        answer = error_body(400, str(error), "invalid_request", error.field)
        return JSONResponse(answer, 400)
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
