"""What a verifier does: its role in a session, reading a block, verifying it.

Both sides derive the `VerifierRole` from the terms of the session. A `BlockReader`
brings an engine to the end of a block, and `verify` turns the logits of both models
into the verdict; the server and the `EngineVerifier`, which has both engines in this
process, call it alike. G drafted tokens give G rows of logits: row i is what may stand
at drafted position i. Where a bonus is drawn, row G is what may follow.

The threshold of a block stands for Z, the norm of T at strength 1. For a token drawn
from S after the settled text the mean of L/B is the sum of S * L/B, which is Z there.
`RunningThreshold` takes one such token for every place of the text, the first refused
one too: over any fixed number of places the sum of what they gave less the sum of their
Z has mean 0, so the mean is unbiased. Tokens drafted after a refused one do not count:
they stand after words that the text does not have, and how many there are depends on
how long the drafts are.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from decoding_core.byte_space import ByteReading, ByteVocabulary, reading_of
from decoding_core.errors import (
    InvalidSettingsError,
    MessageError,
    VocabularyMismatchError,
)
from decoding_core.messages import (
    BYTES_VERSION,
    NOTHING_LEFT_OUT,
    RATIO_UNIT,
    VERSION,
    Candidates,
    DraftBlock,
    FrameFormat,
    OpenSession,
    SessionOpened,
    Verdict,
    digest,
)
from decoding_core.methods import build_for_server
from decoding_core.protocols import (
    BatchEngine,
    Engine,
    Method,
    Reading,
    Rows,
    RowsEngine,
    WholeRows,
)
from decoding_core.sampling import TIED, ArrayRows, Floats, Ids, Noise
from decoding_core.settings import (
    DRAFT_LIMIT,
    START,
    THRESHOLD_LIMIT,
    WINDOW,
    Terms,
    Threshold,
)


@dataclass(frozen=True, slots=True)
class VerifierRole:
    """The verifier's part in a method, as both sides derive it from the terms."""

    terms: Terms
    method: Method
    uses_generalist: bool
    """Whether a generalist takes part; else no server is asked, and a base runs on the
    device."""
    uses_base: bool  # whether the verifier runs the base
    decides: bool
    """Whether the verifier counts the tokens that stay; else it gives a row of
    candidates at every position, and the device decides."""
    draft_limit: int  # the longest draft; 0: none is drafted
    draws_bonus: bool
    """Whether a token is drawn after a block that was kept whole. The text then depends
    on where blocks end, and the next block waits for the verdict."""
    reads_specialist: bool  # whether the target depends on the specialist
    adds_draft: bool
    """Whether the drafted token is among the candidates. It is not if the device
    decides: the cut would depend on the draft, and the text with it."""
    redrafts: bool  # whether a refused place is drafted again and needs no row
    in_bytes: bool = False
    """Whether the session speaks bytes: the verifier then gives a row of its own tokens
    at each of their borders, and the device does the rest."""

    @property
    def frames(self) -> FrameFormat:
        """The frames of the session."""
        return FrameFormat(
            draft_limit=self.terms.draft_limit,
            rows=len(self.positions(0, self.draft_limit)),
            row_limit=self.terms.candidates + self.adds_draft,
            with_base=self.uses_base,
            version=BYTES_VERSION if self.in_bytes else VERSION,
        )

    @property
    def uses_specialist(self) -> bool:
        """Whether the specialist drafts or the target depends on it."""
        return self.draft_limit > 0 or self.reads_specialist

    def positions(self, kept: int, drafted: int) -> range:
        """The positions of a block whose rows of candidates stand in the verdict."""
        if not self.decides:
            return range(self.rows(drafted))
        if self.redrafts or kept == self.rows(drafted):
            return range(0)
        return range(kept, kept + 1)

    def rows(self, drafted: int) -> int:
        """Rows of logits for a block of `drafted` tokens, one more for a bonus."""
        return drafted + (self.draws_bonus or not drafted)


def role_of(terms: Terms, method: Method | None = None) -> VerifierRole:
    """The verifier's part under these terms, in the method they name or the given one;
    raises as `build`."""
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
        draws_bonus=method.takes_bonus,
        reads_specialist=method.needs_specialist,
        adds_draft=by_server and drafts,
        redrafts=method.drafts_again,
    )


def bytes_role(role: VerifierRole) -> VerifierRole:
    """The verifier's part if its vocabulary is not the device's. A draft may be more of
    its tokens than of the device's; there is a row before each, and behind the last.

    Raises:
        InvalidSettingsError: the candidates are ranked by a base that it does not have.
    """
    if role.terms.candidate_rule != "generalist":
        raise InvalidSettingsError(
            "candidates by contrast need a base beside the generalist, and the two "
            "models have different vocabularies: choose candidates by the generalist"
        )
    return replace(
        role,
        uses_base=False,
        decides=False,
        draft_limit=2 * role.terms.draft_limit + 2,
        draws_bonus=True,
        adds_draft=True,
        redrafts=False,
        in_bytes=True,
    )


def read_in_bytes(
    block: DraftBlock, text: bytes, vocabulary: ByteVocabulary, role: VerifierRole
) -> tuple[ByteReading, DraftBlock]:
    """What of a text in bytes, the block at its end, a model reads; and the same block
    in tokens of its vocabulary, all of which count as drafted."""
    reading = reading_of(vocabulary, text, len(block.drafted), role.draft_limit + 1)
    drafted = tuple(reading.token_ids[reading.first :])
    inside = replace(block, position=reading.first, settled=(), drafted=drafted)
    return reading, inside


def verify_in_bytes(
    block: DraftBlock,
    generalist_logits: Rows,
    base_logits: Rows | None,
    role: VerifierRole,
    starts: Sequence[int],
) -> Verdict:
    """The verdict of `verify` on a block in tokens, each row with its start."""
    verdict = verify(block, generalist_logits, base_logits, role)
    placed = zip(verdict.rows, starts, strict=True)
    return replace(verdict, rows=tuple(replace(row, start=at) for row, at in placed))


def verify(
    block: DraftBlock,
    generalist_logits: Rows,
    base_logits: Rows | None,
    role: VerifierRole,
) -> Verdict:
    """The verdict on `block` from `role.rows` rows of logits (R, V)."""
    if base_logits is not None and type(base_logits) is not type(generalist_logits):
        # Of two engines: compared in this memory, where rows can be had whole.
        generalist_logits, base_logits = _whole(generalist_logits), _whole(base_logits)
    generalist = _Opinion(generalist_logits, role.terms.temperature)
    base = None
    if base_logits is not None:
        base = _Opinion(base_logits, role.terms.temperature)
    kept, ratio_sum = 0, 0.0
    if role.decides and base is not None:
        at = range(len(block.drafted)), block.drafted
        kept, ratio_sum = count_kept(
            block, generalist.logprobs(*at), base.logprobs(*at), role
        )
    positions = role.positions(kept, len(block.drafted))
    rows = _candidates(block, positions, generalist, base, role)
    return Verdict(block.epoch, block.round, kept, rows, ratio_sum)


def _whole(rows: Rows) -> Rows:
    return rows.whole() if isinstance(rows, WholeRows) else rows


class _Opinion:
    """A model's rows of logits for a block, each with its sum over the vocabulary."""

    def __init__(self, logits: Rows, temperature: float) -> None:
        self.rows = ArrayRows(logits) if isinstance(logits, np.ndarray) else logits
        self.scale = 1.0 if temperature == 0.0 else 1.0 / temperature
        self.log_sums = self.rows.log_sum_exps(temperature)

    def logprobs(
        self, rows: Sequence[int] | Ids, token_ids: Sequence[int] | Ids
    ) -> Floats:
        """Log-probabilities (K,) of tokens, each in its row, or all in one."""
        logits = self.rows.at(rows, token_ids)
        return logits * self.scale - self.log_sums[np.asarray(rows, np.intp)]


def count_kept(
    block: DraftBlock, generalist: Floats, base: Floats, role: VerifierRole
) -> tuple[int, float]:
    """How many drafted tokens stay, by log-probabilities (G,), and the sum of L/B with
    the first refused one."""
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
    log_ratio = (generalist - base)[: kept + 1].astype(float)
    ratios = np.exp(np.minimum(log_ratio, math.log(THRESHOLD_LIMIT)))
    return kept, float(np.rint(ratios / RATIO_UNIT).sum() * RATIO_UNIT)


def _candidates(
    block: DraftBlock,
    positions: Sequence[int],
    generalist: _Opinion,
    base: _Opinion | None,
    role: VerifierRole,
) -> tuple[Candidates, ...]:
    """The rows of candidates at these positions of a block."""
    if not positions:
        return ()
    weight = role.method.delta_weight
    contrast = (None if base is None else base.rows), weight
    ranked = contrast if role.terms.candidate_rule == "contrast" else (None, 0.0)
    chosen: list[Ids] = []
    for i in positions:
        # A logit is a log-probability times the temperature, but for a constant.
        likeliest = generalist.rows.likeliest_ids(
            i, role.terms.candidates, TIED / generalist.scale, *ranked
        )
        drafted = block.drafted[i : i + 1] if role.adds_draft else ()
        ids = np.union1d(likeliest, np.asarray(drafted, np.intp)).astype(np.int32)
        chosen.append(ids)
    # Looked up together: an engine behind an address asks for what it lacks at once.
    sizes = [len(ids) for ids in chosen]
    pairs = np.repeat(positions, sizes), np.concatenate(chosen)
    ends = np.cumsum(sizes)[:-1]
    of_generalist = np.split(generalist.logprobs(*pairs).astype(np.float32), ends)
    of_base: list[NDArray[np.float32]] | list[None] = [None] * len(chosen)
    if base is not None:
        of_base = np.split(base.logprobs(*pairs).astype(np.float32), ends)
    found = []
    for i, ids, large, small in zip(
        positions, chosen, of_generalist, of_base, strict=True
    ):
        tail = NOTHING_LEFT_OUT
        if len(ids) < generalist.rows.vocabulary_size:
            largest = generalist.scale * generalist.rows.largest_besides(
                i, ids, *contrast
            )
            largest -= generalist.log_sums[i]
            if base is not None:
                largest += weight * base.log_sums[i]
            # Rounded up to a float32: the bound that the device computes from it must
            # hold.
            rounded = np.float32(largest)
            if rounded < largest:
                rounded = np.nextafter(rounded, np.float32(np.inf))
            tail = float(rounded)
        found.append(Candidates(ids, large, small, tail))
    return tuple(found)


class RunningThreshold:
    """The threshold at each place of a text: a number, or the running mean of L/B.

    A mean that is learned changes at multiples of `STRIDE` alone, and counts the places
    before the stride that ends there: so it does not depend on when verdicts come, and
    a draft need not wait for the one before.
    """

    STRIDE = 16

    def __init__(self, threshold: Threshold = START) -> None:
        self._learns = threshold == "auto"
        self._start = START if threshold == "auto" else float(threshold)
        self._sums: list[list[float]] = []  # of each stride: sum of L/B, places

    def at(self, position: int, settled: int) -> tuple[float | None, int]:
        """The threshold at `position`, and how many tokens from there share it; None:
        it depends on tokens not settled yet."""
        if not self._learns:
            return self._start, DRAFT_LIMIT
        room = self.STRIDE - position % self.STRIDE
        known = position // self.STRIDE - 1
        if settled < known * self.STRIDE:
            return None, room
        sums = self._sums[: max(known, 0)]
        total, count = sum(s for s, _ in sums), sum(n for _, n in sums)
        return min(total / count, THRESHOLD_LIMIT) if count else self._start, room

    def learn(self, position: int, ratio_sum: float, places: int) -> None:
        """Take in the sum of L/B over `places` from `position` on."""
        stride = position // self.STRIDE
        while len(self._sums) <= stride:
            self._sums.append([0.0, 0])
        self._sums[stride][0] += ratio_sum
        self._sums[stride][1] += places


def common_prefix(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens, or bytes, two texts share from their start."""
    size = min(len(one), len(other))
    if one[:size] == other[:size]:  # at the speed of C, and the usual case
        return size
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (left, right) in pairs if left != right), size)


def start_of_reading(
    read: Sequence[int], token_ids: Sequence[int], rows: int, *, alone: bool = False
) -> int:
    """From where an engine that has `read` a text must read for the last `rows` rows of
    logits of another.

    Unless it may be read `alone`, a single token is read with the one before it: the
    kernels for one token give other last bits than those for several, and how a text is
    cut is to change none.
    """
    start = min(common_prefix(read, token_ids), len(token_ids) - rows)
    if alone:
        return start
    if start == len(token_ids) - 1:
        start -= 1
    return start if start > 1 or start == len(token_ids) else 0


def read_text(engine: Engine, token_ids: Sequence[int], rows: int = 1) -> Floats:
    """Logits (rows, V) after each of the last `rows` tokens of a text, read from where
    it differs from what was read; raises as `Engine.evaluate`."""
    wanted = list(token_ids)
    start = start_of_reading(engine.tokens, wanted, rows)
    if start < engine.position:
        engine.rollback(start)
    return engine.evaluate(wanted[start:], rows)


def hold_text(engine: Engine, token_ids: Sequence[int]) -> None:
    """Have an engine hold a text and nothing more; raises as `Engine.evaluate`."""
    if common_prefix(engine.tokens, token_ids) < len(token_ids):
        read_text(engine, token_ids)
    elif len(token_ids) < engine.position:
        engine.rollback(len(token_ids))


class BlockReader:
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
        self._prompt, self._text = list(request.prompt_ids), list(request.text_ids)

    def read(self, block: DraftBlock, rows: int) -> Floats:
        """Logits (rows, V) over a block; raises MessageError if it does not follow."""
        if digest(self._text[: block.position]) != block.digest:
            raise MessageError("the block does not follow the text")
        self._text[block.position :] = [*block.settled, *block.drafted]
        unread = len(block.drafted) + 1 - rows
        token_ids = self._prompt + self._text
        return read_text(self._engine, token_ids[: len(token_ids) - unread], rows)

    def close(self) -> None:
        """Forget the text; the engine stays usable for the next."""
        self._prompt, self._text = [], []


def evaluate_rows(engine: BatchEngine, readings: Sequence[Reading]) -> Sequence[Rows]:
    """Rows of any engine, whole ones if it offers no others; `verify` takes either."""
    if isinstance(engine, RowsEngine):
        return engine.evaluate_rows(readings)
    return engine.evaluate(readings)


class BlocksOut(deque[DraftBlock]):
    """The blocks that wait for their verdicts, all of one epoch, the oldest first."""

    def add(self, block: DraftBlock) -> None:
        """Take in a block, void older epochs; raises MessageError for too many."""
        if self and self[-1].epoch < block.epoch:
            self.clear()
        if len(self) == WINDOW:
            raise MessageError("too many blocks wait for their verdicts")
        self.append(block)


class VerifierHere(ABC):
    """A verifier in this process: it does its work when a verdict is collected."""

    def __init__(self) -> None:
        self._out = BlocksOut()

    def submit(self, block: DraftBlock) -> None:
        """Keep the block; those of an epoch before are void."""
        self._out.add(block)

    def collect(self) -> Verdict:
        """The oldest block's verdict; raises MessageError for none. An error takes all
        blocks out of the window."""
        if not self._out:
            raise MessageError("collect was called before submit")
        block = self._out.popleft()
        try:
            return self.verify(block)
        except BaseException:
            self._out.clear()
            raise

    def ready(self) -> bool:
        """False: a verdict begins to be made when it is collected."""
        return False

    @abstractmethod
    def verify(self, block: DraftBlock) -> Verdict:
        """Verify one block at once."""


class ByteEngineVerifier(VerifierHere):
    """Verifies drafts in bytes with a generalist in this process that has a vocabulary
    of its own, for measurements."""

    local = False

    def __init__(
        self,
        generalist: Engine,
        vocabulary: ByteVocabulary,
        prompt_of: Callable[[Sequence[tuple[str, str]]], Sequence[int]],
    ) -> None:
        """`prompt_of` gives the generalist's own tokens of the messages of a prompt."""
        super().__init__()
        self._engine, self._vocabulary = generalist, vocabulary
        self._prompt_of = prompt_of
        self._prompt: list[int] = []
        self._text = bytearray()
        self._role: VerifierRole | None = None

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text; raises VocabularyMismatchError for one in tokens."""
        if request.version != BYTES_VERSION:
            raise VocabularyMismatchError(
                "the specialist and the generalist have different vocabularies"
            )
        self._role = bytes_role(role_of(request.terms))
        self._out.clear()
        self._prompt = list(self._prompt_of(request.messages))
        self._text = bytearray(request.text_ids)
        return SessionOpened("in-process", "generalist", "")

    @property
    def speaks_bytes(self) -> bool:
        """True: it reads nothing else."""
        return True

    def vocabulary(self) -> ByteVocabulary:
        """The generalist's tokens."""
        return self._vocabulary

    def verify(self, block: DraftBlock) -> Verdict:
        """Verify one block; raises MessageError if it does not follow the text."""
        role = self._role
        if role is None:
            raise MessageError("verify was called before open")
        if digest(bytes(self._text[: block.position])) != block.digest:
            raise MessageError("the block does not follow the text")
        self._text[block.position :] = bytes([*block.settled, *block.drafted])
        started = time.perf_counter()
        text = bytes(self._text)
        reading, inside = read_in_bytes(block, text, self._vocabulary, role)
        rows = len(inside.drafted) + 1
        logits = read_text(self._engine, [*self._prompt, *reading.token_ids], rows)
        verdict = verify_in_bytes(inside, logits, None, role, reading.starts)
        return replace(verdict, seconds=time.perf_counter() - started)

    def close(self) -> None:
        """Forget the text; the engine stays usable for the next."""
        self._role = None


class EngineVerifier(VerifierHere):
    """Verifies drafts with a generalist and a base in this process, for tests and for
    who has both models here; satisfies the interface of a server's client."""

    local = False

    def __init__(self, generalist: Engine, base: Engine | None = None) -> None:
        super().__init__()
        self._generalist = BlockReader(generalist)
        self._base = None if base is None else BlockReader(base)
        self._role: VerifierRole | None = None

    def open(self, request: OpenSession) -> SessionOpened:
        """Begin a text; raises VocabularyMismatchError, UnknownMethodError, and
        MessageError without a base that the method needs."""
        self._role = role_of(request.terms)
        if self._role.uses_base and self._base is None:
            raise MessageError("the method needs a base, and there is none here")
        self._out.clear()
        self._generalist.open(request)
        if self._base is not None:
            self._base.open(request)
        return SessionOpened("in-process", "generalist", "base")

    def verify(self, block: DraftBlock) -> Verdict:
        """Verify one block; raises MessageError if it does not follow the text."""
        if self._role is None:
            raise MessageError("verify was called before open")
        started = time.perf_counter()
        rows = self._role.rows(len(block.drafted))
        generalist, base = self._generalist.read(block, rows), None
        if self._role.uses_base and self._base is not None:
            base = self._base.read(block, rows)
        verdict = verify(block, generalist, base, self._role)
        return replace(verdict, seconds=time.perf_counter() - started)

    def close(self) -> None:
        """Forget the text; the engines stay usable for the next."""
        self._generalist.close()
        if self._base is not None:
            self._base.close()
        self._role = None
