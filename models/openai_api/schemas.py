"""The bodies that OpenAI's clients send.

Fields that would change the text in a way that is not done here must have the value
that changes nothing; what else a client sends besides is not looked at. So a program
gets what it asked for, or is told what it cannot have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

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
Count = Annotated[int, Field(ge=1, lt=1 << 31), BeforeValidator(whole_number)]
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
Nobody = Annotated[list[Any], Field(max_length=0)]
Empty = Annotated[dict[str, Any], Field(max_length=0)]

UNSUPPORTED = frozenset(
    {
        "audio",
        "best_of",
        "echo",
        "frequency_penalty",
        "functions",
        "logit_bias",
        "logprobs",
        "modalities",
        "n",
        "presence_penalty",
        "response_format",
        "suffix",
        "tools",
        "top_logprobs",
    }
)
"""Fields that may only be left as they are."""


class _Body(BaseModel):
    model_config = ConfigDict(
        extra="ignore",
        strict=True,
        frozen=True,
        hide_input_in_errors=True,
        allow_inf_nan=False,
    )


class TextPart(_Body):
    """A part of a message; other kinds than text are refused."""

    type: Literal["text"]
    text: Text


class ChatMessage(_Body):
    """One turn of a conversation."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Text | Annotated[list[TextPart], Field(min_length=1, max_length=64)]

    @property
    def words(self) -> str:
        """The content as one text."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content)


class StreamOptions(_Body):
    """What a stream brings besides the text."""

    include_usage: bool = False


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
        return self.stream_options is not None and self.stream_options.include_usage


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
    tools: Nobody | None = None
    functions: Nobody | None = None
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


def complaint(errors: Iterable[Mapping[str, Any]]) -> tuple[str, str | None]:
    """A sentence on what is wrong with a body, and the field that it is about, from
    what pydantic found. Nothing that was sent is quoted."""
    for one in errors:
        if one["type"] == "json_invalid":
            return "the body is not JSON", None
        names = [str(part) for part in one["loc"] if part != "body"]
        known = [name for name in names if name in _NAMES or name.isdigit()]
        if not known:
            return f"the body: {one['msg']}", None
        if known[0] in UNSUPPORTED:
            return f"'{known[0]}' is not supported here; leave it out", known[0]
        return f"{'.'.join(known)}: {one['msg']}", known[0]
    return "the body cannot be read", None
