"""ASGI middleware around the routes: tokens, sizes, rates, and the shape of errors."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cloud_api import problems
from cloud_api.auth import Authority, Caller, shown_token
from cloud_api.auth import Scope as Access
from cloud_api.connections import DOOR, VISIT
from cloud_api.errors import (
    BodyTooLargeError,
    ForbiddenError,
    NothingHereError,
    QuotaError,
    UnauthorizedError,
    log_fault,
)
from cloud_api.problems import MEDIA_TYPE
from decoding_core.errors import DecodingError
from models.openai_answers import error_body

OPEN_PATHS = frozenset(
    {
        *("/healthz", "/readyz"),
        # What a new device asks shows that it knows a code.
        *("/v1/pair", "/v1/pair/proof"),
        # The page shows nobody more than a form that asks for a token.
        *("/", "/status.css", "/status/enter", "/status/leave"),
    }
)
"""For whoever asks."""
SCOPES_OF_PATHS: dict[str, Access] = {
    "/v1/": Access.VERIFY,
    "/openai/v1/": Access.OPENAI,
    "/metrics": Access.STATUS,
}
"""By the beginning of a path: what a token must be good for. What begins with none of
these is there for nobody."""


class Authenticate:
    """ASGI middleware: 401 for requests and WebSockets without a token that is known,
    403 for what that token may not ask; the caller of the rest is put into the state
    of its scope."""

    def __init__(self, app: ASGIApp, authority: Authority) -> None:
        self._app = app
        self._authority = authority

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what may be asked, and answer the rest."""
        opened = scope["type"] == "http" and scope["path"] in OPEN_PATHS
        if scope["type"] != "lifespan" and not opened:
            try:
                scope.setdefault("state", {})["caller"] = self._admitted(scope)
            except DecodingError as error:
                if isinstance(error, UnauthorizedError):
                    await self._keep_waiting(scope)
                await problems.of_error(error).response()(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _admitted(self, scope: Scope) -> Caller:
        """Who asks.

        Raises:
            UnauthorizedError: nobody that is known.
            QuotaError: one who has too many connections.
            ForbiddenError: one who may not ask this.
            NothingHereError: the path begins as no route does.
        """
        token = shown_token(Headers(scope=scope).get("authorization", ""))
        caller = self._authority.caller(token) if token else None
        state = scope.get("state", {})
        if caller is None:
            if VISIT in state:
                state[VISIT].user = ""
            raise UnauthorizedError("send the header 'Authorization: Bearer <token>'")
        if VISIT in state:  # outside of uvicorn there are no connections
            state[DOOR].recognise(state[VISIT], caller.user, time.monotonic())
        path = scope["path"]
        needed = {s for start, s in SCOPES_OF_PATHS.items() if path.startswith(start)}
        if not needed:
            raise NothingHereError("Not Found")
        if not needed & caller.scopes:
            raise ForbiddenError("this token may not be used for that")
        return caller

    async def _keep_waiting(self, scope: Scope) -> None:
        """Have a wrong token counted, and slow down who tries many. A request without
        any token tries none."""
        token = shown_token(Headers(scope=scope).get("authorization", ""))
        if not token:
            return
        visit = scope.get("state", {}).get(VISIT)
        client = scope.get("client")
        place = visit.network if visit is not None else client[0] if client else ""
        delay = self._authority.refuse(token, place)
        if delay:
            await asyncio.sleep(delay)


SESSIONS = "/v1/sessions"


class LimitBody:
    """Refuses a body above `limit` bytes, announced or not, before it is read whole."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count what is read."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._limit:
                # The one kind of exception that FastAPI lets through here.
                raise HTTPException(413)
            return message

        announced = Headers(scope=scope).get("content-length", "0")
        if announced.isdigit() and int(announced) > self._limit:
            error = BodyTooLargeError(f"a body may hold {self._limit} bytes")
            await problems.of_error(error).response()(scope, receive, send)
            return
        await self._app(scope, counted, send)


class AdmitOpenings:
    """Asks whether a caller may begin a text now, before the text is read."""

    def __init__(self, app: ASGIApp, admit: Callable[[Caller], None]) -> None:
        self._app = app
        self._admit = admit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or answer 429 with the time after which the caller is let in."""
        if scope["type"] == "http" and scope["path"].startswith(SESSIONS):
            begins = scope["method"] == "PUT" or scope["path"] == SESSIONS
            try:
                if begins and scope["method"] in ("POST", "PUT"):
                    self._admit(scope["state"]["caller"])
            except QuotaError as error:
                await problems.of_error(error).response()(scope, receive, send)
                return
        await self._app(scope, receive, send)


class CatchAllErrors:
    """Catches what nobody expected, names it in the log and answers without it.

    The server below would log the message, and a message may quote content. A stream
    catches its own errors once it is accepted, so what comes here is unanswered yet.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and answer 500 where nothing was answered yet."""
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            passed_on = watched if scope["type"] == "http" else send
            await self._app(scope, receive, passed_on)
        except Exception:
            log_fault(f"a {scope['type']} request")
            if scope["type"] == "lifespan":
                raise
            if not started:
                await problems.internal().response()(scope, receive, send)


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


class CountAnswers:
    """ASGI middleware: counts answers by their status. Denied streams are counted
    where they are denied (`StreamConnection`), so that nothing stands between the
    frames of a stream and its socket."""

    def __init__(self, app: ASGIApp, answers: Counter[int]) -> None:
        self._app = app
        self._answers = answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count what passes."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._answers[message["status"]] += 1
            await send(message)

        await self._app(scope, receive, counted)
