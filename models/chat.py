"""Chat templates: messages to token ids, with no way for a text to forge a role.

The template comes with the model file and is not trusted: a process of its own renders
it (`template_child`), in Jinja's sandbox and within limits of time and memory. It never
sees a text: it is rendered around placeholders, and only its own words may become
control tokens. So it is rendered once for each sequence of roles.

A prompt is tokenized in one piece, as the model saw it in training, unless a message
holds the text of a control token. Then it is cut at those that the template wrote, and
what lies between is tokenized as mere text. `PromptPacker` chooses the past texts of a
private prompt, for the device and for training."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from base import python_child
from decoding_core.errors import ModelError
from models.never_drawn import MARKS, closing, mentions
from models.prompts import Excerpt, Message, Request, private_messages

PLAIN = (
    "{% for m in messages %}"
    "{% if m.role == 'assistant' %}{{ m.content + eos_token }}"
    "{% else %}{{ m.content + '\n\n' }}{% endif %}"
    "{% endfor %}"
)
"""For a model without a template: one text after the other, each with an empty line
behind it. No words of ours say who speaks: such a model has learnt to go on with a
text, and would go on with them, too."""

_BLOCKS = (f"{re.escape(begin)}.*?{re.escape(end)}" for begin, end in MARKS)
_THOUGHTS = re.compile(rf"\s*(?:{'|'.join(_BLOCKS)})\s*", re.DOTALL)
"""A block of thoughts before an old answer, which no model reads again."""
_PLACEHOLDER = re.compile(r"\ue000([0-9]{1,6})\ue001")
"""Stands for the text of a message."""
_MOST_SPACE = 64  # characters of space at the edges of a message that a template sees
_SECONDS = 5  # of computing; a usual template takes a thousandth of it
_PATIENCE = 120.0
"""Seconds to wait for a process that cannot compute for more than `_SECONDS`."""

PASSAGE_TOKENS = 240  # how long a past text may be in a prompt
Tokenize = Callable[[str, bool], list[int]]
"""Turns a text into ids; whether control tokens may be read from it."""
_Shapes = tuple[tuple[str, str], ...]
"""What a template sees of a conversation: roles, and placeholders between spaces."""


@dataclass(frozen=True, slots=True)
class ChatTemplate:
    """The chat template of a model, and what a template takes from its vocabulary."""

    source: str  # jinja; empty if the model has none, and `PLAIN` is used
    controls: Mapping[str, int]  # the ids of all control tokens, by their texts
    bos: str = ""  # the text of the token that begins every text, if there is one
    eos: str = ""
    adds_bos: bool = False
    """Whether the model reads `bos` even if its template does not write it."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a rendered prompt."""

    text: str
    control: bool
    """Whether control tokens may be read from it: true for the template's own words."""


class Rendered(NamedTuple):
    """The answer of `template_child`."""

    texts: list[tuple[str, str]]
    """For each conversation, its text, or "" and why there is none."""
    folded: bool  # whether the template takes no system role, so that the user says it
    switches: list[str]  # the variables by which it was told not to think


def render(template: ChatTemplate, messages: Sequence[Message]) -> list[Segment]:
    """Segments of the prompt that asks for the assistant's turn. No thoughts are asked
    for: a block that the template opens for them is closed. Raises ModelError if the
    template cannot be rendered, or loses a message."""
    shapes, texts = _shaped(messages)
    conversations = _USUAL if shapes in _USUAL else (shapes,)
    answer = _rendered(template, conversations)
    text, why = answer.texts[conversations.index(shapes)]
    if why:
        raise ModelError(f"the model's chat template cannot be used: {why}")
    segments, start, seen = list[Segment](), 0, list[int]()
    for found in _PLACEHOLDER.finditer(text):
        seen.append(int(found[1]))
        segments.append(Segment(text[start : found.start()], control=True))
        segments.append(Segment(texts.get(seen[-1], ""), control=False))
        start = found.end()
    segments.append(Segment(text[start:], control=True))
    if sorted(seen) != sorted(texts):
        raise ModelError("the model's chat template leaves out a message")
    if bos := template.bos:
        first = segments[0].text
        while first.startswith(bos + bos):
            first = first.removeprefix(bos)
        if template.adds_bos and not first.startswith(bos):
            first = bos + first
        segments[0] = Segment(first, control=True)
    last = segments[-1].text
    segments[-1] = Segment(last + closing(last), control=True)
    return [segment for segment in segments if segment.text]


def _shaped(messages: Sequence[Message]) -> tuple[_Shapes, dict[int, str]]:
    """What a template sees of messages, and the texts that placeholders stand for."""
    shapes, texts = [], dict[int, str]()
    for number, message in enumerate(messages):
        said = message.content
        if message.role == "assistant" and (thoughts := _THOUGHTS.match(said)):
            said = said[thoughts.end() :]
        core = said.strip()
        if len(said) - len(core) > _MOST_SPACE:
            core = said
        if core:
            texts[number] = core
            said = said.replace(core, f"\ue000{number}\ue001", 1)
        shapes.append((message.role, said))
    return tuple(shapes), texts


_USUAL = tuple(
    _shaped([Message(role, "x") for role in roles])[0]
    for roles in (("user",), ("system", "user"))
)
"""The public and the private prompt: one process renders both."""


def prompt_ids(
    tokenize: Tokenize, template: ChatTemplate, messages: Sequence[Message]
) -> list[int]:
    """Token ids of the rendered prompt."""
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
    """A sentence on how a template is used; raises ModelError if it cannot be."""
    for shapes in _USUAL:
        render(template, [Message(role, "x") for role, _ in shapes])
    if not template.source:
        return (
            "the model has none, so it reads plain texts and may not find an end; one "
            "that follows instructions writes better"
        )
    answer = _rendered(template, _USUAL)
    parts = ["the model's own"]
    if answer.folded:
        parts.append("it has no system role, so past texts stand before the request")
    if answer.switches:
        parts.append(f"it is told not to think aloud ({', '.join(answer.switches)})")
    elif mentions(template.source):
        parts.append(
            "it cannot be told not to think aloud, so blocks of thoughts are closed "
            "before they begin, and never shown"
        )
    return "; ".join(parts)


@lru_cache(maxsize=64)
def _any_of(texts: tuple[str, ...]) -> re.Pattern[str]:
    """Finds any of these texts, the longest if several begin."""
    longest_first = sorted(filter(None, texts), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")


def _rendered(template: ChatTemplate, conversations: tuple[_Shapes, ...]) -> Rendered:
    source, day = template.source or PLAIN, date.today().isoformat()
    return _ask_child(source, template.bos, template.eos, conversations, day, _SECONDS)


@lru_cache(maxsize=64)
def _ask_child(
    source: str, bos: str, eos: str, said: tuple[_Shapes, ...], day: str, seconds: int
) -> Rendered:
    """The rendered text of each conversation, with placeholders, or an error."""
    with python_child.start(
        "models.template_child:main",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    ) as child:
        asked = json.dumps([source, bos, eos, said, day, seconds])
        try:
            answer, _ = child.communicate(asked, timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            child.kill()
            answer = ""
    try:
        return Rendered(*json.loads(answer))
    except ValueError:
        why = "it takes too much time or memory, as no sound template does"
        return Rendered([("", why)] * len(said), False, [])


@dataclass(frozen=True, slots=True)
class PromptPacker:
    """Puts past texts into the prompts of one model."""

    tokenize: Tokenize
    template: ChatTemplate

    def private_ids(
        self, request: Request, excerpts: Sequence[Excerpt], background: str
    ) -> list[int]:
        """The private prompt; the first excerpt stands last, next to the request."""
        messages = private_messages(request, excerpts[::-1], background)
        return prompt_ids(self.tokenize, self.template, messages)

    def excerpt(self, kind: str, recipient: str, subject: str, text: str) -> Excerpt:
        """A past text, shortened to `PASSAGE_TOKENS`."""
        text = shortened(text, PASSAGE_TOKENS, self.tokenize)
        return Excerpt(kind, recipient, subject, text)

    def fitting(
        self, request: Request, excerpts: Sequence[Excerpt], background: str, room: int
    ) -> list[int]:
        """Places of the excerpts, best first, that fit into `room` tokens in all."""
        chosen: list[int] = []
        for place in range(len(excerpts)):
            tried = [excerpts[i] for i in (*chosen, place)]
            if len(self.private_ids(request, tried, background)) <= room:
                chosen.append(place)
        return chosen


def shortened(text: str, tokens: int, tokenize: Tokenize) -> str:
    """`text` cut to about N tokens at the end of a sentence; its sign-off is kept."""
    if len(tokenize(text, False)) <= tokens:
        return text
    lines = [line for line in text.splitlines() if line.strip()]
    last = lines[-1] if len(lines) > 1 and len(lines[-1]) < 40 else ""
    room = tokens - len(tokenize(last, False))
    kept, used = [], 0
    for sentence in text.replace(". ", ".\0").replace("\n", "\n\0").split("\0"):
        used += len(tokenize(sentence, False))
        if used > room:
            break
        kept.append(sentence if sentence.endswith("\n") else sentence + " ")
    return ("".join(kept).rstrip() + "\n\n" + last).strip()
