"""The application: OpenAI's routes for one person, behind a token that only programs of
theirs know.

A page in a browser cannot ask it: whatever names an origin is refused, but for origins
that the person has named, and so is every host but this machine's own names, which a
page could have made its own (DNS rebinding).
"""

from __future__ import annotations

import hmac
import re
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from decoding_core.errors import (
    CloudBusyError,
    CloudError,
    ContextFullError,
    DecodingError,
    InvalidSettingsError,
    StoppedError,
)
from decoding_core.foreign_text import one_line
from edge_app.endpoint.asked import EndpointConfig, write_request
from edge_app.endpoint.writing import VoiceTexts, Writes
from models.openai_api.answers import described_model, error_body, model_list
from models.openai_api.responding import TextResponse
from models.openai_api.schemas import (
    ChatBody,
    CompletionBody,
    InvalidBodyError,
    read_body,
)
from personal_store.errors import StoreError

_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "authorization, content-type",
    "Access-Control-Allow-Private-Network": "true",
    "Access-Control-Max-Age": "600",
}
"""What a browser is told that asks whether a page of an allowed origin may ask. Clients
for pages send headers of their own besides, which are allowed as they are asked for."""
HOSTS = ("127.0.0.1", "localhost")
BODY_BYTES = 2 << 20
"""As many as a server takes."""
_Body = TypeVar("_Body", ChatBody, CompletionBody)


class OnlyPrograms:
    """ASGI middleware: refuses what comes by way of a page in a browser, unless it is
    of one of `origins`, and whoever has not the token."""

    def __init__(
        self, app: ASGIApp, token: str, origins: frozenset[str] = frozenset()
    ) -> None:
        self._app = app
        self._token = token.encode()
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what a program with the token asks, and answer the rest."""
        if scope["type"] != "http":  # there are no streams, and no lifespan
            return
        headers = Headers(scope=scope)
        refusal: Response | None = None
        hosts = {f"{name}:{(scope.get('server') or ('', 0))[1]}" for name in HOSTS}
        if headers.getlist("host") not in [[name] for name in hosts]:
            refusal = _error(403, "this address is not the endpoint's", "host")
        elif headers.getlist("origin") not in [[], *([one] for one in self._origins)]:
            refusal = _error(
                403,
                "pages in a browser may not ask; 'specsteer serve --allow-origin' "
                "names those that may",
                "origin",
            )
        elif scope["method"] == "OPTIONS" and "origin" in headers:
            # A browser asks without the token whether the page may ask with it.
            refusal = _preflight(headers)
        elif not self._is_right(headers.get("authorization", "")):
            words = "send the key that 'specsteer serve' printed, as the API key"
            refusal = _error(401, words, "invalid_api_key")
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            if "origin" in headers and message["type"] == "http.response.start":
                answer = MutableHeaders(scope=message)
                if headers["origin"] in self._origins:
                    answer["Access-Control-Allow-Origin"] = headers["origin"]
                answer.add_vary_header("Origin")
            await send(message)

        try:
            await (refusal or self._app)(scope, receive, watched)
        except Exception as error:  # noqa: BLE001 (the next request is answered)
            # What is above would close the connection, and log what the error says.
            status, body = _told(error)
            if not started:
                await JSONResponse(body, status)(scope, receive, send)

    def _is_right(self, authorization: str) -> bool:
        scheme, _, given = authorization.partition(" ")
        right = hmac.compare_digest(given.strip().encode(), self._token)
        return right and scheme.lower() == "bearer"


def create_endpoint(
    service: Writes, config: EndpointConfig, say: Callable[[str], None]
) -> Starlette:
    """The application; `say` shows the person a sentence. `app.state.texts` are the
    texts that are being written."""
    started = int(time.time())
    texts = VoiceTexts(service, say)

    async def models(_: Request) -> Response:
        return JSONResponse(model_list(config.names, started))

    async def model(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in config.names:
            return _unknown_model()
        return JSONResponse(described_model(name, started))

    async def chat(request: Request) -> Response:
        return await written(request, ChatBody)

    async def complete(request: Request) -> Response:
        return await written(request, CompletionBody)

    async def written(request: Request, kind: type[_Body]) -> Response:
        try:
            body = read_body(kind, await _read(request))
        except InvalidBodyError as error:
            return _error(400, str(error), "invalid_request", error.field)
        if body.model not in config.names:
            return _unknown_model()
        wanted = write_request(body, config)
        return TextResponse(
            body,
            int(time.time()),
            lambda: texts.begun(wanted, body.stops),
            texts.write,
            lambda error: _told(error)[1],
        )

    async def failed(_: Request, error: Exception) -> Response:
        status, body = _told(error)
        headers = {}
        if isinstance(error, CloudBusyError):
            headers["Retry-After"] = str(max(1, round(error.retry_after)))
        return JSONResponse(body, status, headers)

    async def refused(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _error(error.status_code, error.detail, "invalid_request")

    app = Starlette(
        routes=[
            Route("/v1/models", models),
            Route("/v1/models/{name}", model),
            Route("/v1/chat/completions", chat, methods=["POST"]),
            Route("/v1/completions", complete, methods=["POST"]),
        ],
        middleware=[
            Middleware(OnlyPrograms, token=config.token, origins=config.origins)
        ],
        exception_handlers={
            DecodingError: failed,
            StoreError: failed,
            OSError: failed,
            HTTPException: refused,
        },
    )
    app.state.texts = texts
    return app


def _preflight(headers: Headers) -> Response:
    allowed = dict(_PREFLIGHT)
    asked = headers.get("access-control-request-headers", "")
    if re.fullmatch(r"[A-Za-z0-9-]+(, *[A-Za-z0-9-]+)*", asked):
        allowed["Access-Control-Allow-Headers"] = asked
    return Response(status_code=204, headers=allowed)


async def _read(request: Request) -> bytes:
    """The body; raises HTTPException for one that is too large."""
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > BODY_BYTES:
            raise HTTPException(413, f"a body may hold {BODY_BYTES} bytes")
    return data


def _told(error: Exception) -> tuple[int, dict[str, Any]]:
    """The status and the body that answer an error. Whoever asks has the token, and so
    is the person who may read it."""
    status, code = 500, "failed"
    if isinstance(error, InvalidSettingsError):
        status, code = 400, "invalid_settings"
    elif isinstance(error, ContextFullError):
        status, code = 400, "context_length_exceeded"
    elif isinstance(error, CloudBusyError):
        status, code = 429, "busy"
    elif isinstance(error, CloudError | StoppedError):
        status, code = 503, "no_server"
    if not isinstance(error, DecodingError | StoreError):
        sys.stderr.write(f"the endpoint failed ({type(error).__name__})\n")
        return 500, error_body(500, "the endpoint failed", code)
    return status, error_body(status, one_line(str(error)), code)


def _error(status: int, words: str, code: str, field: str | None = None) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return JSONResponse(error_body(status, words, code, field), status, headers)


def _unknown_model() -> Response:
    words = "there is no such model here; /v1/models names those there are"
    return _error(404, words, "model_not_found", "model")
