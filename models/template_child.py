"""Run by `chat` in a process of its own: the chat template of a model file.

Jinja's sandbox keeps a template from our objects. It bounds neither time nor memory, so
the system does: nested loops and `'a' * 10**9` end this process, not the program.

A template finds here what published ones are written for: the variables, filters and
tags of Hugging Face's transformers (`apply_chat_template`), less what reads the clock.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from jinja2 import TemplateError, meta
from jinja2.ext import Extension
from jinja2.nodes import Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

if sys.platform != "win32":
    import resource

if TYPE_CHECKING:
    from models.chat import Asked, Told

_MEMORY = 512 << 20
"""Bytes of address space, of which Python and Jinja take a tenth."""
_SWITCHES = {"enable_thinking": False, "thinking": False, "thinking_budget": 0}
"""What tells a model not to think aloud, by the names of the families that have it:
Qwen, GLM, SmolLM3 and Gemma 4; Granite and DeepSeek; Seed-OSS."""

Messages = Sequence[Mapping[str, str]]
Turns = Sequence[Mapping[str, Any]]


def main() -> int:
    """Render what standard input asks for, in JSON."""
    asked: Asked = json.load(sys.stdin)
    if sys.platform != "win32":
        # Beyond these the system ends the process, or refuses it memory.
        seconds = asked["seconds"]
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if sys.platform == "linux":  # macOS does not heed it
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    told: Told = {"texts": [], "folded": False, "switches": []}
    for messages, needed in zip(asked["conversations"], asked["needed"], strict=True):
        told["texts"].append(_best(asked, messages, needed, told))
    json.dump(told, sys.stdout)
    return 0


def _best(
    asked: Asked, messages: Messages, needed: Sequence[str], told: Told
) -> tuple[str, str]:
    """The first text that lacks nothing of a conversation, in the forms that templates
    are written for; else what came of the usual form."""
    first: tuple[str, str] | None = None
    for folds, said in ((False, messages), (True, _folded(messages))):
        for form in (_as_texts, _as_parts, _as_parts_but_system) if said else ():
            text, why = _attempt(asked, form(said), told)
            if not why and all(text.count(one) == 1 for one in needed):
                told["folded"] = told["folded"] or folds
                return text, ""
            first = first or (text, why)
    assert first is not None
    return first


def _attempt(asked: Asked, messages: Turns, told: Told) -> tuple[str, str]:
    """The text of a conversation, or why there is none."""
    try:
        text = _rendered(asked, messages, told)
        text.encode()  # a template can write halves of characters
        return text, ""
    except MemoryError:
        return "", "it takes too much memory"
    except Exception as error:  # noqa: BLE001  (a template can raise anything)
        why = str(error)[:200] or type(error).__name__
        return "", why.encode("utf-8", "replace").decode()


def _as_texts(messages: Messages) -> Turns:
    return messages


def _as_parts(messages: Messages) -> Turns:
    """Contents as lists of parts, as models have them that see pictures, too."""
    return [
        {**one, "content": [{"type": "text", "text": one["content"]}]}
        for one in messages
    ]


def _as_parts_but_system(messages: Messages) -> Turns:
    parts = _as_parts(messages)
    both = zip(messages, parts, strict=True)
    return [text if text["role"] == "system" else part for text, part in both]


def _folded(messages: Messages) -> Messages:
    """The same with what the system says before the first words of the user; nothing
    where there is no such pair."""
    if [message["role"] for message in messages[:2]] != ["system", "user"]:
        return []
    both = f"{messages[0]['content']}\n\n{messages[1]['content']}"
    return [{"role": "user", "content": both}, *messages[2:]]


def _rendered(asked: Asked, messages: Turns, told: Told) -> str:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[_Generation, "jinja2.ext.loopcontrols"],
    )
    day = datetime.fromisoformat(asked["day"])
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: day.strftime(form)
    found = meta.find_undeclared_variables(environment.parse(asked["template"]))
    switches = {name: off for name, off in _SWITCHES.items() if name in found}
    told["switches"] = list(switches)
    written, length = [], 0
    for piece in environment.from_string(asked["template"]).generate(
        messages=messages,
        tools=None,
        documents=None,
        add_generation_prompt=True,
        bos_token=asked["bos_token"],
        eos_token=asked["eos_token"],
        **switches,
    ):
        written.append(piece)
        length += len(piece)
        if length > asked["longest"]:
            raise TemplateError(
                f"it writes more than {asked['longest']} characters of its own"
            )
    return "".join(written)


class _Generation(Extension):
    """`{% generation %}`, by which training tells an answer from the rest: its body."""

    tags = {"generation"}  # noqa: RUF012  (as Jinja has it)

    def parse(self, parser: Parser) -> list[Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _tojson(value: Any, **form: Any) -> str:
    # Jinja's own writes for HTML: it would alter quotes, and hide placeholders.
    known = {"indent", "separators", "sort_keys"}
    chosen = {name: one for name, one in form.items() if name in known}
    return json.dumps(value, ensure_ascii=False, **chosen)


def _refuse(reason: object) -> None:
    raise TemplateError(str(reason))
