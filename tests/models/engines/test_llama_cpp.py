"""What llama.cpp alone does; what every engine must is in test_conformance.py."""

import threading
from itertools import pairwise

import numpy as np
import pytest

from decoding_core.errors import (
    InvalidSettingsError,
    ModelError,
    ModelNotFoundError,
    StoppedError,
)
from decoding_core.protocols import Reading
from models.engines import llama_cpp
from models.engines.llama_cpp import LlamaContext, LlamaModel
from models.files import locate
from models.running.settings import EngineSettings
from tests.gguf_files import tiny_qwen3
from tests.models.engines.test_conformance import TEXT


@pytest.fixture(scope="module")
def model():
    model = LlamaModel(locate("specialist"), EngineSettings(extra_buffers=False))
    yield model
    model.close()


@pytest.fixture(scope="module")
def exact_model():
    settings = EngineSettings(extra_buffers=False, exact=True)
    model = LlamaModel(locate("specialist"), settings)
    yield model
    model.close()


@pytest.fixture
def context(model):
    context = LlamaContext(model, 3, 1024)
    yield context
    context.close()


def ids_of(model, count=40):
    return model.vocabulary.tokenize(TEXT * 3)[:count]


def test_a_load_is_given_up_between_two_tensors():
    """Not only before it begins: another thread says so in the middle."""

    class StopsInTheMiddle(threading.Event):
        asked = 0

        def is_set(self):
            self.asked += 1
            return self.asked > 3

    stop = StopsInTheMiddle()
    with pytest.raises(StoppedError):
        LlamaModel(locate("specialist"), EngineSettings(extra_buffers=False), stop)
    assert stop.asked > 3


@pytest.mark.parametrize(
    "role", ["specialist", pytest.param("generalist", marks=pytest.mark.slow)]
)
def test_blocks_of_any_size_have_the_same_bits_and_so_do_steps(role, monkeypatch):
    """And steps have them whatever the prompt was cut into: all else that promises a
    text for a seed stands on this. Also where a batch of llama.cpp's ends, and beside
    other texts."""
    monkeypatch.setattr(llama_cpp, "_BATCH", 32)
    model = LlamaModel(locate(role))
    context = LlamaContext(model, 3, 256)
    sequence, ids = context.sequence(), ids_of(model, 60)
    blocks, steps = [], []
    for size in (33, 2, 3, 8):
        sequence.rollback(0)
        ends = [*range(size, 32, size), 33]
        parts = [ids[i:j] for i, j in pairwise((0, *ends))]
        blocks.append(np.concatenate([sequence.evaluate(x, len(x)) for x in parts]))
        steps.append([sequence.evaluate([token])[0] for token in ids[33:39]])
    for slot in range(3):
        context.rollback(slot, 0)
    beside = [Reading(slot, ids[:33], 33) for slot in (1, 2)]
    blocks += context.evaluate([Reading(0, ids[20:], 9), *beside])[1:]
    context.close()
    model.close()
    for some in (blocks, steps):
        for other in some[1:]:
            np.testing.assert_array_equal(other, some[0])


def test_what_was_read_alone_is_not_among_the_tokens_to_go_on_from(context):
    """Who reads several at once reads it again."""
    sequence = context.sequence()
    sequence.evaluate([5, 6, 7])
    assert sequence.tokens == [5, 6, 7]
    sequence.evaluate([8])
    sequence.evaluate([9, 10])
    assert (sequence.tokens, sequence.position) == ([5, 6, 7], 6)
    sequence.rollback(3)
    sequence.evaluate([8, 9])
    assert sequence.tokens == [5, 6, 7, 8, 9]


def test_a_restored_slot_goes_on_with_the_same_bits(model, exact_model):
    """Whole and in part; what does not fit leaves the slot empty, and ends nothing."""
    for one in (model, exact_model):
        ids = ids_of(one, 60)
        contexts = LlamaContext(one, 2, 128), LlamaContext(one, 2, 128)
        read, restored = (context.sequence() for context in contexts)
        read.evaluate(ids[:50])
        saved = contexts[0].save(0)
        wanted = read.evaluate(ids[50:], 10)
        for kept in (50, 48, 16):
            assert contexts[1].restore(0, ids[:kept], saved, 50)
            assert restored.tokens == ids[:kept]
            logits = restored.evaluate(ids[kept:], 10)
            np.testing.assert_array_equal(logits, wanted)
        for wrong in (b"", saved[:9], saved[:-1], saved + b"x", bytes(len(saved))):
            assert not contexts[1].restore(0, ids[:50], wrong, 50)
            assert (restored.tokens, restored.position) == ([], 0)
        assert not contexts[1].restore(0, ids[:48], saved, 49)
        np.testing.assert_array_equal(restored.evaluate(ids, 10), wanted)
        for context in contexts:
            context.close()
        assert not contexts[1].restore(0, ids[:50], saved, 50)


def test_exact_blocks_equal_single_steps_bit_for_bit(exact_model):
    """Q8_0 on CPU, flash attention off, and never a decode of a single token."""
    context = LlamaContext(exact_model, 1, 512)
    sequence, ids = context.sequence(), ids_of(exact_model, 60)
    steps = np.concatenate([sequence.evaluate([token]) for token in ids])
    for size in (2, 3, 8, 60):
        sequence.rollback(0)
        blocks = [
            sequence.evaluate(ids[i : i + size], len(ids[i : i + size]))
            for i in range(0, len(ids), size)
        ]
        np.testing.assert_array_equal(np.concatenate(blocks), steps)
    context.close()


def test_too_many_sequences_are_refused(model):
    with pytest.raises(InvalidSettingsError):
        LlamaContext(model, 300)


def test_missing_and_damaged_files_are_told_apart(tmp_path):
    """Each with a sentence."""
    with pytest.raises(ModelNotFoundError, match="no model file"):
        LlamaModel(tmp_path / "none.gguf")
    wrong = tmp_path / "wrong.gguf"
    wrong.write_bytes(b"text")
    with pytest.raises(ModelError, match="not a GGUF"):
        LlamaModel(wrong)
    data = locate("specialist").read_bytes()
    for size in (10, 1000, 100_000, len(data) // 2):
        wrong.write_bytes(data[:size])
        with pytest.raises(ModelError):
            LlamaModel(wrong, EngineSettings(extra_buffers=False))


def test_a_token_listed_twice_is_refused_before_llama_cpp_sees_it(tmp_path):
    """llama.cpp would end the process."""
    path = tiny_qwen3(tmp_path / "twice.gguf", 300, 0)
    path.write_bytes(path.read_bytes().replace(b"<298>", b"<299>"))
    with pytest.raises(ModelError, match="twice"):
        LlamaModel(path, EngineSettings(extra_buffers=False))


@pytest.mark.parametrize("pool", [0, 512])
def test_a_slot_shares_what_another_has_read(model, pool):
    """In a pool without a copy, and as a copy of a stream; both read on apart."""
    slots = model.open(2, 256, pool=pool)
    ids = model.vocabulary.tokenize("The pier photos came out well. " * 8)
    one, other = slots.sequence(0), slots.sequence(1)
    one.evaluate(ids)
    slots.share(0, 1, len(ids) - 2)
    assert other.tokens == ids[:-2]
    again = other.evaluate(ids[-2:])
    one.rollback(len(ids) - 2)
    assert np.array_equal(one.evaluate(ids[-2:]), again)
    assert not np.array_equal(one.evaluate(ids[:2]), other.evaluate(ids[2:4]))
    slots.close()
