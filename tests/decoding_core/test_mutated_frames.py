"""Frames that somebody has tampered with: the parser says no, and nothing else."""

import random
import resource

import pytest

from decoding_core.errors import MessageError
from decoding_core.messages import DraftBlock, FrameFormat, digest

FORMAT = FrameFormat(draft_limit=8, rows=1, row_limit=20)
TEN_MILLION = 10_000_000


def frames(seed):
    """Sound frames, mutated without an end: bits flipped, bytes set to what bounds look
    like, cut, grown, spliced."""
    choose = random.Random(seed)
    sound = [
        FORMAT.encode_block(
            DraftBlock(n, n, n, digest([1] * n), (1, 2)[: n % 3], tuple(range(n)), 0.5)
        )
        for n in range(9)
    ]
    bounds = b"\x00\x01\x7f\x80\xfe\xff\x03\x10\x11\x40\x41"
    while True:
        frame = bytearray(sound[choose.randrange(9)])
        for _ in range(choose.randrange(1, 5)):
            at = choose.randrange(36 if choose.random() < 0.8 else len(frame))
            if choose.random() < 0.5:
                frame[at] ^= 1 << choose.randrange(8)
            else:
                frame[at] = bounds[choose.randrange(len(bounds))]
        shape = choose.random()
        if shape < 0.02:
            del frame[choose.randrange(len(frame)) :]
        elif shape < 0.04:
            frame += bytes(choose.randrange(1, 64))
        elif shape < 0.06:
            at = choose.randrange(len(frame))
            frame[at:] = sound[choose.randrange(9)][at:]
        yield bytes(frame)


def parse(count, seed=0):
    """How many of so many mutated frames were blocks."""
    sound = 0
    for _, frame in zip(range(count), frames(seed), strict=False):
        try:
            block = FORMAT.decode_block(frame)
        except MessageError:
            continue
        sound += 1
        # What is let in is a block that can be sent again as it came.
        assert FORMAT.decode_block(FORMAT.encode_block(block)) == block
    return sound


def test_mutated_frames_are_blocks_or_refused():
    assert 0 < parse(3_000) < 3_000


@pytest.mark.slow
def test_ten_million_mutated_frames():
    """No crash, and memory stays where it was."""
    parse(100_000, seed=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sound = parse(TEN_MILLION, seed=2)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    assert 0 < sound < TEN_MILLION
    assert after < 1.05 * before
