"""The base on this device as the only judge: no server takes part.

It satisfies the interface of a server's client, so the loop sees no difference. Every
row is the whole vocabulary, so nothing is cut.
"""

from __future__ import annotations

import numpy as np

from decoding_core.errors import MessageError
from decoding_core.messages import (
    Candidates,
    DraftBlock,
    OpenSession,
    SessionOpened,
    Verdict,
)
from decoding_core.protocols import Engine
from decoding_core.sampling import log_softmax
from decoding_core.verifier import Reader


class BaseAloneVerifier:
    """Gives the base's opinion of every token and judges nothing; the device decides.

    For methods that do not use the generalist: its place in the rows holds the base's
    opinion, too.
    """

    local = False

    def __init__(self, base: Engine) -> None:
        self._base = Reader(base)
        self._temperature: float | None = None

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text; raises VocabularyMismatchError for one of other tokens."""
        self._base.open(request)
        self._temperature = request.terms.temperature
        return SessionOpened("base", "", "base")

    def verify(self, block: DraftBlock) -> Verdict:
        """Rows (G + 1, V) over one block; raises MessageError if it does not follow."""
        if self._temperature is None:
            raise MessageError("verify was called before open")
        logprobs = log_softmax(self._base.read(block), self._temperature)
        ids = np.arange(logprobs.shape[-1], dtype=np.int32)
        rows = tuple(Candidates(ids, row, row) for row in logprobs.astype(np.float32))
        return Verdict(block.epoch, block.round, 0, rows)

    def close(self) -> None:
        """Forget the text; the engine stays usable for the next."""
        self._base.close()
        self._temperature = None
