"""The bodies that OpenAI's clients expect, whole or as a stream of events."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field
from typing import Any, Literal

FinishReason = Literal["stop", "length"]
"""The text came to its end or to a stop string; it reached the limit of its length."""
DONE = b"data: [DONE]\n\n"
"""The last event of a stream that came to its end."""
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "invalid_request_error",
    413: "invalid_request_error",
    422: "invalid_request_error",
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
    """The answer to one request, of a chat or of a completion."""

    model: str
    created: int
    """Seconds since 1970."""
    chat: bool
    id: str = field(default_factory=lambda: secrets.token_hex(12))

    def whole(self, text: str, finish: FinishReason, usage: Usage) -> dict[str, Any]:
        """The body of an answer that comes at once."""
        said: dict[str, Any] = {"text": text}
        if self.chat:
            said = {"message": {"role": "assistant", "content": text, "refusal": None}}
        return self._body([self._choice(said, finish)], usage=usage.body())

    def first(self) -> bytes:
        """The event before the first piece of a stream; none for a completion."""
        if not self.chat:
            return b""
        return self._event({"delta": {"role": "assistant", "content": ""}}, None)

    def piece(self, text: str) -> bytes:
        """The event of a piece of text."""
        said = {"delta": {"content": text}} if self.chat else {"text": text}
        return self._event(said, None)

    def last(self, finish: FinishReason, usage: Usage | None) -> bytes:
        """The events that end a stream; with `usage`, one more that tells it."""
        said: dict[str, Any] = {"delta": {}} if self.chat else {"text": ""}
        events = self._event(said, finish)
        if usage is not None:
            events += event(self._body([], streamed=True, usage=usage.body()))
        return events + DONE

    def _choice(
        self, said: dict[str, Any], finish: FinishReason | None
    ) -> dict[str, Any]:
        return {"index": 0, **said, "logprobs": None, "finish_reason": finish}

    def _event(self, said: dict[str, Any], finish: FinishReason | None) -> bytes:
        return event(self._body([self._choice(said, finish)], streamed=True))

    def _body(
        self, choices: list[dict[str, Any]], *, streamed: bool = False, **more: Any
    ) -> dict[str, Any]:
        kind, prefix = "text_completion", "cmpl"
        if self.chat:
            kind, prefix = "chat.completion", "chatcmpl"
            kind += ".chunk" if streamed else ""
        return {
            "id": f"{prefix}-{self.id}",
            "object": kind,
            "created": self.created,
            "model": self.model,
            "choices": choices,
            **more,
        }


def event(body: dict[str, Any]) -> bytes:
    """A server-sent event."""
    return f"data: {json.dumps(body)}\n\n".encode()


def error_body(
    status: int, message: str, code: str, param: str | None = None
) -> dict[str, Any]:
    """An error as clients expect it."""
    kind = _KINDS.get(status, "server_error" if status >= 500 else _KINDS[400])
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def model_list(names: list[str], created: int) -> dict[str, Any]:
    """The models that a client may name."""
    return {
        "object": "list",
        "data": [described_model(name, created) for name in names],
    }


def described_model(name: str, created: int) -> dict[str, Any]:
    """One of them."""
    return {"id": name, "object": "model", "created": created, "owned_by": "specsteer"}
