"""How many requests were answered with which status."""

from __future__ import annotations

from collections import Counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send


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
