"""The private and the public prompt of a request.

This is the only module that joins the writer's history to a prompt. The public prompt
holds the request alone; it is all that the server reads besides the draft.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from decoding_core.errors import ContextFullError
from edge_app.events import Source
from models.chat import prompt_ids
from models.prompts import Excerpt, Request, private_messages, public_messages
from personal_store import Passage

_PASSAGE_TOKENS = 240
_MARGIN = 16

Tokenize = Callable[[str, bool], list[int]]


@dataclass(frozen=True, slots=True)
class Prompts:
    """Both prompts as token ids, and the texts that the private one holds."""

    public_ids: tuple[int, ...]
    private_ids: tuple[int, ...]
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class PromptBuilder:
    """Builds prompts for one model."""

    tokenize: Tokenize
    template: str
    context_length: int

    def build(
        self,
        request: Request,
        passages: Sequence[Passage],
        background: str,
        max_tokens: int,
    ) -> Prompts:
        """Both prompts, with as many passages, best first, as leave room for the text.

        Raises:
            ContextFullError: the request alone leaves no room.
        """
        room = self.context_length - max_tokens - _MARGIN
        if room < 1:
            raise ContextFullError(
                f"--max-tokens {max_tokens} leaves no room for the request: the model "
                f"holds {self.context_length} tokens in all"
            )
        public = prompt_ids(self.tokenize, self.template, public_messages(request))
        bare = self._private(request, (), background)
        if max(len(public), len(bare)) > room:
            raise ContextFullError(
                f"the request and its notes take {max(len(public), len(bare))} tokens; "
                f"with {max_tokens} for the text they must not exceed {room}: "
                "shorten them or lower --max-tokens"
            )
        chosen = self._fitting(request, passages, background, room)
        private = self._private(request, chosen, background)
        sources = tuple(_source(passage) for passage in chosen)
        return Prompts(tuple(public), tuple(private), sources)

    def _fitting(
        self,
        request: Request,
        passages: Sequence[Passage],
        background: str,
        room: int,
    ) -> list[Passage]:
        chosen: list[Passage] = []
        for passage in passages:
            if len(self._private(request, [*chosen, passage], background)) <= room:
                chosen.append(passage)
        return chosen

    def _private(
        self, request: Request, passages: Sequence[Passage], background: str
    ) -> list[int]:
        # The best passage stands last, next to the request.
        excerpts = [self._excerpt(passage) for passage in reversed(passages)]
        messages = private_messages(request, excerpts, background)
        return prompt_ids(self.tokenize, self.template, messages)

    def _excerpt(self, passage: Passage) -> Excerpt:
        text = shortened(passage.text, _PASSAGE_TOKENS, self.tokenize)
        return Excerpt(passage.kind, passage.recipient, passage.subject, text)


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


def title(passage: Passage) -> str:
    """One line that names a text of the store."""
    words = passage.kind
    if passage.recipient:
        words += (" of " if passage.kind == "review" else " to ") + passage.recipient
    if passage.date:
        words += f", {passage.date:%Y-%m-%d}"
    return f"{words}: {passage.subject}" if passage.subject else words


def _source(passage: Passage) -> Source:
    return Source(
        passage.record_id,
        title(passage),
        passage.score,
        dict(passage.score_parts),
        passage.text,
    )
