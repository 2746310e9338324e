"""The private and the public prompt of a request.

This is the only module that joins the writer's history to a prompt. The public prompt
holds the request alone; it is all that the server reads besides the draft.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from decoding_core.errors import ContextFullError
from edge_app.decoding.events import Source
from edge_app.retrieval.naming import called, readdressed
from models.chat import ChatTemplate, prompt_ids
from models.excerpts import PromptPacker, Tokenize
from models.prompts import Request, public_messages
from personal_store import Passage

LONGEST_CONTEXT = 8192
"""Tokens of a specialist's context at most, however many the model could read."""
_MARGIN = 16


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
    template: ChatTemplate
    context_length: int

    def build(
        self,
        request: Request,
        passages: Sequence[Passage],
        background: str,
        max_tokens: int,
        *,
        clamps: bool = False,
    ) -> Prompts:
        """Both prompts, with as many passages, best first, as leave room for the text.
        With `clamps` a text that is too long for the room gets the room there is.

        Raises:
            ContextFullError: the request alone leaves no room.
        """
        least = 1 if clamps else max_tokens
        room = self.context_length - least - _MARGIN
        if room < 1:
            raise ContextFullError(
                f"--max-tokens {max_tokens} leaves no room for the request: the model "
                f"holds {self.context_length} tokens in all"
            )
        public = prompt_ids(self.tokenize, self.template, public_messages(request))
        packer = PromptPacker(self.tokenize, self.template)
        bare = packer.private_ids(request, (), background)
        taken = max(len(public), len(bare))
        if taken > room:
            raise ContextFullError(
                f"the request and its notes take {taken} tokens; "
                f"with {least} for the text they must not exceed {room}: "
                "shorten them or lower --max-tokens"
            )
        room = max(taken, self.context_length - max_tokens - _MARGIN)
        excerpts = [packer.excerpt(*_as_read(p, request)) for p in passages]
        chosen = packer.fitting(request, excerpts, background, room)
        private = packer.private_ids(request, [excerpts[i] for i in chosen], background)
        sources = tuple(
            Source(p.record_id, title(p), p.score, dict(p.score_parts), p.text)
            for p in (passages[i] for i in chosen)
        )
        return Prompts(tuple(public), tuple(private), sources)


def _as_read(passage: Passage, request: Request) -> tuple[str, str, str, str]:
    """Kind, recipient, subject and text of a passage in the prompt of a request. All
    mails that are read for a mail greet its recipient: a small model would greet
    whomever the others do."""
    kind, recipient, text = passage.kind, passage.recipient, passage.text
    if kind in ("email", "message"):
        if request.task == "email":
            text = readdressed(text, recipient, request.recipient)
            recipient = request.recipient
        else:
            recipient = called(recipient, [text])
    return kind, recipient, passage.subject, text


def title(passage: Passage) -> str:
    """One line that names a text of the store."""
    words = passage.kind
    if passage.recipient:
        words += (" of " if passage.kind == "review" else " to ") + passage.recipient
    if passage.date:
        words += f", {passage.date:%Y-%m-%d}"
    return f"{words}: {passage.subject}" if passage.subject else words
