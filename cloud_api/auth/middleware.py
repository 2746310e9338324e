"""Nothing is answered to whom nobody knows, but for the routes listed here, and nothing
to a token that may not ask for it."""

from __future__ import annotations

import asyncio
import time

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from cloud_api import callers
from cloud_api.auth.tokens import shown_token
from cloud_api.callers import Authority, Caller
from cloud_api.connections import DOOR, VISIT
from cloud_api.errors import ForbiddenError, NothingHereError, UnauthorizedError
from cloud_api.http import problems
from decoding_core.errors import DecodingError

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
SCOPES_OF_PATHS: dict[str, callers.Scope] = {
    "/v1/": callers.Scope.VERIFY,
    "/openai/v1/": callers.Scope.OPENAI,
    "/metrics": callers.Scope.STATUS,
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
