"""Nothing is answered without the token, but for the routes listed here."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from cloud_api.auth.tokens import carries
from cloud_api.connections import VISIT
from cloud_api.errors import UnauthorizedError
from cloud_api.http import problems

OPEN_PATHS = frozenset({"/healthz", "/readyz"})


class RequireToken:
    """ASGI middleware: 401 for requests and WebSockets without the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what carries the token, and answer 401 to the rest."""
        if scope["type"] == "lifespan" or self._may_pass(scope):
            await self._app(scope, receive, send)
            return
        error = UnauthorizedError("send the header 'Authorization: Bearer <token>'")
        await problems.of_error(error).response()(scope, receive, send)

    def _may_pass(self, scope: Scope) -> bool:
        if scope["type"] == "http" and scope["path"] in OPEN_PATHS:
            return True
        given = Headers(scope=scope).get("authorization", "")
        if not carries(given, self._token):
            return False
        visit = scope.get("state", {}).get(VISIT)
        if visit is not None:  # outside of uvicorn there are no connections
            visit.known = True
        return True
