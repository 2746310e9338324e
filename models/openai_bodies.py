"""The bodies that OpenAI's clients send, and the one way to read them.

Fields that would change the text in an unsupported way must have the value that changes
nothing; others are ignored. So a program gets what it asked for, or an error.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from decoding_core.errors import MessageError

TEXT_LIMIT = 1 << 18
"""Characters of a message or a prompt."""
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
