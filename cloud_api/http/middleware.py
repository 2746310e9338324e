"""ASGI middleware around the whole service: the size of bodies is limited, and how
often texts are begun; errors that nobody expected are caught."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cloud_api import logs
from cloud_api.callers import Caller
from cloud_api.errors import BodyTooLargeError, QuotaError
from cloud_api.http import problems

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
            logs.fault(f"a {scope['type']} request")
            if scope["type"] == "lifespan":
                raise
            if not started:
                await problems.internal().response()(scope, receive, send)
