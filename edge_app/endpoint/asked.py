"""What a program asks for, as a text to write.

The last message is the request, and the only one that a server reads. Everything else
of a conversation, what the system says and what was said before, is read on this device
alone, as private notes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from decoding_core.errors import InvalidSettingsError
from edge_app.service.requests import WriteRequest
from models.openai_api.schemas import ChatBody, ChatMessage, CompletionBody
from models.prompts import TASKS, Request

NAME = "specsteer"
"""The model that writes what `specsteer serve` was told to; `specsteer-review` and so
on write a task of their own."""
_SPEAKERS = {
    "system": "",
    "developer": "",
    "user": "Asked before: ",
    "assistant": "Written before: ",
    "tool": "Looked up before: ",
    "function": "Looked up before: ",
}
_SEEDS = 1 << 63


@dataclass(frozen=True, slots=True)
class EndpointConfig:
    """What a request leaves open."""

    template: WriteRequest
    """Its method, length, history and so on."""
    token: str
    origins: frozenset[str] = frozenset()
    """Whose pages may ask from a browser."""

    @property
    def names(self) -> list[str]:
        """The models that a client may name."""
        return [NAME, *(f"{NAME}-{task}" for task in TASKS)]


def write_request(
    body: ChatBody | CompletionBody, config: EndpointConfig
) -> WriteRequest:
    """The text that a body asks for.

    Raises:
        InvalidSettingsError: no request stands at its end.
    """
    words, notes = _parted(body)
    if not words.strip():
        raise InvalidSettingsError("the request is empty; say what the text should say")
    template = config.template
    task = body.model.removeprefix(NAME).removeprefix("-") or template.brief.task
    settings = template.settings
    if body.temperature is not None:
        settings = replace(settings, temperature=body.temperature)
    if body.top_p is not None:
        settings = replace(settings, top_p=body.top_p)
    if body.seed is not None:
        settings = replace(settings, seed=body.seed % _SEEDS)
    limit = body.limit or template.max_tokens
    return replace(
        template,
        brief=Request(words, task),
        background=notes,
        settings=settings,
        max_tokens=limit,
        # Whatever a program asks for, the history is not to be pushed out by it.
        reserved=min(limit, template.max_tokens),
    )


def _parted(body: ChatBody | CompletionBody) -> tuple[str, str]:
    """The request, and the private notes."""
    if isinstance(body, CompletionBody):
        return body.words, ""
    *before, last = body.messages
    if last.role != "user":
        raise InvalidSettingsError("the last message must be the user's: the request")
    return last.words, _notes(before)


def _notes(messages: Sequence[ChatMessage]) -> str:
    return "\n\n".join(
        f"{_SPEAKERS[one.role]}{one.words.strip()}"
        for one in messages
        if one.words.strip()
    )
