"""How many requests were answered with which status."""

from __future__ import annotations

from collections import Counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class CountAnswers:
    """ASGI middleware: counts answers by their status, denied streams too."""

    def __init__(self, app: ASGIApp, answers: Counter[int]) -> None:
        self._app = app
        self._answers = answers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count what passes."""

        async def counted(message: Message) -> None:
            if message["type"].endswith("response.start"):
                self._answers[message["status"]] += 1
            await send(message)

        await self._app(scope, receive, counted)
