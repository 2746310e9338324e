"""How a request becomes the messages a model reads.

The embedded pair is trained on exactly these messages. Retrieved passages go into a
message of their own, before the request, which reads the same in the public and in the
private prompt. The wording follows the templates of LaMP, which both papers use.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

TASKS = ("email", "review", "post", "note")
"""What a person can ask for; training adds further genres such as `story`."""

_LINE_END = re.compile(
    r"\r\n?|[\u2028\u2029\u240a\u240d\u2424]|(?<!\\)(?:\\r)?\\n(?![a-z\d_])|(?<=[,.;!?])\\n"
    r"|(?<!\w)(?:\^M)?\^J(?!\w)"
)
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2400-\u243f\ufffd]|(?<!\\)\\r(?![a-z\d_])"
    r"|(?<!\w)\^[@-Z\[\]_](?!\w)"
)
_PREPOSITION = {"email": "to", "letter": "to", "message": "to", "review": "of"}


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation, before the model's chat template."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A piece of the writer's own past text, as it stands in a private prompt."""

    task: str
    recipient: str
    subject: str
    text: str


@dataclass(frozen=True, slots=True)
class Request:
    """What a person wants written."""

    text: str
    task: str = "email"
    recipient: str = ""  # whom an email is for, or what a review is of; may be empty
    tone: str = ""  # how it is to be written, as an adjective; may be empty


def public_messages(request: Request) -> list[Message]:
    """Messages without any private context: all that the server ever reads."""
    kind = f"{request.tone} {request.task}".strip()
    instruction = f"Write {with_article(kind)}"
    instruction += f"{_about(request.task, request.recipient)}."
    return [Message("user", without_controls(f"{instruction}\n{request.text.strip()}"))]


def private_messages(
    request: Request, excerpts: Sequence[Excerpt], background: str = ""
) -> list[Message]:
    """Messages with the writer's own texts and notes; they never leave the device."""
    parts = []
    for number, excerpt in enumerate(excerpts, 1):
        heading = f"[{number}] {excerpt.task.capitalize()}"
        heading += _about(excerpt.task, excerpt.recipient)
        if excerpt.subject:
            heading += f": {excerpt.subject}"
        text = excerpt.text.strip()
        # Without a blank the full stop and the empty line behind it are one token, as
        # they never are at the end of a text, and a model copies it and writes on.
        stop = " " if text.endswith((".", "!", "?")) else ""
        parts.append(f"{heading}\n{text}{stop}")
    if background.strip():
        parts.append(f"Notes:\n{background.strip()}")
    if not parts:
        return public_messages(request)
    texts = "Past texts by the same writer.\n\n" + "\n\n".join(parts)
    return [Message("system", without_controls(texts)), *public_messages(request)]


def without_controls(text: str) -> str:
    """`text` without control characters, however they are shown: a model would write
    what it read. Those that end a line do, such as `\\n` behind a word."""
    text = _LINE_END.sub("\n", text)
    return _CONTROL.sub("", text)


def with_article(word: str) -> str:
    """A word as `an email` has it."""
    return f"{'an' if word[:1] in tuple('aeiou') else 'a'} {word}"


def _about(task: str, recipient: str) -> str:
    return f" {_PREPOSITION.get(task, 'for')} {recipient}" if recipient else ""
