"""The verifiers that run on this device, alone or around a server's client.

All satisfy the interface of that client, so the loop sees no difference. `verifier_of`
chooses the one that a method needs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
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
from decoding_core.verifier import (
    BlockReader,
    BlocksOut,
    VerifierHere,
    VerifierRole,
    common_prefix,
    count_kept,
    read_text,
    role_of,
)


def verifier_of(
    role: VerifierRole, connect: Callable[[], Verifier], base: Callable[[], Engine]
) -> Verifier:
    """The verifier of a text: what `connect` gives if a generalist takes part, with
    the base that `base` loads if the method needs one on this device."""
    needs_base = role.method.needs_base
    if role.uses_generalist:
        verifier = connect()
        if needs_base and not role.uses_base:
            return EdgeBaseVerifier(verifier, base())
        return verifier
    return BaseAloneVerifier(base()) if needs_base else OfflineVerifier()


class OfflineVerifier(VerifierHere):
    """Keeps everything: no model takes part but the specialist."""

    local = True

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text."""
        del request
        self._out.clear()
        return SessionOpened("offline", "", "")

    def verify(self, block: DraftBlock) -> Verdict:
        """Keep the whole block."""
        return Verdict(block.epoch, block.round, len(block.drafted), ())

    def close(self) -> None:
        """Nothing was remembered."""


class BaseAloneVerifier(VerifierHere):
    """The base on this device as the only verifier, for methods without a generalist:
    each row is its opinion of the whole vocabulary, and the device decides."""

    local = False

    def __init__(self, base: Engine) -> None:
        super().__init__()
        self._base = BlockReader(base)
        self._temperature: float | None = None

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text; raises VocabularyMismatchError for one of other tokens."""
        self._out.clear()
        self._base.open(request)
        self._temperature = request.terms.temperature
        return SessionOpened("base", "", "base")

    def verify(self, block: DraftBlock) -> Verdict:
        """Rows (G, V) over one block; raises MessageError if it does not follow."""
        if self._temperature is None:
            raise MessageError("verify was called before open")
        started = time.perf_counter()
        logits = self._base.read(block, len(block.drafted))
        logprobs = log_softmax(logits, self._temperature)
        ids = np.arange(logprobs.shape[-1], dtype=np.int32)
        rows = tuple(Candidates(ids, row, row) for row in logprobs.astype(np.float32))
        seconds = time.perf_counter() - started
        return Verdict(block.epoch, block.round, 0, rows, seconds=seconds)

    def close(self) -> None:
        """Forget the text; the engine stays usable for the next."""
        self._base.close()
        self._temperature = None


class EdgeBaseVerifier:
    """The base on this device and the generalist elsewhere, which then needs no base.

    The verifier inside answers with the generalist's candidates at every position; here
    the base reads the public prompt, and what the server would have done with both
    happens with the same numbers and the same noise.
    """

    local = False

    def __init__(self, inner: Verifier, base: Engine) -> None:
        self._inner = inner
        self._base = BlockReader(base)
        self._role: VerifierRole | None = None
        self._out = BlocksOut()

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text; raises what the verifier inside raises."""
        self._role = role_of(replace(request.terms, base="cloud"))
        self._out.clear()
        self._base.open(request)
        return self._inner.open(request)

    def submit(self, block: DraftBlock) -> None:
        """Hand the block to the verifier inside; raises what that raises."""
        try:
            self._inner.submit(block)
        except BaseException:
            self._out.clear()
            raise
        self._out.add(block)

    def collect(self) -> Verdict:
        """The verdict from the inner answer and the base's logits, read meanwhile;
        raises MessageError if the answer lacks a drafted token or names unknown
        ones."""
        if self._role is None or not self._out:
            raise MessageError("collect was called before submit")
        block = self._out.popleft()
        try:
            logits = self._base.read(block, self._role.rows(len(block.drafted)))
            answer = self._inner.collect()
        except BaseException:
            self._out.clear()
            raise
        base = log_softmax(logits, self._role.terms.temperature)
        kept, ratio_sum = 0, 0.0
        if self._role.decides:
            reached = min(len(answer.rows), len(block.drafted))
            generalist = np.empty(reached, np.float32)
            for i in range(len(generalist)):
                at = np.flatnonzero(answer.rows[i].token_ids == block.drafted[i])
                if not at.size:
                    raise MessageError("the server's candidates lack a drafted token")
                generalist[i] = answer.rows[i].generalist_logprobs[at[0]]
            drafted = np.arange(reached), np.asarray(block.drafted[:reached], int)
            kept, ratio_sum = count_kept(block, generalist, base[drafted], self._role)
        rows = []
        for i in self._role.positions(kept, len(block.drafted)):
            if answer.reaches is not None and i >= answer.reaches:
                break
            row, opinion = answer.rows[i], base[i]
            row.check(len(opinion))
            of_row = opinion[row.token_ids].astype(np.float32)
            rows.append(replace(row, base_logprobs=of_row, whole_base=opinion))
        return replace(answer, accepted=kept, rows=tuple(rows), ratio_sum=ratio_sum)

    def ready(self) -> bool:
        """Whether the answer of the verifier inside is there."""
        return self._inner.ready()

    def close(self) -> None:
        """End the text on both sides."""
        self._base.close()
        self._inner.close()


_KEPT = 96  # rows remembered: more than a window of the longest drafts


class RememberedRows:
    """An `Engine` that computes no row of logits of one text a second time."""

    def __init__(self, inner: Engine) -> None:
        self._inner, self.vocabulary_id = inner, inner.vocabulary_id
        self._read: list[int] = []  # the text that the rows are of
        self._rows: dict[int, Floats] = {}  # by how many tokens stand before
        self.tokens: list[int] = []  # what its reader takes to be read

    @property
    def position(self) -> int:
        """How many tokens that are."""
        return len(self.tokens)

    def evaluate(self, token_ids: Sequence[int], rows: int = 1) -> Floats:
        """Logits (rows, V), computed if absent; raises as the engine inside."""
        wanted = [*self.tokens, *token_ids]
        same, end = common_prefix(self._read, wanted), len(wanted)
        if same < end:  # it is another text from there on, or a longer one
            self._rows = {at: row for at, row in self._rows.items() if at <= same}
        asked = range(end - rows + 1, end + 1)
        lacking = [at for at in asked if at not in self._rows]
        if lacking:
            found = read_text(self._inner, wanted, end + 1 - lacking[0])
            self._rows.update(zip(range(lacking[0], end + 1), found, strict=True))
            if same < end:
                self._read = list(wanted)
        self.tokens = wanted
        answer = np.stack([self._rows[at] for at in asked])
        for at in sorted(self._rows)[:-_KEPT]:
            del self._rows[at]
        return answer

    def rollback(self, position: int) -> None:
        """Forget everything after the first `position` tokens."""
        del self.tokens[position:]

    def close(self) -> None:
        """Free the engine inside."""
        self._inner.close()
