"""Errors as OpenAI's clients expect them, on the paths that are for these."""

from __future__ import annotations

import json

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cloud_api.http.problems import MEDIA_TYPE
from models.openai_api.answers import error_body

PATH = "/openai/"
_CODES = {
    "unauthorized": "invalid_api_key",
    "context-full": "context_length_exceeded",
    "unknown-model": "model_not_found",
    "too-much": "rate_limit_exceeded",
}
"""OpenAI's own words where it has them; else ours, with `_` for `-`."""
_AS_BAD_REQUESTS = {"context-full", "invalid-settings"}


class OpenAIErrors:
    """ASGI middleware: every problem of the service, in the shape of OpenAI's errors,
    whoever below answered with it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hold back a problem, and answer with an error that says the same."""
        if scope["type"] != "http" or not scope["path"].startswith(PATH):
            await self._app(scope, receive, send)
            return
        problem: Message | None = None
        body = b""

        async def shaped(message: Message) -> None:
            nonlocal problem, body
            if message["type"] == "http.response.start":
                headers = Headers(raw=message["headers"])
                if headers.get("content-type") == MEDIA_TYPE:
                    problem = message
                    return
            elif problem is not None:
                body += message.get("body", b"")
                if not message.get("more_body"):
                    await _answer(problem, body)(scope, receive, send)
                return
            await send(message)

        await self._app(scope, receive, shaped)


def _answer(problem: Message, body: bytes) -> JSONResponse:
    told = json.loads(body)
    status, code = told["status"], told["code"]
    if code in _AS_BAD_REQUESTS:
        status = 400
    headers = Headers(raw=problem["headers"])
    kept = {
        name: headers[name]
        for name in ("www-authenticate", "retry-after", "allow")
        if name in headers
    }
    words = _CODES.get(code, code.replace("-", "_"))
    return JSONResponse(error_body(status, told["detail"], words), status, kept)
