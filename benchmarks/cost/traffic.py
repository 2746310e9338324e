"""Bytes of a text on the wire, from messages as they are really sent.

A session is opened as the terms ask, and its frames are encoded. Their size is fixed
for a session, so no content changes it. What HTTP and WebSocket add is not counted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.cost.operations import Text, tokens_per_round
from decoding_core.messages import Candidates, DraftBlock, OpenSession, Verdict
from decoding_core.methods import available
from decoding_core.settings import MethodSettings
from decoding_core.verifier import role_of
from decoding_core.wire_json import open_to_json
from edge_app.retrieval.context import Prompts
from edge_app.service.text_job import as_read

_VOCABULARY_ID = "0" * 32


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a method sends and receives, in bytes."""

    method: str
    tokens: float
    """Settled by one round, on average; 0 where no server is asked."""
    up: int
    """Of a round's frame to the server."""
    down: int
    opening: int
    """Of the message that opens the session, with the request."""

    def per_token(self, written: int) -> float:
        """Bytes for one token of a text of so many, the opening among them."""
        if not self.tokens:
            return 0.0
        return (self.up + self.down) / self.tokens + self.opening / written


@dataclass(frozen=True, slots=True)
class Written:
    """A text, and what decides how many bytes it takes."""

    text: Text
    history: int
    """Tokens of the history, which one method sends."""
    share: float
    """Of the drafted tokens that is kept."""
    vocabulary: int


def traffic(settings: MethodSettings, written: Written) -> list[Traffic]:
    """Bytes of each method for one text."""
    length, request = written.text.draft_length, written.text.request
    public, private = (
        tuple(i % written.vocabulary for i in range(length_of_prompt))
        for length_of_prompt in (request, request + written.history)
    )
    found = []
    for name in available():
        # The rejection method needs a temperature; sizes do not depend on it.
        temperature = 1.0 if name == "rejection" else settings.temperature
        terms = replace(
            settings, method=name, draft_length=length, temperature=temperature
        ).terms()
        role = role_of(terms)
        if not role.uses_generalist:
            found.append(Traffic(name, 0.0, 0, 0, 0))
            continue
        drafted, share = role.draft_limit, written.share
        sent = as_read(Prompts(public, private, ()), role.method).public_ids
        opening = OpenSession(sent, (), _VOCABULARY_ID, terms)
        # A round as it usually is, one settled token and a full draft, and a full
        # verdict on it: every row with as many candidates as it can hold.
        block = DraftBlock(1, 1, 1, 0, settled=(1,), drafted=(2,) * drafted)
        count = role.frames.row_limit
        logprobs = np.zeros(count, np.float32)
        base = logprobs if role.uses_base else None
        row = Candidates(np.arange(count, dtype=np.int32), logprobs, base)
        verdict = Verdict(1, 1, 0, (row,) * len(role.positions(0, drafted)))
        found.append(
            Traffic(
                name,
                share * drafted if role.redrafts else tokens_per_round(share, drafted),
                up=len(role.frames.encode_block(block)),
                down=len(role.frames.encode_verdict(verdict, drafted)),
                opening=len(json.dumps(open_to_json(opening)).encode()),
            )
        )
    return found
