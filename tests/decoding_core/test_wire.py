import contextlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding_core.errors import MessageError
from decoding_core.messages import (
    SETTLED_LIMIT,
    Candidates,
    DraftBlock,
    OpenSession,
    Terms,
    Verdict,
)
from decoding_core.wire import FrameFormat, Kind, Signal
from decoding_core.wire_json import (
    answer_from_json,
    answer_to_json,
    block_from_json,
    block_to_json,
    open_from_json,
    open_to_json,
)

FORMAT = FrameFormat(draft_limit=8, rows=9, row_limit=20)
u32 = st.integers(0, 2**31 - 1)
ids = st.lists(u32, max_size=8).map(tuple)
blocks = st.builds(
    DraftBlock,
    epoch=u32,
    round=u32,
    position=u32,
    digest=st.integers(0, 2**32 - 1),
    settled=st.lists(u32, max_size=SETTLED_LIMIT).map(tuple),
    drafted=ids,
)
floats = st.floats(-200, 0, width=32)


@st.composite
def verdicts(draw):
    rows = []
    for _ in range(draw(st.integers(1, 9))):
        size = draw(st.integers(1, 20))
        lists = [draw(st.lists(floats, min_size=size, max_size=size)) for _ in "ab"]
        row_ids = draw(st.lists(u32, min_size=size, max_size=size))
        rows.append(
            Candidates(
                np.array(row_ids, np.int32), *(np.array(x, np.float32) for x in lists)
            )
        )
    return Verdict(draw(u32), draw(u32), draw(st.integers(0, 8)), tuple(rows))


def same(one, other):
    """Verdicts hold arrays, so they are compared by their parts."""
    assert (one.epoch, one.round, one.accepted) == (
        other.epoch,
        other.round,
        other.accepted,
    )
    assert len(one.rows) == len(other.rows)
    for left, right in zip(one.rows, other.rows, strict=True):
        np.testing.assert_array_equal(left.token_ids, right.token_ids)
        np.testing.assert_array_equal(
            left.generalist_logprobs, right.generalist_logprobs
        )
        np.testing.assert_array_equal(left.base_logprobs, right.base_logprobs)


@given(blocks)
def test_a_block_survives_both_codings(block):
    """Frame and JSON decode to what was encoded."""
    assert FORMAT.decode_block(FORMAT.encode_block(block)) == block
    assert block_from_json(json.loads(json.dumps(block_to_json(block)))) == block


@given(verdicts())
def test_a_verdict_survives_both_codings(verdict):
    """And both twins agree."""
    same(FORMAT.decode_answer(FORMAT.encode_verdict(verdict, 8)), verdict)
    body = json.loads(json.dumps(answer_to_json(verdict, 8)))
    same(answer_from_json(body), verdict)


@given(st.sampled_from([Kind.RESYNC, Kind.BUSY, Kind.ERROR]), u32, u32, u32)
def test_a_signal_survives_both_codings(kind, epoch, round_, value):
    """Resync, busy and error."""
    signal = Signal(kind, epoch, round_, value)
    assert FORMAT.decode_answer(FORMAT.encode_signal(signal)) == signal
    assert answer_from_json(answer_to_json(signal, 0)) == signal


@given(blocks, verdicts())
def test_every_frame_of_a_session_has_one_size(block, verdict):
    """Whatever it holds: sizes tell an eavesdropper nothing."""
    assert len(FORMAT.encode_block(block)) == FORMAT.up_size
    assert len(FORMAT.encode_verdict(verdict, 8)) == FORMAT.down_size
    assert len(FORMAT.encode_signal(Signal(Kind.BUSY, 1, 1, 5))) == FORMAT.down_size


@given(st.binary(max_size=400), st.sampled_from(["up", "down"]))
def test_hostile_bytes_are_refused_or_read(data, direction):
    """Never anything but a message or a MessageError."""
    size = FORMAT.up_size if direction == "up" else FORMAT.down_size
    frame = data.ljust(size, b"\0")[:size]
    decode = FORMAT.decode_block if direction == "up" else FORMAT.decode_answer
    for candidate in (frame, b"\x01\x01" + frame[2:], data):
        with contextlib.suppress(MessageError):
            decode(candidate)


def test_values_that_no_model_says_are_refused():
    """NaN and infinities stop at the wire."""
    row = Candidates(*(np.array([x], t) for x, t in ((1, "i4"), (-1, "f4"), (0, "f4"))))
    row.generalist_logprobs[0] = np.nan
    frame = FORMAT.encode_verdict(Verdict(0, 0, 0, (row,)), 1)
    with pytest.raises(MessageError, match="finite"):
        FORMAT.decode_answer(frame)


def test_another_version_is_named():
    """So that a person knows which side to renew."""
    frame = FORMAT.encode_block(DraftBlock(0, 0, 0, 0, (), (1,)))
    with pytest.raises(MessageError, match="version 9"):
        FORMAT.decode_block(b"\x09" + frame[1:])


def test_opening_survives_json():
    """With its terms."""
    request = OpenSession((1, 2), (3,), "v", Terms("steering", 0.1, "stochastic", 0.8))
    body = json.loads(json.dumps(open_to_json(request)))
    assert body.pop("version") == 1
    assert open_from_json(body) == request


def test_too_long_blocks_are_refused_at_birth():
    """A draft beyond the limit never reaches the wire."""
    with pytest.raises(MessageError):
        DraftBlock(0, 0, 0, 0, (), tuple(range(100)))
