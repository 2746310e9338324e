"""ASGI middleware around the routes: tokens, rates, sizes and faults."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cloud_api import problems
from cloud_api.auth import Authority, Caller, shown_token
from cloud_api.auth import Scope as Access
from cloud_api.connections import CONNECTIONS, PEER, ConnectionTable, Peer, place_of
from cloud_api.errors import QuotaError, log_fault

OPEN_PATHS = frozenset(
    {
        *("/healthz", "/readyz"),
        # What a new device asks shows that it knows a code.
        *("/v1/pair", "/v1/pair/proof"),
        # The page shows nobody more than a form that asks for a token.
        *("/", "/status.css", "/status/enter", "/status/leave"),
    }
)
"""Paths that need no token."""
SCOPES_OF_PATHS: dict[str, Access] = {
    "/v1/": Access.VERIFY,
    "/openai/v1/": Access.OPENAI,
    "/metrics": Access.STATUS,
}
"""The scope that a token needs, by the beginning of the path. Other paths do not
exist."""
_SESSIONS = "/v1/sessions"


class Authenticate:
    """ASGI middleware: answers 401 without a known token, 403 without the scope, and
    429 to a user who begins too many texts, before the text is read. The caller of
    other requests is put into the state of their scope."""

    def __init__(
        self, app: ASGIApp, authority: Authority, admit: Callable[[Caller], None]
    ) -> None:
        """`admit` counts a text that a caller begins, and raises QuotaError."""
        self._app = app
        self._authority = authority
        self._admit = admit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer why not."""
        is_open = scope["type"] == "http" and scope["path"] in OPEN_PATHS
        if scope["type"] == "lifespan" or is_open:
            await self._app(scope, receive, send)
            return
        token = shown_token(Headers(scope=scope).get("authorization", ""))
        caller = self._authority.caller(token) if token else None
        peer = scope.setdefault("state", {}).get(PEER)  # only behind uvicorn
        if caller is not None:
            scope["state"]["caller"] = caller
            problem = self._refusal(scope, caller, peer)
        else:
            problem = problems.UNAUTHORIZED
            if peer is not None:
                peer.user = ""
            if token:  # many wrong ones are answered slowly
                await asyncio.sleep(self._authority.refuse(token, place_of(scope)))
        if problem is not None:
            await problem.answer(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(
        self, scope: Scope, caller: Caller, peer: Peer | None
    ) -> problems.Problem | None:
        """Why a known caller may not make this request; None if it may."""
        path, method = scope["path"], scope.get("method")
        needed = {s for start, s in SCOPES_OF_PATHS.items() if path.startswith(start)}
        try:
            if peer is not None:
                table: ConnectionTable = scope["state"][CONNECTIONS]
                table.recognise(peer, caller.user, time.monotonic())
            if not needed:
                return problems.of_status(404)
            if not needed & caller.scopes:
                return problems.FORBIDDEN
            if (method == "POST" and path == _SESSIONS) or (
                method == "PUT" and path.startswith(_SESSIONS)
            ):
                self._admit(caller)
        except QuotaError as error:
            return problems.of_error(error)
        return None


class LimitBody:
    """ASGI middleware: refuses a body above `limit` bytes, announced or not, before it
    is read whole."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on while its body is within the limit."""
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
            await problems.TOO_LARGE.answer(scope, receive, send)
            return
        await self._app(scope, counted, send)


class CountAnswers:
    """ASGI middleware: counts answers by status, and answers 500 to an exception that
    nothing below expected. The log names the exception: the server below would log its
    message, which may quote content.

    Streams send past it; they catch their own errors once they are accepted, and denied
    ones are counted by `StreamConnection`.
    """

    def __init__(self, app: ASGIApp, answers: Counter[int]) -> None:
        self._app = app
        self._answers = answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count its answer."""
        started = False

        async def counted(message: Message) -> None:
            nonlocal started
            started = True
            if message["type"] == "http.response.start":
                self._answers[message["status"]] += 1
            await send(message)

        passed_on = counted if scope["type"] == "http" else send
        try:
            await self._app(scope, receive, passed_on)
        except Exception:
            log_fault(f"a {scope['type']} request")
            if scope["type"] == "lifespan":
                raise
            if not started:
                await problems.INTERNAL.answer(scope, receive, passed_on)
