"""Which past texts stand in a private prompt, in what order and how long.

Training builds its examples with this, and the device its prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from models.chat import ChatTemplate, prompt_ids
from models.prompts import Excerpt, Request, private_messages

PASSAGE_TOKENS = 240
"""How long a past text may be in a prompt."""

Tokenize = Callable[[str, bool], list[int]]
"""A text, and whether control tokens may be read from it."""


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
        """A past text, shortened to what a prompt may hold of it."""
        text = shortened(text, PASSAGE_TOKENS, self.tokenize)
        return Excerpt(kind, recipient, subject, text)

    def fitting(
        self,
        request: Request,
        excerpts: Sequence[Excerpt],
        background: str,
        room: int,
    ) -> list[int]:
        """Places of the excerpts, best first, that go into `room` tokens together
        with the request."""
        chosen: list[int] = []
        for place in range(len(excerpts)):
            tried = [excerpts[i] for i in (*chosen, place)]
            if len(self.private_ids(request, tried, background)) <= room:
                chosen.append(place)
        return chosen


def shortened(text: str, tokens: int, tokenize: Tokenize) -> str:
    """`text` up to about `tokens`, cut where a line or a sentence ends; its last line,
    the sign-off, is kept."""
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
