"""Synthetic writers, whom no training has met, as a device would know them."""

from __future__ import annotations

from edge_app.retrieval.context import PromptBuilder, Prompts
from models.running.interface import Model
from models.synthetic_writers.examples import Example, unseen_writers
from personal_store import Passage

CONTEXT = 2048


def prompts_of(model: Model, example: Example, max_tokens: int) -> Prompts:
    """Both prompts of a request, the history as it was found, best first."""
    builder = PromptBuilder(model.vocabulary.tokenize, model.chat_template, CONTEXT)
    found = [
        Passage(
            record_id=number,
            kind=excerpt.task,
            recipient=excerpt.recipient,
            subject=excerpt.subject,
            text=excerpt.text,
            date=None,
            score=0.0,
            score_parts={},
            source="invented",
        )
        for number, excerpt in enumerate(reversed(example.excerpts), 1)
    ]
    return builder.build(example.request, found, example.background, max_tokens)


def emails_asked_for(count: int, seed: int) -> list[Example]:
    """Requests for emails by synthetic writers, to somebody the request names."""
    made = (e for e in unseen_writers(3 * count, seed, "email") if e.request.recipient)
    return [example for _, example in zip(range(count), made, strict=False)]
