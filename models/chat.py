"""Chat templates: messages to token ids, with no way for a text to forge a role.

The template comes with the model file and is not trusted: it runs in Jinja's
sandbox. What a person wrote is not trusted either: the template is rendered around
placeholders, and only its own words may become control tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from jinja2 import Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from decoding_core.errors import ModelError
from models.prompts import Message

_PLACEHOLDER = re.compile("\ue000(\\d+)\ue001")


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a rendered prompt."""

    text: str
    control: bool
    """Whether control tokens may be read from it: true for the template's own words."""


def render(template: str, messages: Sequence[Message]) -> list[Segment]:
    """Segments of the prompt that asks for the assistant's turn.

    Raises:
        ModelError: the template cannot be rendered, or loses a message.
    """
    held = [
        {"role": message.role, "content": f"\ue000{index}\ue001"}
        for index, message in enumerate(messages)
    ]
    try:
        text = _compiled(template).render(
            messages=held, add_generation_prompt=True, bos_token="", eos_token=""
        )
    except (TemplateError, TypeError) as error:
        raise ModelError(
            f"the model's chat template cannot be used: {error}"
        ) from error
    return _segments(text, messages)


def prompt_ids(
    tokenize: Callable[[str, bool], list[int]],
    template: str,
    messages: Sequence[Message],
) -> list[int]:
    """Token ids of the rendered prompt; `tokenize` takes a text and whether control
    tokens may be read from it."""
    ids: list[int] = []
    for segment in render(template, messages):
        ids += tokenize(segment.text, segment.control)
    return ids


@lru_cache(maxsize=8)
def _compiled(template: str) -> Template:
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = _refuse
    return environment.from_string(template)


def _segments(text: str, messages: Sequence[Message]) -> list[Segment]:
    pieces = _PLACEHOLDER.split(text)  # own words and message numbers, in turn
    if sorted(map(int, pieces[1::2])) != list(range(len(messages))):
        raise ModelError("the model's chat template leaves out a message")
    segments = []
    for position, piece in enumerate(pieces):
        if position % 2:
            segments.append(Segment(messages[int(piece)].content, control=False))
        elif piece:
            segments.append(Segment(piece, control=True))
    return [segment for segment in segments if segment.text]


def _refuse(reason: str) -> None:
    raise TemplateError(reason)
