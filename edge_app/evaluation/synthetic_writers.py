"""Synthetic writers that no training has met."""

from __future__ import annotations

from functools import partial

from edge_app.evaluation.cases import Case, History
from personal_store import Passage

_GROUP = "unseen writers"


def unseen_cases(count: int, seed: int) -> list[Case]:
    """`count` texts, each by a synthetic writer of its own."""
    # The grammar takes time to read, and only this option needs it.
    from models.synthetic_writers.examples import unseen_writers

    cases = []
    for number, example in enumerate(unseen_writers(count, seed), 1):
        # The excerpt that fits best stands last, as in a prompt.
        past = [
            Passage(
                record_id=record_id,
                kind=excerpt.task,
                recipient=excerpt.recipient,
                subject=excerpt.subject,
                text=excerpt.text,
                date=None,
                score=0.0,
                score_parts={},
                source=_GROUP,
            )
            for record_id, excerpt in enumerate(reversed(example.excerpts), 1)
        ]
        case = Case(
            group=_GROUP,
            genre=example.request.task,
            user=str(number),
            name="1",
            request=example.request,
            history=partial(History.of, past),
            text=example.text,
            background=example.background,
        )
        cases.append(case)
    return cases
