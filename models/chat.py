"""Chat templates: messages to token ids, with no way for a text to forge a role.

The template comes with the model file and is not trusted: a process of its own renders
it (`template_child`), in Jinja's sandbox and within limits of time and memory. It never
sees a text: it is rendered around placeholders, and only its own words may become
control tokens. So it is rendered once for each sequence of roles.

A prompt is tokenized in one piece, as the model saw it in training, unless a message
holds the text of a control token. Then it is cut at those that the template wrote, and
what lies between is tokenized as mere text.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import TypedDict

from decoding_core.errors import ModelError
from models import python_child
from models.prompts import Message
from models.thinking import closing, mentions

PLAIN = (
    "{% for m in messages %}"
    "{% if m.role == 'assistant' %}{{ m.content + eos_token }}"
    "{% else %}{{ m.content + '\n\n' }}{% endif %}"
    "{% endfor %}"
)
"""For a model without a template: one text after the other, each with an empty line
behind it. No words of ours say who speaks: such a model has learnt to go on with a
text, and would go on with them, too."""

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
class ChatTemplate:
    """The chat template of a model, and what a template takes from its vocabulary."""

    source: str
    """Jinja; empty where the model has none, and `PLAIN` stands for it."""
    controls: Mapping[str, int]
    """The ids of all control tokens, by their texts."""
    bos: str = ""
    """The text of the token that begins every text, if there is one."""
    eos: str = ""
    adds_bos: bool = False
    """Whether the model is to read `bos` even where its template does not write it. It
    is never read twice."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a rendered prompt."""

    text: str
    control: bool
    """Whether control tokens may be read from it: true for the template's own words."""


class Asked(TypedDict):
    """What `chat` wants rendered."""

    template: str
    conversations: list[list[dict[str, str]]]
    """Their contents are placeholders."""
    bos_token: str
    eos_token: str
    day: str
    """In ISO 8601: what `strftime_now` tells."""
    longest: int
    """Characters that a text may have."""
    seconds: int
    """Of computing."""


class Told(TypedDict):
    """What it is told."""

    texts: list[tuple[str, str]]
    """For each conversation, its text, or "" and why there is none."""
    folded: bool
    """Whether the template takes no system role, so that the user says it."""
    switches: list[str]
    """By which variables it was told not to think."""


def render(template: ChatTemplate, messages: Sequence[Message]) -> list[Segment]:
    """Segments of the prompt that asks for the assistant's turn. No thoughts are asked
    for: a block that the template opens for them is closed.

    Raises:
        ModelError: the template cannot be rendered, or loses a message.
    """
    roles = tuple(message.role for message in messages)
    conversations = _USUAL if roles in _USUAL else (roles,)
    told = _told(template, conversations, date.today().isoformat())
    text, why = told["texts"][conversations.index(roles)]
    if why:
        raise ModelError(f"the model's chat template cannot be used: {why}")
    pieces = _PLACEHOLDER.split(text)  # own words and message numbers, in turn
    if sorted(map(int, pieces[1::2])) != list(range(len(messages))):
        raise ModelError("the model's chat template leaves out a message")
    if bos := template.bos:
        while pieces[0].startswith(bos + bos):
            pieces[0] = pieces[0].removeprefix(bos)
        if template.adds_bos and not pieces[0].startswith(bos):
            pieces[0] = bos + pieces[0]
    pieces[-1] += closing(pieces[-1])
    segments = [
        Segment(messages[int(piece)].content, control=False)
        if position % 2
        else Segment(piece, control=True)
        for position, piece in enumerate(pieces)
    ]
    return [segment for segment in segments if segment.text]


def prompt_ids(
    tokenize: Callable[[str, bool], list[int]],
    template: ChatTemplate,
    messages: Sequence[Message],
) -> list[int]:
    """Token ids of the rendered prompt; `tokenize` takes a text and whether control
    tokens may be read from it."""
    segments = render(template, messages)
    whole = "".join(segment.text for segment in segments)
    controls = _any_of(tuple(text for text in template.controls if text in whole))
    written, start = [], 0
    for segment in segments:
        if segment.control:
            own = controls.finditer(segment.text)
            written += [(start + m.start(), start + m.end()) for m in own]
        start += len(segment.text)
    if [found.span() for found in controls.finditer(whole)] == written:
        ids = tokenize(whole, True)
        # A tokenizer may also find one in letters that only look like its text.
        numbers = set(template.controls.values())
        if sum(one in numbers for one in ids) == len(written):
            return ids
    ids, end = [], 0
    for begin, stop in [*written, (len(whole), len(whole))]:
        if begin > end:
            ids += tokenize(whole[end:begin], False)
        if stop > begin:
            ids += tokenize(whole[begin:stop], True)
        end = stop
    return ids


def describe_template(template: ChatTemplate) -> str:
    """One sentence on how a model's template is used, for a person who checks.

    Raises:
        ModelError: it cannot be used.
    """
    for roles in _USUAL:
        render(template, [Message(role, "x") for role in roles])
    if not template.source:
        return (
            "the model has none, so it reads plain texts and may not find an end; one "
            "that follows instructions writes better"
        )
    told = _told(template, _USUAL, date.today().isoformat())
    parts = ["the model's own"]
    if told["folded"]:
        parts.append("it has no system role, so past texts stand before the request")
    if told["switches"]:
        parts.append(f"it is told not to think aloud ({', '.join(told['switches'])})")
    elif mentions(template.source):
        parts.append(
            "it cannot be told not to think aloud, so blocks of thoughts are closed "
            "before they begin, and never shown"
        )
    return "; ".join(parts)


@lru_cache(maxsize=64)
def _any_of(texts: tuple[str, ...]) -> re.Pattern[str]:
    """Finds any of these texts, the longest where several begin."""
    longest_first = sorted(filter(None, texts), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")


def _told(template: ChatTemplate, conversations: tuple[Roles, ...], day: str) -> Told:
    source = template.source or PLAIN
    if len(source) > _LONGEST:
        raise ModelError(
            "the model's chat template cannot be used: it has more than "
            f"{_LONGEST} characters"
        )
    return _rendered(source, template.bos, template.eos, conversations, day)


@lru_cache(maxsize=64)
def _rendered(
    source: str, bos: str, eos: str, conversations: tuple[Roles, ...], day: str
) -> Told:
    """The text for each sequence of roles, with placeholders for the messages, or why
    there is none."""
    asked: Asked = {
        "template": source,
        "conversations": [
            [
                {"role": role, "content": f"\ue000{index}\ue001"}
                for index, role in enumerate(roles)
            ]
            for roles in conversations
        ],
        "bos_token": bos,
        "eos_token": eos,
        "day": day,
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
            answer, _ = child.communicate(json.dumps(asked), timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            answer = ""
    try:
        told: Told = json.loads(answer)
        return told
    except ValueError:
        why = "it takes too much time or memory, as no sound template does"
        return {
            "texts": [("", why)] * len(conversations),
            "folded": False,
            "switches": [],
        }
