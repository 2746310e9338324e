"""A generalist with other tokens than the specialist: what both lists share, and its
opinions of a text in the specialist's tokens, by the way on which texts are written.

T tokens of the text, V of the specialist's vocabulary, K candidates of a row.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from decoding_core.byte_space import ByteVocabulary, Wording
from decoding_core.messages import (
    BYTES_VERSION,
    Candidates,
    DraftBlock,
    OpenSession,
    Verdict,
    digest,
)
from decoding_core.protocols import Engine
from decoding_core.sampling import Floats, log_softmax
from decoding_core.settings import MethodSettings
from decoding_core.verifier import ByteEngineVerifier, read_text
from edge_app.decoding.two_vocabularies import BytesVerifier
from models.chat import prompt_ids
from models.prompts import Message, Request, public_messages
from models.running.interface import Model, bytes_of

BLOCK = 8  # tokens of a usual block
_TIMED = 3  # blocks
_READ = 64  # rows of logits in memory at once
_CANDIDATES = 1000
"""At each border: with ten times as many as in writing, the share that is kept comes
out as with one vocabulary."""
_TINY, _LOWEST = 1e-300, -690.0
"""What is as good as nothing, and its logarithm."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What two token lists have in common."""

    strings: int  # that are a token of both
    small: int  # different strings of the specialist
    large: int  # different strings of the generalist
    ends: float
    """Share of the specialist's token ends in the texts where a token of the generalist
    ends, too."""
    used: float  # share of the specialist's tokens in the texts that the other has, too


def shared_by(
    small: ByteVocabulary, large: ByteVocabulary, texts: Sequence[str]
) -> Shared:
    """What two vocabularies share, and how they cut `texts`. Raises
    VocabularyMismatchError for a text that one of them cannot write."""
    strings = [
        {
            piece
            for token, piece in enumerate(one.pieces)
            if piece and token not in one.end_ids
        }
        for one in (small, large)
    ]
    tokens = same_ends = known = 0
    for text in texts:
        data = text.encode()
        pieces, others = (
            [one.pieces[token] for token in one.spelled(data)] for one in (small, large)
        )
        ends = set(accumulate(map(len, others)))
        tokens += len(pieces)
        same_ends += sum(end in ends for end in accumulate(map(len, pieces)))
        known += sum(piece in strings[1] for piece in pieces)
    return Shared(
        len(strings[0] & strings[1]),
        len(strings[0]),
        len(strings[1]),
        same_ends / max(1, tokens),
        known / max(1, tokens),
    )


class OtherTokens:
    """A generalist that is read in the specialist's tokens."""

    def __init__(self, small: Model, large: Model, engine: Engine) -> None:
        """`engine` reads a text with the large model; all are used while open."""
        self.small, self.large = bytes_of(small), bytes_of(large)
        self._model, self._engine = large, engine
        self.wording = Wording(self.small, self.large)

    def shared(self, texts: Sequence[str]) -> Shared:
        """What the two lists share, and how they cut `texts`."""
        return shared_by(self.small, self.large, texts)

    def block_seconds(self, request: Request, text: Sequence[int]) -> float:
        """What a block takes in writing, beside the reading of the large model; raises
        as `rows`."""
        usual = MethodSettings().candidates
        blocks = list(self._blocks(request, (), text[: _TIMED * BLOCK], usual))
        return sum(seconds for _, seconds in blocks) / max(1, len(blocks))

    def rows(
        self, request: Request, before: Sequence[int], text: Sequence[int]
    ) -> Iterator[Candidates]:
        """The candidates (K,) at each token of `text` (T,), which goes on behind
        `before`. Raises as the engine does, and MessageError."""
        for verdict, _ in self._blocks(request, before, text, _CANDIDATES):
            yield from verdict.rows

    def nats(
        self, request: Request, before: Sequence[int], text: Sequence[int]
    ) -> float:
        """What `text` costs in the generalist's own tokens, with its end if it has one.
        Raises as the engine does."""
        ends = bool(text) and text[-1] in self.small.end_ids
        spelled = self.large.spelled(self.small.text(text[: len(text) - ends]))
        prompt = self.prompt(request, before)
        following: list[list[int]] = [[token] for token in spelled]
        following += [sorted(self.large.end_ids)] if ends else []
        nats = 0.0
        for first in range(0, len(following), _READ):
            chunk = following[first : first + _READ]
            read = [*prompt, *spelled[: first + len(chunk) - 1]]
            logits = read_text(self._engine, read, len(chunk))
            for row, tokens in zip(logits, chunk, strict=True):
                logprobs = log_softmax(row.astype(np.float64))
                nats -= float(np.logaddexp.reduce(logprobs[tokens]))
        return nats

    def prompt(self, request: Request, before: Sequence[int]) -> list[int]:
        """The generalist's own tokens of the public prompt and of how a text begins."""
        said = [(one.role, one.content) for one in public_messages(request)]
        return [*self._prompt_of(said), *self.large.spelled(self.small.text(before))]

    def _blocks(
        self,
        request: Request,
        before: Sequence[int],
        text: Sequence[int],
        candidates: int,
    ) -> Iterator[tuple[Verdict, float]]:
        """The verdicts on a text, and what each took beside the large model."""
        terms = MethodSettings(
            temperature=1.0, base="edge", candidates=candidates, draft_length=BLOCK
        ).terms()
        said = [(one.role, one.content) for one in public_messages(request)]
        inner = ByteEngineVerifier(self._engine, self.large, self._prompt_of)
        verifier = BytesVerifier(inner, self.wording, said)
        verifier.open(OpenSession((), tuple(before), "", terms, BYTES_VERSION))
        whole, done, round_ = [*before, *text], len(before), 0
        while done < len(whole):
            drafted = tuple(whole[done : done + BLOCK])
            began = time.perf_counter()
            known = digest(whole[:done])
            verifier.submit(DraftBlock(0, round_, done, known, (), drafted, 0.0))
            verdict = verifier.collect()
            yield verdict, time.perf_counter() - began - verdict.seconds
            done, round_ = done + len(verdict.rows), round_ + 1

    def _prompt_of(self, messages: Sequence[tuple[str, str]]) -> list[int]:
        tokenize, template = self._model.vocabulary.tokenize, self._model.chat_template
        return prompt_ids(tokenize, template, [Message(*one) for one in messages])


def spread(row: Candidates, base: Floats) -> Floats:
    """The log-probabilities (V,) of a row (K,): what its candidates leave out is shared
    as the base's log-probabilities (V,) have it. They sum to about 1."""
    # An end that is no candidate has no bytes to be judged by: it was left out, too.
    known = row.generalist_logprobs > _LOWEST
    token_ids, logprobs = row.token_ids[known], row.generalist_logprobs[known]
    others = np.exp(base)
    others[token_ids] = 0.0
    others *= math.exp(max(_LOWEST, row.tail_log_ratio)) / max(others.sum(), _TINY)
    others[token_ids] = np.exp(logprobs.astype(np.float64))
    return np.log(np.maximum(others, _TINY))
