"""A server whose answers are no model's: an error in a sentence, never a crash."""

import struct
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding_core.errors import DecodingError, EngineError, MessageError
from decoding_core.messages import Candidates
from decoding_core.methods import available, build
from decoding_core.settings import MethodSettings
from decoding_core.verifier import EngineVerifier, VerifierHere, role_of
from edge_app.decoding.on_device import EdgeBaseVerifier
from tests.fakes import HashEngine, verdict_on
from tests.writing import Writing

SIZE, PRIVATE, PUBLIC = 17, (11, 12, 13, 1, 2), (1, 2)
ASKED = [
    name
    for name in available()
    if build(MethodSettings(method=name, temperature=1.0)).needs_generalist
    and name != "rejection"  # it is sent no rows
]


class Faulty(VerifierHere):
    """Alters its verdicts, from the second on."""

    local = False

    def __init__(self, inner, alter):
        super().__init__()
        self.inner, self.alter, self.rounds = inner, alter, 0

    def open(self, request):
        self.role = role_of(request.terms)
        return self.inner.open(request)

    def verify(self, block):
        self.rounds += 1
        verdict = verdict_on(self.inner, block)
        return self.alter(verdict, block, self.role) if self.rounds > 1 else verdict

    def close(self):
        self.inner.close()


def adding(added):
    """Adds something to an id of every row."""

    def worse(row, block):
        # The likeliest not drafted, so that it is drawn where nothing checks.
        ids = row.token_ids.copy()
        others = ~np.isin(ids, block.drafted)
        ids[np.where(others, row.generalist_logprobs, -np.inf).argmax()] += added
        return replace(row, token_ids=ids)

    def alter(verdict, block, _):
        return replace(verdict, rows=tuple(worse(row, block) for row in verdict.rows))

    return alter


def piece(token):
    """As a real vocabulary does."""
    if not 0 <= token < SIZE:
        raise EngineError(f"{token} is no token of this vocabulary")
    return b"x"


def write(settings, verifier):
    """A text of the real loop."""
    Writing(settings, HashEngine("small"), verifier, 40, (), piece=piece).run()


@pytest.mark.parametrize("added", [SIZE, 1 << 30])
@pytest.mark.parametrize("method", ASKED)
def test_ids_outside_of_the_vocabulary_end_the_text_with_a_sentence(method, added):
    settings = MethodSettings(method=method, candidates=5)
    inner = EngineVerifier(HashEngine("large"), HashEngine("base"))
    with pytest.raises(DecodingError, match="token"):
        write(settings, Faulty(inner, adding(added)))


@pytest.mark.parametrize("method", ["steering", "lossless", "costeer"])
def test_the_base_on_the_device_is_asked_of_its_own_tokens_alone(method):
    settings = MethodSettings(method=method, candidates=5, base="edge")
    faulty = Faulty(EngineVerifier(HashEngine("large")), adding(SIZE))
    with pytest.raises(MessageError, match="tokens that this device"):
        write(settings, EdgeBaseVerifier(faulty, HashEngine("base")))


def test_no_row_holds_an_id_below_zero():
    """As unsigned numbers beyond 31 bits become; they would count from the end."""
    one = np.zeros(2, np.float32)
    with pytest.raises(MessageError, match="below 0"):
        Candidates(np.array([1, -1], np.int32), one, one)


FLOATS = [
    *(np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-3, 5.0, 3.4e38, -3.4e38, 1e30, -1e30),
    *(-1e29, -9999.0, -200.0, -1e-45, 1e-45),
]
NUMBERS = [0, 1, 2, 16, 17, 255, 1 << 16, (1 << 31) - 1, 1 << 31, (1 << 32) - 1]
WORDS = [struct.pack("<f", one) for one in FLOATS]
WORDS += [struct.pack("<I", one) for one in NUMBERS]
WORDS += [struct.pack("<d", one)[4:] for one in (np.nan, np.inf, -1.0, 1e300)]


def tampering(changes):
    """Alters the frames, four bytes at once."""

    def alter(verdict, block, role):
        frames, count = role.frames, len(block.drafted)
        frame = bytearray(frames.encode_verdict(verdict, count))
        for at, word in changes:
            place = 16 + at % ((len(frame) - 16) // 4) * 4
            frame[place : place + 4] = word
        answer = frames.decode_answer(bytes(frame))
        # What `CloudVerifier` asks of an answer, besides.
        rows = role.positions(answer.accepted, count)
        if answer.accepted > count or len(answer.rows) != len(rows):
            raise MessageError("the verdict does not fit")
        return answer

    return alter


@pytest.mark.parametrize("method", [*ASKED, "rejection"])
@settings(max_examples=8)  # of each method
@given(
    st.lists(st.tuples(st.integers(0, 500), st.sampled_from(WORDS)), max_size=3),
    st.sampled_from([0.7, 1.0]),
    st.sampled_from([0.0, 1.0, 100.0]),
)
def test_a_frame_with_any_numbers_is_a_sentence_or_a_text(
    method, changes, temperature, strength
):
    """Every token that is written is one, and nothing is left to numpy to complain
    of."""
    how = MethodSettings(
        method=method, candidates=5, temperature=temperature, strength=strength
    )
    inner = EngineVerifier(HashEngine("large"), HashEngine("base"))
    with np.errstate(invalid="raise"), suppress(DecodingError):
        write(how, Faulty(inner, tampering(changes)))
