"""Run by `chat` in a process of its own: the chat template of a model file.

Jinja's sandbox keeps a template from our objects. It bounds neither time nor memory, so
the system does: nested loops and `'a' * 10**9` end this process, not the program.
"""

from __future__ import annotations

import json
import sys

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

if sys.platform != "win32":
    import resource

_MEMORY = 512 << 20
"""Bytes of address space, of which Python and Jinja take a tenth."""


def main() -> int:
    """Render what standard input asks for, in JSON: a template, which messages there
    are, how long a text may be, how many seconds of computing it may take."""
    asked = json.load(sys.stdin)
    if sys.platform != "win32":
        # Beyond these the system ends the process, or refuses it memory.
        seconds = asked["seconds"]
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if sys.platform == "linux":  # macOS does not heed it
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    answers = []
    for messages in asked["conversations"]:
        try:
            text = _rendered(asked["template"], messages, asked["longest"])
            text.encode()  # a template can write halves of characters
            answers.append([text, ""])
        except MemoryError:
            answers.append(["", "it takes too much memory"])
        except Exception as error:  # noqa: BLE001  (a template can raise anything)
            why = str(error)[:200] or type(error).__name__
            answers.append(["", why.encode("utf-8", "replace").decode()])
    json.dump(answers, sys.stdout)
    return 0


def _rendered(template: str, messages: list[dict[str, str]], longest: int) -> str:
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = _refuse
    written, length = [], 0
    for piece in environment.from_string(template).generate(
        messages=messages, add_generation_prompt=True, bos_token="", eos_token=""
    ):
        written.append(piece)
        length += len(piece)
        if length > longest:
            raise TemplateError(f"it writes more than {longest} characters of its own")
    return "".join(written)


def _refuse(reason: object) -> None:
    raise TemplateError(str(reason))
