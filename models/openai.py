"""What OpenAI's clients send, the one way to read it, and the answers to it.

Fields that would change the text in an unsupported way must have the value that changes
nothing; others are ignored. So a program gets what it asked for, or an error. An answer
comes whole or as a stream of events.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from decoding_core.errors import MessageError

TEXT_LIMIT = 1 << 18  # characters of a message or a prompt
_LONGEST_STOP = 256


def whole_number(value: object) -> object:
    """7 for 7.0, which is a whole number of JSON, too."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _nothing(value: object) -> object:
    """0 for 0.0 and -0.0."""
    return 0 if value == 0 and not isinstance(value, bool) else value


# Limits stand before the function, so that they stand in the description, too.
Count = Annotated[int, Field(ge=1), BeforeValidator(whole_number)]
One = Annotated[int, Field(ge=1, le=1), BeforeValidator(whole_number)]
Seed = Annotated[
    int,
    # Numbers that every reader of the description takes for the same.
    Field(ge=-(10**18), le=10**18),
    BeforeValidator(whole_number),
]
Zero = Annotated[float, Field(ge=0, le=0), BeforeValidator(_nothing)]
Stop = Annotated[str, Field(min_length=1, max_length=_LONGEST_STOP)]
Text = Annotated[str, Field(max_length=TEXT_LIMIT)]
Prompt = Annotated[str, Field(min_length=1, max_length=TEXT_LIMIT)]
Nothing = Annotated[list[Any], Field(max_length=0)]
Content = Text | Annotated[list["TextPart"], Field(min_length=1, max_length=64)]
Empty = Annotated[dict[str, Any], Field(max_length=0)]

UNSUPPORTED = {
    "audio", "best_of", "echo", "frequency_penalty", "functions", "logit_bias",
    "logprobs", "modalities", "n", "presence_penalty", "response_format", "suffix",
    "tools", "top_logprobs",
}  # fmt: skip
"""Fields that may only be left as they are."""


class _Body(BaseModel):
    model_config = ConfigDict(
        extra="ignore", strict=True, hide_input_in_errors=True, allow_inf_nan=False
    )


class TextPart(_Body):
    """A part of a message; other kinds than text are refused."""

    type: Literal["text"]
    text: Text


class ChatMessage(_Body):
    """One turn of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Content | None = None
    tool_calls: list[Any] | None = None
    function_call: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> ChatMessage:
        calls = self.role == "assistant" and (self.tool_calls or self.function_call)
        if self.content is None and not calls:
            raise ValueError("content may be null beside an assistant's calls alone")
        return self

    @property
    def words(self) -> str:
        """The content as one text; empty if the turn only calls tools."""
        if self.content is None or isinstance(self.content, str):
            return self.content or ""
        return "\n".join(part.text for part in self.content)


class StreamOptions(_Body):
    """What a stream brings besides the text."""

    include_usage: bool | None = None


class _Writing(_Body):
    """What both kinds of requests share."""

    model: str = Field(min_length=1, max_length=256)
    temperature: float | None = Field(None, ge=0, le=2)
    top_p: float | None = Field(None, gt=0, le=1)
    seed: Seed | None = None
    stop: Stop | Annotated[list[Stop], Field(max_length=4)] | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: Count | None = None
    n: One | None = None
    frequency_penalty: Zero | None = None
    presence_penalty: Zero | None = None
    logit_bias: Empty | None = None

    @property
    def stops(self) -> tuple[str, ...]:
        """What ends the text before it is written."""
        if self.stop is None:
            return ()
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)

    @property
    def limit(self) -> int | None:
        """The most tokens that the text may have; None: as many as there is room."""
        return self.max_tokens

    @property
    def tells_usage(self) -> bool:
        """Whether a stream ends with how many tokens there were."""
        return bool(self.stream_options and self.stream_options.include_usage)


class TextFormat(_Body):
    """Plain text is the only format."""

    type: Literal["text"]


class ChatBody(_Writing):
    """A request for the next turn of a conversation."""

    messages: list[ChatMessage] = Field(min_length=1, max_length=512)
    max_completion_tokens: Count | None = None
    logprobs: Literal[False] | None = None
    top_logprobs: Literal[0] | None = None
    response_format: TextFormat | None = None
    tools: Nothing | None = None
    functions: Nothing | None = None
    modalities: list[Literal["text"]] | None = Field(None, max_length=1)
    audio: None = None
    verbosity: Literal["low", "medium", "high"] | None = None

    @property
    def limit(self) -> int | None:
        """The most tokens that the text may have; None: as many as there is room."""
        return self.max_completion_tokens or self.max_tokens


class CompletionBody(_Writing):
    """A request for what follows a text."""

    prompt: Prompt | Annotated[list[Prompt], Field(min_length=1, max_length=1)]
    best_of: One | None = None
    echo: Literal[False] | None = None
    suffix: Literal[""] | None = None
    logprobs: None = None

    @property
    def words(self) -> str:
        """The text to go on with."""
        return self.prompt if isinstance(self.prompt, str) else self.prompt[0]


_NAMES = frozenset(
    name
    for body in (ChatBody, CompletionBody, ChatMessage, TextPart, StreamOptions)
    for name in body.model_fields
)


class InvalidBodyError(MessageError):
    """A body breaks its schema. The sentence quotes nothing of it."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field
        """The field that it is about."""


_Kind = TypeVar("_Kind", bound=_Writing)


def read_body(kind: type[_Kind], data: bytes) -> _Kind:
    """The request in a body: JSON in UTF-8, also behind a byte order mark; raises
    InvalidBodyError if it breaks the schema."""
    try:
        return kind.model_validate_json(data.removeprefix(BOM_UTF8))
    except ValidationError as error:
        raise _complaint(error) from error


def _complaint(error: ValidationError) -> InvalidBodyError:
    one = error.errors()[0]
    words = str(one["msg"]).removeprefix("Value error, ")
    if one["type"] == "json_invalid":
        return InvalidBodyError("the body is not JSON in UTF-8")
    names = [str(part) for part in one["loc"]]
    known = [name for name in names if name in _NAMES or name.isdigit()]
    if not known:
        return InvalidBodyError(f"the body: {words}")
    if known[0] in UNSUPPORTED:
        return InvalidBodyError(
            f"'{known[0]}' is not supported here; leave it out", known[0]
        )
    return InvalidBodyError(f"{'.'.join(known)}: {words}", known[0])


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
DONE = b"data: [DONE]\n\n"  # the last event of a stream that came to its end
_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


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
    created: int  # seconds since 1970
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
