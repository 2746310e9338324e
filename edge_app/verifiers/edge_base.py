"""The base on this device: the server then needs the generalist alone.

A verifier around another. The one inside answers with the generalist's candidates at
every position; here the base reads the public prompt, and what the server would have
done with both happens with the same numbers and the same noise. The loop sees no
difference.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from decoding_core.errors import MessageError
from decoding_core.messages import (
    Candidates,
    DraftBlock,
    OpenSession,
    SessionOpened,
    Verdict,
)
from decoding_core.protocols import Engine, Verifier
from decoding_core.sampling import Floats, log_softmax
from decoding_core.verifier import Reader, VerifierRole, count_kept, role_of


class EdgeBaseVerifier:
    """Judges with a generalist elsewhere and a base here."""

    local = False

    def __init__(self, inner: Verifier, base: Engine) -> None:
        self._inner = inner
        self._base = Reader(base)
        self._duty: VerifierRole | None = None

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text; raises what the verifier inside raises."""
        self._duty = role_of(replace(request.terms, base="cloud"))
        self._base.open(request)
        return self._inner.open(request)

    def verify(self, block: DraftBlock) -> Verdict:
        """Judge one block; raises what the verifier inside raises."""
        if self._duty is None:
            raise MessageError("verify was called before open")
        answer = self._inner.verify(block)
        logits = self._base.read(block)
        base = log_softmax(logits, self._duty.terms.temperature)
        kept, mean = 0, 0.0
        if self._duty.decides:
            kept, mean = self._judged(block, answer, base)
        rows = tuple(
            _compared(answer.rows[i], base[i])
            for i in self._duty.positions(kept, len(block.drafted))
        )
        return replace(answer, accepted=kept, rows=rows, mean_ratio=mean)

    def close(self) -> None:
        """End the text on both sides."""
        self._base.close()
        self._inner.close()

    def _judged(
        self, block: DraftBlock, answer: Verdict, base: Floats
    ) -> tuple[int, float]:
        assert self._duty is not None
        pairs = zip(answer.rows, block.drafted, strict=False)
        generalist = np.array([_logprob(*pair) for pair in pairs], np.float32)
        at = np.arange(len(block.drafted)), np.asarray(block.drafted, int)
        return count_kept(block, generalist, base[at], self._duty)


def _logprob(row: Candidates, token: int) -> np.float32:
    """The generalist's log-probability of a drafted token."""
    at = np.flatnonzero(row.token_ids == token)
    if not at.size:
        raise MessageError("the server's candidates lack a drafted token")
    found: np.float32 = row.generalist_logprobs[at[0]]
    return found


def _compared(row: Candidates, base: Floats) -> Candidates:
    """A row with the base's opinion; raises MessageError for tokens it has none of."""
    row.check(len(base))
    return replace(
        row,
        base_logprobs=base[row.token_ids].astype(np.float32),
        whole_base=base,
    )
