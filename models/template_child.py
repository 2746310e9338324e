"""Run by `chat` in a process of its own: the chat template of a model file.

Jinja's sandbox keeps a template from our objects. It bounds neither time nor memory, so
the system does: nested loops and `'a' * 10**9` end this process, not the program.

A template finds here what published ones are written for: the variables, filters and
tags of Hugging Face's transformers (`apply_chat_template`), less what reads the clock.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from jinja2 import TemplateError, meta
from jinja2.ext import Extension
from jinja2.nodes import Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

if sys.platform != "win32":
    import resource

_MEMORY = 512 << 20  # bytes of address space, of which Python and Jinja take a tenth
_LONGEST = 256 << 10
"""Characters of a template, and of what it writes around the messages. The longest
among usual models has about 16,000."""
_SWITCHES = {"enable_thinking": False, "thinking": False, "thinking_budget": 0}
"""The variables that tell a model not to think aloud: of Qwen, GLM, SmolLM3 and
Gemma 4; of Granite and DeepSeek; of Seed-OSS."""

Messages = Sequence[Mapping[str, Any]]


def main() -> int:
    """Render what standard input asks for; both ways in JSON."""
    source, bos, eos, conversations, day, seconds = json.load(sys.stdin)
    if sys.platform != "win32":
        # Beyond these the system ends the process, or refuses it memory.
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if sys.platform == "linux":  # macOS does not heed it
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    switches: dict[str, Any] = {}

    def render(messages: Messages) -> str:
        if len(source) > _LONGEST:
            raise TemplateError(f"it has more than {_LONGEST} characters")
        environment = _environment(datetime.fromisoformat(day))
        found = meta.find_undeclared_variables(environment.parse(source))
        switches.update({name: _SWITCHES[name] for name in _SWITCHES if name in found})
        written, length = [], 0
        for piece in environment.from_string(source).generate(
            messages=messages,
            tools=None,
            documents=None,
            add_generation_prompt=True,
            bos_token=bos,
            eos_token=eos,
            **switches,
        ):
            written.append(piece)
            length += len(piece)
            if length > _LONGEST:
                raise TemplateError(
                    f"it writes more than {_LONGEST} characters of its own"
                )
        return "".join(written)

    texts, folded = [], False
    for shapes in conversations:
        messages = [{"role": role, "content": shape} for role, shape in shapes]
        text, why, folds = _best(render, messages)
        texts.append((text, why))
        folded = folded or folds
    json.dump([texts, folded, list(switches)], sys.stdout)
    return 0


def _best(
    render: Callable[[Messages], str], messages: Messages
) -> tuple[str, str, bool]:
    """The first text that holds all of a conversation once, in the forms that templates
    are written for, else what came of the usual form; why there is none; whether the
    user says what the system should."""
    needed = [one["content"].strip() for one in messages]
    first = None
    for folds, form in _forms(messages):
        text, why = "", ""
        try:
            text = render(form)
            text.encode()  # a template can write halves of characters
        except MemoryError:
            text, why = "", "it takes too much memory"
        except Exception as error:  # noqa: BLE001  (a template can raise anything)
            why = str(error)[:200] or type(error).__name__
            text, why = "", why.encode("utf-8", "replace").decode()
        if not why and all(text.count(one) == 1 for one in needed if one):
            return text, "", folds
        first = first or (text, why, False)
    assert first is not None
    return first


def _forms(messages: Messages) -> Iterator[tuple[bool, Messages]]:
    """A conversation with its contents as texts, as lists of parts, and as parts but
    for the system; then the same with what the system says before the user's words."""
    conversations = [messages]
    if [one["role"] for one in messages[:2]] == ["system", "user"]:
        both = f"{messages[0]['content']}\n\n{messages[1]['content']}"
        conversations.append([{"role": "user", "content": both}, *messages[2:]])
    for folds, said in enumerate(conversations):
        for texts in ({"system", "user", "assistant"}, set(), {"system"}):
            yield bool(folds), [_shaped(one, one["role"] in texts) for one in said]


def _shaped(message: Mapping[str, Any], as_text: bool) -> Mapping[str, Any]:
    """A message whose content is a text, or a list of one part."""
    if as_text:
        return message
    return {**message, "content": [{"type": "text", "text": message["content"]}]}


def _environment(day: datetime) -> ImmutableSandboxedEnvironment:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[_Generation, "jinja2.ext.loopcontrols"],
    )
    environment.filters["tojson"] = _tojson
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = lambda form: day.strftime(form)
    return environment


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
