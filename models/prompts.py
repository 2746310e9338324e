"""How a request becomes the messages a model reads.

The embedded pair is trained on exactly these messages, so this is the one place
where their wording lives. Retrieved passages go into a message of their own, before
the request: the request reads the same in the public and in the private prompt.
The wording follows the per-entry templates of LaMP, which both papers use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

TASKS = ("email", "review", "post", "note")
"""What a person can ask for; training adds further genres such as `story`."""

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
    recipient: str = ""
    """Whom an email is for, or what a review is of; may be empty."""


def public_messages(request: Request) -> list[Message]:
    """Messages without any private context: all that the server ever reads."""
    article = "an" if request.task[0] in "aeiou" else "a"
    instruction = f"Write {article} {request.task}"
    instruction += f"{_about(request.task, request.recipient)}."
    return [Message("user", f"{instruction}\n{request.text.strip()}")]


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
        parts.append(f"{heading}\n{excerpt.text.strip()}")
    if background.strip():
        parts.append(f"Notes:\n{background.strip()}")
    if not parts:
        return public_messages(request)
    system = Message(
        "system", "Past texts by the same writer.\n\n" + "\n\n".join(parts)
    )
    return [system, *public_messages(request)]


def _about(task: str, recipient: str) -> str:
    return f" {_PREPOSITION.get(task, 'for')} {recipient}" if recipient else ""
