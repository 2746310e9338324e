"""What a verifier does: its role in a session, reading a block, verifying it.

Both sides derive the `VerifierRole` from the terms of the session. A `Reader` brings an
engine to the end of a block, and `verify` turns the logits of both models into the
verdict; the server and the `EngineVerifier`, which has both engines in this process,
call it alike. G drafted tokens give G + 1 rows of logits: row i is what may stand at
drafted position i, row G what may follow.

The threshold of a block stands for Z, the norm of T at strength 1. For a token drawn
from S the mean of L/B is the sum of S * L/B, which is Z: so the mean over the drafted
tokens of a block is an unbiased estimate of the mean Z of the places where they were
drawn, and `RunningThreshold` is the mean of these. All drafted tokens count, those
after a refusal too: a mean that ends with each block's first refusal ends with a small
ratio, and is too small. With one number of tokens a block, as all but the last blocks
of a text have it, the mean over blocks is unbiased too.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from decoding_core.errors import MessageError, VocabularyMismatchError
from decoding_core.messages import (
    NOTHING_LEFT_OUT,
    THRESHOLD_LIMIT,
    Candidates,
    DraftBlock,
    OpenSession,
    SessionOpened,
    Terms,
    Verdict,
    digest,
)
from decoding_core.methods import build_for_server
from decoding_core.protocols import Engine, Method, TopEngine
from decoding_core.sampling import (
    Floats,
    Noise,
    TopLogits,
    likeliest_ids,
    log_softmax,
    top_logits,
)
from decoding_core.settings import START, Threshold
from decoding_core.wire import FrameFormat


@dataclass(frozen=True, slots=True)
class VerifierRole:
    """The verifier's part in a method, as both sides derive it from the terms."""

    terms: Terms
    method: Method
    uses_generalist: bool
    """Whether a generalist takes part; else no server is asked, and the base, where the
    method needs it, runs on the device."""
    uses_base: bool
    """Whether the verifier runs the base."""
    decides: bool
    """Whether the verifier counts the tokens that stay; else it gives a row of
    candidates at every position, and the device decides."""
    draft_limit: int
    """The longest draft that the method and the terms allow; 0: none is drafted."""
    adds_draft: bool
    """Whether the drafted token is among the candidates. It is not where the device
    decides: the cut would depend on the draft, and the text with it."""
    redrafts: bool
    """Whether a refused place is drafted again with fresh noise, and needs no row."""
    takes_bonus: bool
    """Whether a token is drawn after a block that is kept whole."""

    @property
    def frames(self) -> FrameFormat:
        """The frames of the session."""
        return FrameFormat(
            draft_limit=self.terms.draft_limit,
            rows=len(self.positions(0, self.draft_limit)),
            row_limit=self.terms.candidates + self.adds_draft,
            with_base=self.uses_base,
        )

    def rows(self, drafted: int) -> int:
        """How many rows of logits a block of so many drafted tokens is verified from:
        the one after its last token only where something may stand there."""
        return drafted + 1 if self.takes_bonus or not drafted else drafted

    def positions(self, kept: int, drafted: int) -> range:
        """The positions of a block whose rows of candidates stand in the verdict."""
        if not self.decides:
            return range(drafted + 1)
        return range(0) if self.redrafts else range(kept, kept + 1)


def role_of(terms: Terms, method: Method | None = None) -> VerifierRole:
    """The verifier's part under these terms, in the method that they name or in the
    given one, which was built from the same settings; raises what `build` does."""
    method = method or build_for_server(terms)
    drafts, needs_base = method.drafts, method.needs_base
    on_edge = needs_base and terms.base == "edge"
    by_server = method.decided_by == "server"
    return VerifierRole(
        terms,
        method,
        uses_generalist=method.needs_generalist,
        uses_base=needs_base and not on_edge,
        decides=by_server and not on_edge,
        draft_limit=terms.draft_limit if drafts else 0,
        adds_draft=by_server and drafts,
        redrafts=method.drafts_again,
        takes_bonus=True,
    )


def verify(
    block: DraftBlock,
    generalist_logits: Floats,
    base_logits: Floats | None,
    role: VerifierRole,
) -> Verdict:
    """The verdict on `block` from logits (G + 1, V); no base where none is used."""
    terms = role.terms
    generalist = log_softmax(generalist_logits, terms.temperature)
    base = None if base_logits is None else log_softmax(base_logits, terms.temperature)
    kept, mean = 0, 0.0
    if role.decides and base is not None:
        at = np.arange(len(block.drafted)), np.asarray(block.drafted, int)
        kept, mean = count_kept(block, generalist[at], base[at], role)
    rows = tuple(
        _candidates(
            generalist[i],
            None if base is None else base[i],
            block.drafted[i : i + 1] if role.adds_draft else (),
            role,
        )
        for i in role.positions(kept, len(block.drafted))
    )
    return Verdict(block.epoch, block.round, kept, rows, mean)


def count_kept(
    block: DraftBlock, generalist: Floats, base: Floats, role: VerifierRole
) -> tuple[int, float]:
    """How many drafted tokens stay, given their log-probabilities (G,), and the mean of
    L/B over all of them, rounded as it travels."""
    if not block.drafted:
        return 0, 0.0
    keep = role.method.acceptance(generalist, base, block.threshold)
    first = block.position + len(block.settled)
    attempt = block.epoch if role.redrafts else 0
    noise = Noise(role.terms.seed)
    kept = len(keep)
    for index, probability in enumerate(keep):
        if not noise.keeps(float(probability), first + index, attempt):
            kept = index
            break
    # A ratio counts as no more than a threshold can be.
    log_ratio = (generalist - base).astype(float)
    ratio = np.exp(np.minimum(log_ratio, math.log(THRESHOLD_LIMIT)))
    return kept, float(np.float32(ratio.mean()))


def _candidates(
    generalist: Floats,
    base: Floats | None,
    drafted: tuple[int, ...],
    role: VerifierRole,
) -> Candidates:
    """The row of candidates at one position from log-probabilities (V,)."""
    scores = contrast = generalist.astype(np.float64)
    if base is not None:
        contrast = generalist - role.method.delta_weight * base.astype(np.float64)
    if role.terms.candidate_rule == "contrast":
        scores = contrast
    wanted = [
        likeliest_ids(scores, role.terms.candidates),
        np.asarray(drafted, np.intp),
    ]
    ids = np.unique(np.concatenate(wanted)).astype(np.int32)
    tail = NOTHING_LEFT_OUT
    if len(ids) < len(contrast):
        others = contrast.copy()
        others[ids] = -np.inf
        largest = others.max()
        # Rounded up to a float32: the bound that the device computes from it must hold.
        rounded = np.float32(largest)
        if rounded < largest:
            rounded = np.nextafter(rounded, np.float32(np.inf))
        tail = float(rounded)
    return Candidates(
        ids,
        generalist[ids].astype(np.float32),
        None if base is None else base[ids].astype(np.float32),
        tail,
    )


class RunningThreshold:
    """The threshold of the next block: a number, or the running mean of L/B."""

    def __init__(self, threshold: Threshold = START) -> None:
        self._learns = threshold == "auto"
        self._start = START if threshold == "auto" else float(threshold)
        self._sum, self._count = 0.0, 0

    @property
    def value(self) -> float:
        """The threshold of the next block."""
        mean = self._sum / self._count if self._count else self._start
        return min(mean, THRESHOLD_LIMIT)

    def learn(self, mean_ratio: float, drafted: int) -> None:
        """Take in the mean of L/B over so many more drafted tokens."""
        if self._learns:
            self._sum += mean_ratio * drafted
            self._count += drafted


class Reader:
    """An engine that follows a text block by block."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._prompt: list[int] = []
        self._text: list[int] = []

    def open(self, request: OpenSession) -> None:
        """Begin a text; raises VocabularyMismatchError for one of other tokens."""
        if self._engine.vocabulary_id != request.vocabulary_id:
            raise VocabularyMismatchError(
                "the specialist and the generalist have different vocabularies"
            )
        self._engine.rollback(0)
        self._prompt, self._text = list(request.prompt_ids), list(request.text_ids)

    def read(self, block: DraftBlock) -> Floats:
        """Logits (G + 1, V) over a block; raises MessageError if it does not follow."""
        if digest(self._text[: block.position]) != block.digest:
            raise MessageError("the block does not follow the text")
        self._text[block.position :] = [*block.settled, *block.drafted]
        known = len(self._prompt) + block.position
        rows = len(block.drafted) + 1
        return read_on(self._engine, self._prompt + self._text, known, rows)

    def close(self) -> None:
        """Forget the text; the engine stays usable for the next."""
        self._engine.rollback(0)
        self._prompt, self._text = [], []


def read_on(engine: Engine, token_ids: Sequence[int], known: int, rows: int) -> Floats:
    """Bring an engine to the end of `token_ids`, of which the first `known` are as when
    it read them; logits (rows, V) after each of the last `rows` tokens."""
    start = min(engine.position, known, len(token_ids) - rows)
    if start < engine.position:
        engine.rollback(start)
    return engine.evaluate(token_ids[start:], rows)


def read_top(
    engine: Engine,
    token_ids: Sequence[int],
    asked: Sequence[Sequence[int]],
    count: int,
    temperature: float = 1.0,
) -> list[TopLogits]:
    """`TopEngine.evaluate_top` of any engine: from all of its logits where it cannot
    hand out fewer."""
    if isinstance(engine, TopEngine):
        return engine.evaluate_top(token_ids, asked, count, temperature)
    rows = engine.evaluate(token_ids, len(asked))
    return [
        top_logits(row, count, ids, temperature)
        for row, ids in zip(rows, asked, strict=True)
    ]


class OneBlockVerifier(ABC):
    """A verifier that does its work when the verdict is collected."""

    _submitted: DraftBlock | None = None

    def submit(self, block: DraftBlock) -> None:
        """Keep the block; raises MessageError where another one waits."""
        if self._submitted is not None:
            raise MessageError("a block waits for its verdict already")
        self._submitted = block

    def collect(self) -> Verdict:
        """The verdict on the block that waits; raises MessageError if none does."""
        block, self._submitted = self._submitted, None
        if block is None:
            raise MessageError("collect was called before submit")
        return self.verify(block)

    @abstractmethod
    def verify(self, block: DraftBlock) -> Verdict:
        """Verify one block at once."""


class EngineVerifier(OneBlockVerifier):
    """Verifies drafts with a generalist and a base engine in this process; no socket.

    It satisfies the interface that the client of a server does, so the whole system
    runs in one process for tests, and for a person who has both models on one machine.
    The base must be there where the method compares with it and the terms place it on
    the server.
    """

    local = False

    def __init__(self, generalist: Engine, base: Engine | None = None) -> None:
        self._generalist = Reader(generalist)
        self._base = None if base is None else Reader(base)
        self._role: VerifierRole | None = None

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text.

        Raises:
            VocabularyMismatchError: an engine has another vocabulary than the device.
            UnknownMethodError: there is no such method.
            MessageError: the method needs a base, and there is none.
        """
        self._role = role_of(request.terms)
        if self._role.uses_base and self._base is None:
            raise MessageError("the method needs a base, and there is none here")
        self._generalist.open(request)
        if self._base is not None:
            self._base.open(request)
        return SessionOpened("in-process", "generalist", "base")

    def verify(self, block: DraftBlock) -> Verdict:
        """Verify one block; raises MessageError if it does not follow the text."""
        if self._role is None:
            raise MessageError("verify was called before open")
        generalist, base = self._generalist.read(block), None
        if self._role.uses_base and self._base is not None:
            base = self._base.read(block)
        return verify(block, generalist, base, self._role)

    def close(self) -> None:
        """Forget the text; the engines stay usable for the next."""
        self._generalist.close()
        if self._base is not None:
            self._base.close()
        self._role = None
