import contextlib
import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoding_core.errors import MessageError
from decoding_core.messages import (
    NOTHING_LEFT_OUT,
    RATIO_UNIT,
    SETTLED_LIMIT,
    TOKEN_BYTES,
    VERSION,
    Candidates,
    DraftBlock,
    FrameFormat,
    Kind,
    OpenSession,
    SessionOpened,
    Signal,
    Verdict,
)
from decoding_core.methods import available, build_for_server
from decoding_core.settings import DRAFT_LIMIT, THRESHOLD_LIMIT, Terms
from decoding_core.verifier import role_of, verify
from decoding_core.wire_json import open_from_json, open_to_json, opened_from_json

COMPARED = FrameFormat(draft_limit=8, rows=9, row_limit=20)
ALONE = FrameFormat(draft_limit=8, rows=9, row_limit=20, with_base=False)
FORMAT = COMPARED
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
    threshold=st.floats(0, THRESHOLD_LIMIT),
)
floats = st.floats(-200, 0, width=32)
tails = floats | st.just(NOTHING_LEFT_OUT)
ratios = st.integers(0, 1 << 40).map(lambda units: units * RATIO_UNIT)
seconds = st.floats(0, 60, width=32)


@st.composite
def verdicts(draw, with_base=True):
    rows = []
    for _ in range(draw(st.integers(0, 9))):
        size = draw(st.integers(1, 20))
        large, small = (
            np.array(draw(st.lists(floats, min_size=size, max_size=size)), np.float32)
            for _ in "ab"
        )
        large -= np.log(size)  # probabilities that sum to 1 at most
        row_ids = draw(st.sets(u32, min_size=size, max_size=size))
        base = small if with_base else None
        rows.append(
            Candidates(np.array(sorted(row_ids), np.int32), large, base, draw(tails))
        )
    kept = draw(st.integers(0, 8))
    sums = draw(ratios), draw(seconds)
    return Verdict(draw(u32), draw(u32), kept, tuple(rows), *sums)


def same(one, other):
    """Verdicts hold arrays, so they are compared by their parts."""
    numbers = [
        (v.epoch, v.round, v.accepted, v.ratio_sum, v.seconds) for v in (one, other)
    ]
    assert numbers[0] == numbers[1]
    assert len(one.rows) == len(other.rows)
    for left, right in zip(one.rows, other.rows, strict=True):
        np.testing.assert_array_equal(left.token_ids, right.token_ids)
        np.testing.assert_array_equal(
            left.generalist_logprobs, right.generalist_logprobs
        )
        np.testing.assert_array_equal(left.base_logprobs, right.base_logprobs)
        assert left.tail_log_ratio == right.tail_log_ratio


@given(blocks, st.sampled_from([Kind.RESYNC, Kind.BUSY, Kind.ERROR]), u32, u32, u32)
def test_blocks_and_signals_survive_their_coding(block, kind, epoch, round_, value):
    assert FORMAT.decode_block(FORMAT.encode_block(block)) == block
    signal = Signal(kind, epoch, round_, value)
    assert FORMAT.decode_answer(FORMAT.encode_signal(signal)) == signal


@pytest.mark.parametrize("form", [COMPARED, ALONE])
@given(data=st.data())
def test_a_verdict_survives_its_coding(form, data):
    verdict = data.draw(verdicts(form.with_base))
    same(form.decode_answer(form.encode_verdict(verdict, 8)), verdict)


@given(blocks, verdicts())
def test_every_frame_of_a_session_has_one_size(block, verdict):
    """Whatever it holds: sizes tell an eavesdropper nothing."""
    assert len(FORMAT.encode_block(block)) == FORMAT.up_size
    assert len(FORMAT.encode_verdict(verdict, 8)) == FORMAT.down_size
    assert len(FORMAT.encode_signal(Signal(Kind.BUSY, 1, 1, 5))) == FORMAT.down_size


@given(st.binary(max_size=400), st.sampled_from(["up", "down"]))
def test_hostile_bytes_are_refused_or_read(data, direction):
    size = FORMAT.up_size if direction == "up" else FORMAT.down_size
    frame = data.ljust(size, b"\0")[:size]
    decode = FORMAT.decode_block if direction == "up" else FORMAT.decode_answer
    for candidate in (frame, b"\x02\x01" + frame[2:], data):
        with contextlib.suppress(MessageError):
            decode(candidate)


bounds = st.sampled_from([*b"\x00\x01\x7f\x80\xfe\xff\x03\x10\x11\x40\x41"])
changes = st.lists(st.tuples(st.integers(0, 60), bounds | st.integers(0, 255)))


@given(blocks, changes, st.integers(-3, 3))
def test_a_mutated_frame_is_a_block_or_refused(block, changes, grown):
    frame = bytearray(FORMAT.encode_block(block))
    for place, byte in changes:
        frame[place] = byte
    frame = bytes(frame + bytes(max(grown, 0)))[: len(frame) + grown]
    with contextlib.suppress(MessageError):
        found = FORMAT.decode_block(frame)
        assert FORMAT.decode_block(FORMAT.encode_block(found)) == found


def verdict_of(ids=(1, 5), large=(-1.0, -2.0), small=(-1.0, -2.0), tail=-3.0, **sums):
    """A sound one, but for what is given."""
    numbers = (np.array(one, np.float32) for one in (large, small))
    row = Candidates(np.array(ids, np.int32), *numbers, tail)
    return Verdict(
        0, 0, 0, (row,), sums.get("ratio_sum", 0.5), sums.get("seconds", 0.125)
    )


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"ids": (), "large": (), "small": ()}, "without candidates"),
        ({"ids": (5, 1)}, "do not rise"),
        ({"ids": (5, 5)}, "do not rise"),
        ({"large": (np.nan, -1)}, "not finite"),
        ({"large": (-np.inf, -np.inf)}, "not finite"),
        ({"small": (-1, np.inf)}, "not finite"),
        ({"tail": np.inf}, "not finite"),
        ({"tail": np.nan}, "not finite"),
        ({"ratio_sum": np.nan}, "not finite"),
        ({"seconds": np.inf}, "not finite"),
        ({"ratio_sum": -1.0}, "sums that cannot be"),
        ({"ratio_sum": 1e300}, "sums that cannot be"),
        ({"seconds": -1.0}, "sums that cannot be"),
        ({"large": (0.5, -9)}, "log-probabilities that cannot be"),
        ({"small": (0.5, -9)}, "log-probabilities that cannot be"),
        ({"small": (-1, -3e38)}, "log-probabilities that cannot be"),
        ({"large": (-0.1, -0.1)}, "a sum above 1"),
    ],
)
def test_values_that_no_model_says_are_refused(wrong, sentence):
    sound = verdict_of()
    same(FORMAT.decode_answer(FORMAT.encode_verdict(sound, 1)), sound)
    verdict = verdict_of(**wrong)
    with pytest.raises(MessageError, match=sentence):
        FORMAT.decode_answer(FORMAT.encode_verdict(verdict, 1))


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


@given(
    st.dictionaries(st.sampled_from(["session_id", "generalist", "base"]), json_values)
)
def test_a_session_has_a_name_for_an_address_and_models_have_some_to_show(body):
    with contextlib.suppress(MessageError):
        opened = opened_from_json(body)
        assert opened.session_id.isascii()
        (opened.generalist + opened.base).encode()


@pytest.mark.parametrize(
    "name", ["", "\ud83d", "a/b", "..%2f", "a b", "a\n", "x" * 201, "\u00e9", 7, None]
)
def test_a_session_whose_name_is_no_part_of_an_address_is_none(name):
    sound = {"session_id": "aB3_-.~", "generalist": "g\x1b\ud83d", "base": "b\u202e"}
    assert opened_from_json(sound) == SessionOpened("aB3_-.~", "g\ufffd\ufffd", "b")
    with pytest.raises(MessageError, match="no session"):
        opened_from_json({**sound, "session_id": name})


@pytest.mark.parametrize("threshold", [-1.0, np.nan, np.inf, 2e6])
def test_a_threshold_that_cannot_be_is_refused(threshold):
    sound = DraftBlock(0, 0, 0, 0, (), (1,))
    frame = bytearray(FORMAT.encode_block(sound))
    struct.pack_into("<d", frame, 28, threshold)
    with pytest.raises(MessageError, match="threshold"):
        FORMAT.decode_block(bytes(frame))


@pytest.mark.parametrize("name", available())
@pytest.mark.parametrize("base", ["cloud", "edge"])
@pytest.mark.parametrize("bonus", [False, True])
def test_sizes_depend_on_the_terms_alone(name, base, bonus):
    """And every method's largest verdict fits into its frames, with a bonus too."""
    terms = Terms(
        *(name, "greedy", 1.0), candidates=5, draft_limit=4, base=base, bonus=bonus
    )
    role = role_of(terms)
    logits = np.random.default_rng(0).normal(size=(5, 30))
    drafted = tuple(range(role.draft_limit))
    block = DraftBlock(0, 0, 0, 0, (), drafted, 1e6)
    rows = logits[: role.rows(len(drafted))]
    verdict = verify(block, rows, rows[::-1] if role.uses_base else None, role)
    frame = role.frames.encode_verdict(verdict, len(drafted))
    assert len(frame) == role_of(terms).frames.down_size
    same(role.frames.decode_answer(frame), verdict)
    assert role.uses_base == (base == "cloud" and build_for_server(terms).needs_base)


def test_another_version_is_named():
    frame = FORMAT.encode_block(DraftBlock(0, 0, 0, 0, (), (1,)))
    with pytest.raises(MessageError, match="version 9"):
        FORMAT.decode_block(b"\x09" + frame[1:])


def test_opening_survives_json():
    request = OpenSession(
        (1, 2), (3,), "v", Terms("steering", "stochastic", 0.8, bonus=True)
    )
    body = json.loads(json.dumps(open_to_json(request)))
    assert body.pop("version") == VERSION == 3
    assert open_from_json(body) == request


def test_too_long_blocks_are_refused_at_birth():
    with pytest.raises(MessageError):
        DraftBlock(0, 0, 0, 0, (), (1,) * (DRAFT_LIMIT * TOKEN_BYTES + 1))
