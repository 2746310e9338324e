"""Messages to bytes and back. The format and its version live nowhere else.

Frames are little-endian and of one size per direction for a whole session: padded with
zeros, never compressed. Sizes that followed the content would tell an eavesdropper how
many tokens were kept (arXiv 2411.01076). `POST .../verify` carries the same messages as
JSON.

Up:    version u8, type u8, flags u16, epoch u32, round u64, position u32, digest u32,
       settled u16, drafted u16, then ids u32.
Down:  version u8, type u8, flags u16, epoch u32, round u64, value u32, rows u16,
       then per row its length u16 and padding u16, then per candidate id u32,
       generalist f32, base f32.
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

VERSION = 1
_UP = struct.Struct("<BBHIQIIHH")
_DOWN = struct.Struct("<BBHIQIHxx")
_ROW = struct.Struct("<HH")
_CANDIDATE = np.dtype([("id", "<u4"), ("generalist", "<f4"), ("base", "<f4")])
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

    @property
    def up_size(self) -> int:
        """Bytes of every frame to the server."""
        return _UP.size + 4 * (self.draft_limit + SETTLED_LIMIT)

    @property
    def down_size(self) -> int:
        """Bytes of every frame to the device."""
        row = _ROW.size + self.row_limit * _CANDIDATE.itemsize
        return _DOWN.size + self.rows * row

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
        )
        return (header + ids.tobytes()).ljust(self.up_size, b"\0")

    def decode_block(self, frame: bytes) -> DraftBlock:
        """The block in a frame; raises MessageError when it is none."""
        if len(frame) != self.up_size:
            raise MessageError("a frame of the wrong size")
        version, kind, _, epoch, round_, position, check, settled, drafted = (
            _UP.unpack_from(frame)
        )
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
            )
        ]
        parts += [self._encode_row(row) for row in verdict.rows]
        return b"".join(parts).ljust(self.down_size, b"\0")

    def encode_signal(self, signal: Signal) -> bytes:
        """The frame of a signal."""
        header = _DOWN.pack(
            VERSION, signal.kind, 0, signal.epoch, signal.round, signal.value, 0
        )
        return header.ljust(self.down_size, b"\0")

    def decode_answer(self, frame: bytes) -> Verdict | Signal:
        """The verdict or signal in a frame; raises MessageError when it is none."""
        if len(frame) != self.down_size:
            raise MessageError("a frame of the wrong size")
        version, number, _, epoch, round_, value, rows = _DOWN.unpack_from(frame)
        _check_version(version)
        if number not in set(Kind) or rows > self.rows:
            raise MessageError("a frame that is no answer of this session")
        kind = Kind(number)
        if kind not in (Kind.ACCEPT, Kind.REJECT):
            return Signal(kind, epoch, round_, value)
        if value > self.draft_limit:
            raise MessageError("more tokens kept than a draft can hold")
        size = _ROW.size + self.row_limit * _CANDIDATE.itemsize
        starts = range(_DOWN.size, _DOWN.size + rows * size, size)
        return Verdict(
            epoch, round_, value, tuple(self._decode_row(frame, at) for at in starts)
        )

    def _encode_row(self, row: Candidates) -> bytes:
        count = len(row.token_ids)
        if count > self.row_limit:
            raise MessageError("a row holds too many candidates")
        cells = np.zeros(self.row_limit, _CANDIDATE)
        cells["id"][:count] = row.token_ids
        cells["generalist"][:count] = row.generalist_logprobs
        cells["base"][:count] = row.base_logprobs
        return _ROW.pack(count, 0) + cells.tobytes()

    def _decode_row(self, frame: bytes, start: int) -> Candidates:
        count, _ = _ROW.unpack_from(frame, start)
        if count > self.row_limit:
            raise MessageError("a row holds too many candidates")
        cells = np.frombuffer(frame, _CANDIDATE, count, start + _ROW.size)
        row = Candidates(
            cells["id"].astype(np.int32),
            cells["generalist"].astype(np.float32),
            cells["base"].astype(np.float32),
        )
        check_finite(row)
        return row


def check_finite(row: Candidates) -> None:
    """Raise MessageError when a row holds what no model can have said."""
    for values in (row.generalist_logprobs, row.base_logprobs):
        if not np.isfinite(values).all():
            raise MessageError("candidates with values that are not finite")


def _check_version(version: int) -> None:
    if version != VERSION:
        raise MessageError(
            f"protocol version {version}; this program speaks version {VERSION}"
        )
