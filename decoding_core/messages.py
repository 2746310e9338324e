"""What the device and the server say to each other: frozen values, and their bytes.

Letters: G drafted tokens, K candidates, R rows of candidates. Ids are those of the
shared vocabulary, log-probabilities are in nats. Positions count the tokens of the
text in its public form, from 0 after the prompt.

The format and its version live nowhere else. Frames are little-endian and of one size
per direction for a whole session: padded with zeros, never compressed. Sizes that
followed the content would show an eavesdropper how many tokens were kept (arXiv
2411.01076).

A session speaks version 3, in which a text is tokens of a vocabulary that both sides
share, or version 4, in which it is UTF-8 bytes, as their vocabularies differ: then
positions, digest and drafts count bytes, ids are bytes (u8), and a row names tokens of
the server's vocabulary and the byte that it stands at.

Up:    version u8, type u8, flags u16, epoch u32, round u64, position u32, digest u32,
       settled u16, drafted u16, threshold f64, then ids u32 (u8).
Down:  version u8, type u8, flags u16, epoch u32, round u64, value u32, rows u16,
       padding u16, seconds f32, ratio sum f64, then per row its length u16, start i16
       (0 in version 3) and tail f32, then per candidate id u32, generalist f32 and, if
       it is asked, base f32.
`value` is the count of kept tokens, the tokens held (resync), milliseconds to wait
(busy) or a problem code (error).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from decoding_core.errors import MessageError
from decoding_core.settings import DRAFT_LIMIT, THRESHOLD_LIMIT, Origin, Terms

VERSION = 3  # of the protocol, if both sides share a vocabulary
BYTES_VERSION = 4  # of the protocol, if they do not
VERSIONS = (VERSION, BYTES_VERSION)
SETTLED_LIMIT = 16
"""Settled tokens that one block may carry; with more, the session is opened anew."""
TOKEN_BYTES = 16
"""Bytes in a frame for each token that it may carry, in a session that speaks bytes."""
RATIO_UNIT = 2.0**-20  # sums of multiples of this are exact in a double, in any order
NOTHING_LEFT_OUT = float(np.finfo(np.float32).min)
"""What stands for the logarithm of zero where only finite numbers travel."""
_ROUNDING = 1e-3
"""More than rounding adds to a log-probability, or to a sum of probabilities."""
_LOWEST_LOGPROB = -1e30
"""Below this a product with the highest strength is no float32 any more."""


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A request for a session."""

    prompt_ids: tuple[int, ...]  # the public prompt
    text_ids: tuple[int, ...]
    """The text so far, when a session is opened again; else empty."""
    vocabulary_id: str
    terms: Terms
    version: int = VERSION  # of the protocol, which the session then speaks
    messages: tuple[tuple[str, str], ...] = ()
    """Role and text of each message of the public prompt, if the session speaks bytes:
    the server has its own tokens and chat template."""


@dataclass(frozen=True, slots=True)
class SessionOpened:
    """The server's answer to `OpenSession`."""

    session_id: str
    generalist: str  # name of the large model, for the screen
    base: str


@dataclass(frozen=True, slots=True)
class DraftBlock:
    """One round: what the device settled since the last, and what it drafted."""

    epoch: int  # grows at each refusal
    round: int
    position: int
    """How many text tokens stand before this block; the server forgets any others."""
    digest: int  # `digest` of those tokens
    settled: tuple[int, ...]
    """Tokens the device has fixed after `position`; not to be verified."""
    drafted: tuple[int, ...]  # (G,)
    threshold: float = 0.5
    """A drafted token stays while generalist / base lies above it."""

    def __post_init__(self) -> None:
        if min(self.epoch, self.round, self.position) < 0:
            raise MessageError("epoch, round and position count from 0")
        if not 0.0 <= self.threshold <= THRESHOLD_LIMIT:
            raise MessageError("a threshold that cannot be")
        settled, drafted = SETTLED_LIMIT * TOKEN_BYTES, DRAFT_LIMIT * TOKEN_BYTES
        if len(self.settled) > settled or len(self.drafted) > drafted:
            raise MessageError("a block holds too many tokens")


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Log-probabilities of K tokens at one position, at the session's temperature."""

    token_ids: NDArray[np.int32]  # (K,)
    generalist_logprobs: NDArray[np.float32]  # (K,)
    base_logprobs: NDArray[np.float32] | None  # (K,)
    """None if the server asks no base."""
    tail_log_ratio: float = NOTHING_LEFT_OUT
    """Logarithm of the largest L / B^strength, or L if there is no base, of a token
    that is no candidate; never too small. The strength is that of the method's target,
    which for `costeer` is more than the one that is set."""
    whole_base: NDArray[np.floating[Any]] | None = None  # (V,)
    """The base on all tokens, if it runs on this device; never travels."""
    start: int = 0
    """Of a session in bytes: the byte at which the row stands, counted from the first
    drafted one; below 0 before that."""

    def __post_init__(self) -> None:
        given = (self.generalist_logprobs, self.base_logprobs)
        shapes = {a.shape for a in given if a is not None}
        if shapes != {self.token_ids.shape} or self.token_ids.ndim != 1:
            raise MessageError("candidates must be rows of one length")
        if self.token_ids.size and self.token_ids.min() < 0:
            raise MessageError("candidates with ids below 0")

    def check(self, vocabulary: int) -> None:
        """Raise MessageError if an id is not below `vocabulary`: the ids came from
        another machine, and are looked up here."""
        if self.token_ids.size and self.token_ids.max() >= vocabulary:
            raise MessageError(
                "the server names tokens that this device's model does not have; it is "
                "faulty, so choose another with --server, or write with --offline"
            )

    def without(self, token_ids: NDArray[np.intp]) -> Candidates:
        """The row less these tokens, unless that leaves nothing."""
        kept = ~np.isin(self.token_ids, token_ids)
        if kept.all() or not kept.any():
            return self
        base = self.base_logprobs
        return replace(
            self,
            token_ids=self.token_ids[kept],
            generalist_logprobs=self.generalist_logprobs[kept],
            base_logprobs=None if base is None else base[kept],
        )

    @property
    def base(self) -> NDArray[np.float32]:
        """The base's log-probabilities (K,), of which a method has need."""
        if self.base_logprobs is None:
            raise MessageError("the candidates came without the base's opinion")
        return self.base_logprobs


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """The answer to one block."""

    epoch: int
    round: int
    accepted: int  # how many drafted tokens stay
    rows: tuple[Candidates, ...]
    """One row, for the token in place of the first refused one, when the server
    decides; G rows, one per drafted token, when the device does; none when the device
    drafts again after a refusal. Where a bonus is drawn, one more after them all."""
    ratio_sum: float = 0.0
    """Sum of L / B over the drafted tokens up to and with the first refused one, each a
    multiple of `RATIO_UNIT`, if the server decides; else 0. The sum over a text is
    therefore the same wherever its blocks end."""
    seconds: float = 0.0
    """How long the models took for this block, as far as the verifier says."""
    reaches: int | None = None
    """How many places of the block have rows, if the verifier's tokens ended before the
    draft did; what is behind them is drafted again. Never travels."""


@dataclass(frozen=True, slots=True)
class TokenBlock:
    """Settled tokens with their origins, in the form the person reads."""

    token_ids: tuple[int, ...]
    origins: tuple[Origin, ...]


def digest(token_ids: Sequence[int]) -> int:
    """CRC-32 of token ids: a check that both sides hold the same text, no secret."""
    given: Any = token_ids
    if isinstance(token_ids, bytes):  # of a session in bytes
        given = np.frombuffer(token_ids, np.uint8)
    return zlib.crc32(np.asarray(given, dtype="<u4").tobytes())


_UP = struct.Struct("<BBHIQIIHHd")
_DOWN = struct.Struct("<BBHIQIHxxfd")
_ROW = struct.Struct("<Hhf")
_ALONE = np.dtype([("id", "<u4"), ("generalist", "<f4")])
_COMPARED = np.dtype([("id", "<u4"), ("generalist", "<f4"), ("base", "<f4")])
_BLOCK = 1


class Kind(IntEnum):
    """Types of frames that the server sends."""

    ACCEPT = 1
    REJECT = 2
    RESYNC = 3
    BUSY = 4
    ERROR = 5


class Problem(IntEnum):
    """What an error frame says; the texts belong to who shows them."""

    MESSAGE = 1
    CONTEXT_FULL = 2
    ENGINE = 3
    STOPPING = 4


@dataclass(frozen=True, slots=True)
class Signal:
    """An answer that is no verdict."""

    kind: Kind
    epoch: int
    round: int
    value: int  # tokens held, milliseconds to wait, or a `Problem`


@dataclass(frozen=True, slots=True)
class FrameFormat:
    """The sizes that both sides derive from the terms of a session."""

    draft_limit: int
    rows: int
    row_limit: int
    with_base: bool = True  # whether candidates carry the base's opinion
    version: int = VERSION  # of the protocol

    @property
    def up_size(self) -> int:
        """Bytes of every frame to the server."""
        return _UP.size + self._id.itemsize * (self.most_drafted + self.most_settled)

    @property
    def down_size(self) -> int:
        """Bytes of every frame to the device."""
        return _DOWN.size + self.rows * self._row_size

    @property
    def _id(self) -> np.dtype[np.uint8] | np.dtype[np.uint32]:
        return np.dtype("u1" if self.version == BYTES_VERSION else "<u4")

    @property
    def most_drafted(self) -> int:
        """The longest draft, in tokens or bytes."""
        bytes_ = self.version == BYTES_VERSION
        return self.draft_limit * (TOKEN_BYTES if bytes_ else 1)

    @property
    def most_settled(self) -> int:
        """The most that a block may settle, in tokens or bytes."""
        return SETTLED_LIMIT * (TOKEN_BYTES if self.version == BYTES_VERSION else 1)

    @property
    def _row_size(self) -> int:
        return _ROW.size + self.row_limit * self._candidate.itemsize

    @property
    def _candidate(self) -> np.dtype[np.void]:
        return _COMPARED if self.with_base else _ALONE

    def padding(self, block: DraftBlock) -> int:
        """Bytes at the end of a block's frame that say nothing."""
        used = len(block.settled) + len(block.drafted)
        return self._id.itemsize * (self.most_drafted + self.most_settled - used)

    def encode_block(self, block: DraftBlock) -> bytes:
        """The frame of a block; raises MessageError when it does not fit."""
        if (
            len(block.drafted) > self.most_drafted
            or len(block.settled) > self.most_settled
        ):
            raise MessageError("the draft is longer than the session allows")
        ids = np.asarray([*block.settled, *block.drafted], dtype=self._id)
        header = _UP.pack(
            self.version,
            _BLOCK,
            0,
            block.epoch,
            block.round,
            block.position,
            block.digest,
            len(block.settled),
            len(block.drafted),
            block.threshold,
        )
        return (header + ids.tobytes()).ljust(self.up_size, b"\0")

    def decode_block(self, frame: bytes) -> DraftBlock:
        """The block in a frame; raises MessageError if the frame is invalid."""
        if len(frame) != self.up_size:
            raise MessageError("a frame of the wrong size")
        version, kind, _, epoch, round_, position, check, *counts, threshold = (
            _UP.unpack_from(frame)
        )
        settled, drafted = counts
        self._check_version(version)
        if kind != _BLOCK or settled > self.most_settled or drafted > self.most_drafted:
            raise MessageError("a frame that is no block of this session")
        ids = np.frombuffer(frame, self._id, settled + drafted, _UP.size).tolist()
        return DraftBlock(
            epoch,
            round_,
            position,
            check,
            tuple(ids[:settled]),
            tuple(ids[settled:]),
            threshold,
        )

    def encode_verdict(self, verdict: Verdict, drafted: int) -> bytes:
        """The frame of a verdict on a block of `drafted` tokens."""
        kept_all = verdict.accepted == drafted
        kind = Kind.ACCEPT if kept_all else Kind.REJECT
        parts = [
            _DOWN.pack(
                self.version,
                kind,
                0,
                verdict.epoch,
                verdict.round,
                verdict.accepted,
                len(verdict.rows),
                verdict.seconds,
                verdict.ratio_sum,
            )
        ]
        parts += [self._encode_row(row) for row in verdict.rows]
        return b"".join(parts).ljust(self.down_size, b"\0")

    def encode_signal(self, signal: Signal) -> bytes:
        """The frame of a signal."""
        header = _DOWN.pack(
            *(self.version, signal.kind, 0, signal.epoch, signal.round, signal.value),
            *(0, 0.0, 0.0),
        )
        return header.ljust(self.down_size, b"\0")

    def decode_answer(self, frame: bytes) -> Verdict | Signal:
        """The verdict or signal in a frame; raises MessageError if it is invalid."""
        if len(frame) != self.down_size:
            raise MessageError("a frame of the wrong size")
        version, number, _, epoch, round_, value, rows, *sums = _DOWN.unpack_from(frame)
        self._check_version(version)
        if number not in set(Kind) or rows > self.rows:
            raise MessageError("a frame that is no answer of this session")
        kind = Kind(number)
        if kind not in (Kind.ACCEPT, Kind.REJECT):
            return Signal(kind, epoch, round_, value)
        if value > self.draft_limit:
            raise MessageError("more tokens kept than a draft can hold")
        size = self._row_size
        starts = range(_DOWN.size, _DOWN.size + rows * size, size)
        found = tuple(self._decode_row(frame, at) for at in starts)
        seconds, ratio_sum = sums
        verdict = Verdict(epoch, round_, value, found, ratio_sum, seconds)
        check_verdict(verdict)
        return verdict

    def _check_version(self, version: int) -> None:
        if version != self.version:
            raise MessageError(
                f"a frame of protocol version {version} in a session that speaks "
                f"version {self.version}"
            )

    def _encode_row(self, row: Candidates) -> bytes:
        count = len(row.token_ids)
        if count > self.row_limit:
            raise MessageError("a row holds too many candidates")
        cells = np.zeros(self.row_limit, self._candidate)
        cells["id"][:count] = row.token_ids
        cells["generalist"][:count] = row.generalist_logprobs
        if self.with_base:
            cells["base"][:count] = row.base
        return _ROW.pack(count, row.start, row.tail_log_ratio) + cells.tobytes()

    def _decode_row(self, frame: bytes, start: int) -> Candidates:
        count, stands_at, tail = _ROW.unpack_from(frame, start)
        if count > self.row_limit:
            raise MessageError("a row holds too many candidates")
        cells = np.frombuffer(frame, self._candidate, count, start + _ROW.size)
        return Candidates(
            cells["id"].astype(np.int32),
            cells["generalist"].astype(np.float32),
            cells["base"].astype(np.float32) if self.with_base else None,
            tail,
            start=stands_at,
        )


def check_verdict(verdict: Verdict) -> None:
    """Raise MessageError when a verdict holds what no model can have said: the only
    gate between a server's numbers and those who compute with them."""
    sums = verdict.ratio_sum, verdict.seconds
    if not np.isfinite([*sums, *(row.tail_log_ratio for row in verdict.rows)]).all():
        raise MessageError("a verdict with values that are not finite")
    most = (DRAFT_LIMIT + 1) * THRESHOLD_LIMIT
    if min(sums) < 0.0 or verdict.ratio_sum > most:
        raise MessageError("a verdict with sums that cannot be")
    for row in verdict.rows:
        if not row.token_ids.size:
            raise MessageError("a row without candidates")
        if (np.diff(row.token_ids) <= 0).any():
            raise MessageError("a row whose candidates do not rise")
        of_generalist, of_base = row.generalist_logprobs, row.base_logprobs
        for logprobs in (of_generalist, of_base):
            if logprobs is None:
                continue
            if not np.isfinite(logprobs).all():
                raise MessageError("a verdict with values that are not finite")
            if logprobs.max() > _ROUNDING or logprobs.min() < _LOWEST_LOGPROB:
                raise MessageError("a row with log-probabilities that cannot be")
        # The base's may lack a constant.
        if np.exp(of_generalist, dtype=np.float64).sum() > 1.0 + _ROUNDING:
            raise MessageError("a row whose probabilities have a sum above 1")
