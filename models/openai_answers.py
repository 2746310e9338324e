"""Texts as answers to OpenAI's clients, whole or as a stream of events."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from models.openai_bodies import ChatBody, CompletionBody


class StopFinder:
    """Passes a text on up to the first stop string; holds back what may begin one."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(filter(None, stops))
        self._held = ""
        self.found = False
        """Whether the text has come to a stop string."""

    def push(self, text: str) -> str:
        """Take the next piece; returns what can be passed on now."""
        if self.found:
            return ""
        whole = self._held + text
        ends = [at for stop in self._stops if (at := whole.find(stop)) >= 0]
        if ends:
            self.found, self._held = True, ""
            return whole[: min(ends)]
        sizes = range(1, len(whole) + 1)
        ends = [n for n in sizes for one in self._stops if one.startswith(whole[-n:])]
        keep = max(ends, default=0)
        self._held = whole[len(whole) - keep :]
        return whole[: len(whole) - keep]

    def rest(self) -> str:
        """What was held back, when nothing more comes."""
        held, self._held = self._held, ""
        return held


FinishReason = Literal["stop", "length"]
"""The text came to its end or to a stop string; it reached the limit of its length."""
DONE = b"data: [DONE]\n\n"
"""The last event of a stream that came to its end."""
_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}


@dataclass(frozen=True, slots=True)
class Usage:
    """How many tokens were read and written."""

    prompt: int
    completion: int

    def body(self) -> dict[str, int]:
        """As clients expect it."""
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.completion,
            "total_tokens": self.prompt + self.completion,
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one request of a chat or for a completion."""

    model: str
    created: int
    """Seconds since 1970."""
    chat: bool
    id: str = field(default_factory=lambda: secrets.token_hex(12))

    def whole(self, text: str, finish: FinishReason, usage: Usage) -> dict[str, Any]:
        """The body of an answer that is not streamed."""
        said: dict[str, Any] = {"text": text}
        if self.chat:
            said = {"message": {"role": "assistant", "content": text, "refusal": None}}
        return self._body(said, finish, usage=usage.body())

    def first(self) -> bytes:
        """The event before the first piece of a stream; none for a completion."""
        if not self.chat:
            return b""
        return self._event({"delta": {"role": "assistant", "content": ""}})

    def piece(self, text: str) -> bytes:
        """The event of a piece of text."""
        return self._event(
            {"delta": {"content": text}} if self.chat else {"text": text}
        )

    def last(self, finish: FinishReason, usage: Usage | None) -> bytes:
        """The events that end a stream; with `usage`, one more that reports it."""
        said: dict[str, Any] = {"delta": {}} if self.chat else {"text": ""}
        events = self._event(said, finish)
        if usage is not None:
            events += event(self._body(None, streamed=True, usage=usage.body()))
        return events + DONE

    def _event(self, said: dict[str, Any], finish: FinishReason | None = None) -> bytes:
        return event(self._body(said, finish, streamed=True))

    def _body(
        self,
        said: dict[str, Any] | None,
        finish: FinishReason | None = None,
        *,
        streamed: bool = False,
        **more: Any,
    ) -> dict[str, Any]:
        choice = {"index": 0, **(said or {}), "logprobs": None, "finish_reason": finish}
        kind, prefix = "text_completion", "cmpl"
        if self.chat:
            kind, prefix = "chat.completion", "chatcmpl"
            kind += ".chunk" if streamed else ""
        return {
            "id": f"{prefix}-{self.id}",
            "object": kind,
            "created": self.created,
            "model": self.model,
            "choices": [] if said is None else [choice],
            **more,
        }


def event(body: dict[str, Any]) -> bytes:
    """A server-sent event."""
    return f"data: {json.dumps(body)}\n\n".encode()


def error_body(
    status: int, message: str, code: str, param: str | None = None
) -> dict[str, Any]:
    """An error as clients expect it."""
    usual = "server_error" if status >= 500 else "invalid_request_error"
    kind = _KINDS.get(status, usual)
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def model_list(names: list[str], created: int) -> dict[str, Any]:
    """The models that a client may name."""
    data = [described_model(name, created) for name in names]
    return {"object": "list", "data": data}


def described_model(name: str, created: int) -> dict[str, Any]:
    """One of them."""
    return {"id": name, "object": "model", "created": created, "owned_by": "specsteer"}


class TextResponse(Response):
    """Writes a text, as a stream or whole, until it ends or the client has gone."""

    def __init__(
        self,
        body: ChatBody | CompletionBody,
        created: int,
        begin: Callable[[], AbstractAsyncContextManager[Any]],
        write: Callable[[Any], AsyncGenerator[str, None]],
        error_of: Callable[[Exception], dict[str, Any]],
    ) -> None:
        """`begin` gives the text while its block runs, with its `finish` (a
        FinishReason) and `usage` (a Usage) in the end; `write` its pieces; `error_of`
        the body of an error when a stream has begun."""
        super().__init__()
        self._body = body
        self._answer = Answer(body.model, created, isinstance(body, ChatBody))
        self._begin = begin
        self._write = write
        self._error_of = error_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write, until the client hangs up. Raises what `begin` and `write` raise
        before the answer has begun."""

        async def leave() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        writing = asyncio.create_task(self._respond(scope, receive, send))
        leaving = asyncio.create_task(leave())
        try:
            await asyncio.wait({writing, leaving}, return_when="FIRST_COMPLETED")
        finally:
            gone = not writing.done()
            leaving.cancel()
            writing.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait({writing})
        if not gone:
            writing.result()

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._begin() as text, aclosing(self._write(text)) as written:
            if self._body.stream:
                # An error before the first piece is answered as one.
                first = await anext(written, None)
                answer = StreamingResponse(
                    self._events(text, first, written),
                    headers={"cache-control": "no-store"},
                    media_type="text/event-stream",
                )
                await answer.stream_response(send)
                return
            pieces = [piece async for piece in written]
            body = self._answer.whole("".join(pieces), text.finish, text.usage)
            await JSONResponse(body)(scope, receive, send)

    async def _events(
        self, text: Any, piece: str | None, more: AsyncGenerator[str, None]
    ) -> AsyncGenerator[bytes, None]:
        """The events of a text from its first piece on; an error is the last one."""
        answer, start = self._answer, self._answer.first()
        try:
            while piece is not None:
                yield start + answer.piece(piece)
                start, piece = b"", await anext(more, None)
            usage = text.usage if self._body.tells_usage else None
            yield start + answer.last(text.finish, usage)
        except Exception as error:  # noqa: BLE001  (the stream has begun)
            yield event(self._error_of(error))
