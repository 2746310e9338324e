"""Messages to bytes and back. The format and its version live nowhere else.

Frames are little-endian and of one size per direction for a whole session: padded with
zeros, never compressed. Sizes that followed the content would tell an eavesdropper how
many tokens were kept (arXiv 2411.01076). `POST .../verify` carries the same messages as
JSON.

Up:    version u8, type u8, flags u16, epoch u32, round u64, position u32, digest u32,
       settled u16, drafted u16, threshold f64, then ids u32.
Down:  version u8, type u8, flags u16, epoch u32, round u64, value u32, rows u16,
       padding u16, seconds f32, ratio sum f64, then per row its length u16, padding u16
       and tail f32, then per candidate id u32, generalist f32 and, where it is asked,
       base f32.
`value` is the count of kept tokens, the tokens held (resync), milliseconds to wait
(busy) or a problem code (error).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from decoding_core.errors import MessageError
from decoding_core.messages import (
    SETTLED_LIMIT,
    Candidates,
    DraftBlock,
    Verdict,
)

VERSION = 3
_UP = struct.Struct("<BBHIQIIHHd")
_DOWN = struct.Struct("<BBHIQIHxxfd")
_ROW = struct.Struct("<Hxxf")
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
    value: int
    """Tokens held, milliseconds to wait, or a `Problem`."""


@dataclass(frozen=True, slots=True)
class FrameFormat:
    """The sizes that both sides derive from the terms of a session."""

    draft_limit: int
    rows: int
    row_limit: int
    with_base: bool = True
    """Whether candidates carry the base's opinion."""

    @property
    def up_size(self) -> int:
        """Bytes of every frame to the server."""
        return _UP.size + 4 * (self.draft_limit + SETTLED_LIMIT)

    @property
    def down_size(self) -> int:
        """Bytes of every frame to the device."""
        return _DOWN.size + self.rows * self._row_size

    @property
    def _row_size(self) -> int:
        return _ROW.size + self.row_limit * self._candidate.itemsize

    @property
    def _candidate(self) -> np.dtype[np.void]:
        return _COMPARED if self.with_base else _ALONE

    def encode_block(self, block: DraftBlock) -> bytes:
        """The frame of a block; raises MessageError when it does not fit."""
        if len(block.drafted) > self.draft_limit:
            raise MessageError("the draft is longer than the session allows")
        ids = np.asarray([*block.settled, *block.drafted], dtype="<u4")
        header = _UP.pack(
            VERSION,
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
        """The block in a frame; raises MessageError when it is none."""
        if len(frame) != self.up_size:
            raise MessageError("a frame of the wrong size")
        version, kind, _, epoch, round_, position, check, *counts, threshold = (
            _UP.unpack_from(frame)
        )
        settled, drafted = counts
        _check_version(version)
        if kind != _BLOCK or settled > SETTLED_LIMIT or drafted > self.draft_limit:
            raise MessageError("a frame that is no block of this session")
        ids = np.frombuffer(frame, "<u4", settled + drafted, _UP.size).tolist()
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
                VERSION,
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
            *(VERSION, signal.kind, 0, signal.epoch, signal.round, signal.value),
            *(0, 0.0, 0.0),
        )
        return header.ljust(self.down_size, b"\0")

    def decode_answer(self, frame: bytes) -> Verdict | Signal:
        """The verdict or signal in a frame; raises MessageError when it is none."""
        if len(frame) != self.down_size:
            raise MessageError("a frame of the wrong size")
        version, number, _, epoch, round_, value, rows, *sums = _DOWN.unpack_from(frame)
        _check_version(version)
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
        check_finite(verdict)
        return verdict

    def _encode_row(self, row: Candidates) -> bytes:
        count = len(row.token_ids)
        if count > self.row_limit:
            raise MessageError("a row holds too many candidates")
        cells = np.zeros(self.row_limit, self._candidate)
        cells["id"][:count] = row.token_ids
        cells["generalist"][:count] = row.generalist_logprobs
        if self.with_base:
            cells["base"][:count] = row.base
        return _ROW.pack(count, row.tail_log_ratio) + cells.tobytes()

    def _decode_row(self, frame: bytes, start: int) -> Candidates:
        count, tail = _ROW.unpack_from(frame, start)
        if count > self.row_limit:
            raise MessageError("a row holds too many candidates")
        cells = np.frombuffer(frame, self._candidate, count, start + _ROW.size)
        return Candidates(
            cells["id"].astype(np.int32),
            cells["generalist"].astype(np.float32),
            cells["base"].astype(np.float32) if self.with_base else None,
            tail,
        )


def check_finite(verdict: Verdict) -> None:
    """Raise MessageError when a verdict holds what no model can have said."""
    values = [np.array([verdict.ratio_sum, verdict.seconds])]
    for row in verdict.rows:
        values += [np.array([row.tail_log_ratio]), row.generalist_logprobs]
        values += [] if row.base_logprobs is None else [row.base_logprobs]
    if not all(np.isfinite(one).all() for one in values):
        raise MessageError("a verdict with values that are not finite")


def _check_version(version: int) -> None:
    if version != VERSION:
        raise MessageError(
            f"protocol version {version}; this program speaks version {VERSION}"
        )
