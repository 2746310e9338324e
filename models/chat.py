"""Chat templates: messages to token ids, with no way for a text to forge a role.

The template comes with the model file and is not trusted: a process of its own renders
it (`template_child`), in Jinja's sandbox and within limits of time and memory. It never
sees a text: it is rendered around placeholders, and only its own words may become
control tokens. So it is rendered once for each sequence of roles.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from decoding_core.errors import ModelError
from models import python_child
from models.prompts import Message

_PLACEHOLDER = re.compile("\ue000([0-9]{1,6})\ue001")
_USUAL = (("user",), ("system", "user"))
"""The roles of the public and of the private prompt: one process renders both."""
_LONGEST = 256 << 10
"""Characters of a template, and of what it writes around the messages. The longest
among usual models has about 16,000."""
_SECONDS = 5
"""Of computing; a usual template takes a thousandth of it."""
_PATIENCE = 120.0
"""Seconds to wait for a process that cannot compute for more than `_SECONDS`."""

Roles = tuple[str, ...]


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
    roles = tuple(message.role for message in messages)
    if len(template) > _LONGEST:
        raise ModelError(
            "the model's chat template cannot be used: it has more than "
            f"{_LONGEST} characters"
        )
    if roles in _USUAL:
        text, why = _rendered(template, _USUAL)[_USUAL.index(roles)]
    else:
        text, why = _rendered(template, (roles,))[0]
    if why:
        raise ModelError(f"the model's chat template cannot be used: {why}")
    pieces = _PLACEHOLDER.split(text)  # own words and message numbers, in turn
    if sorted(map(int, pieces[1::2])) != list(range(len(messages))):
        raise ModelError("the model's chat template leaves out a message")
    segments = [
        Segment(messages[int(piece)].content, control=False)
        if position % 2
        else Segment(piece, control=True)
        for position, piece in enumerate(pieces)
    ]
    return [segment for segment in segments if segment.text]


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


@lru_cache(maxsize=64)
def _rendered(template: str, conversations: tuple[Roles, ...]) -> list[tuple[str, str]]:
    """The text for each sequence of roles, with placeholders for the messages, or why
    there is none."""
    asked = {
        "template": template,
        "conversations": [
            [
                {"role": role, "content": f"\ue000{index}\ue001"}
                for index, role in enumerate(roles)
            ]
            for roles in conversations
        ],
        "longest": _LONGEST,
        "seconds": _SECONDS,
    }
    with python_child.start(
        "models.template_child:main",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    ) as child:
        try:
            told, _ = child.communicate(json.dumps(asked), timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            told = ""
    try:
        return [(text, why) for text, why in json.loads(told)]
    except ValueError:
        why = "it takes too much time or memory, as no sound template does"
        return [("", why)] * len(conversations)
