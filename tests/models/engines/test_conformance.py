"""What every engine must do: the same tests run over each, found by its name.

The engine `transformers` is tried where torch and transformers are installed.
"""

import threading

import numpy as np
import pytest

from decoding_core.errors import (
    ContextFullError,
    EngineError,
    InvalidSettingsError,
    ModelError,
    StoppedError,
)
from decoding_core.protocols import Reading, RowsEngine
from decoding_core.sampling import TIED, ArrayRows
from models.files import locate
from models.running.loading import available, check_engine, load_model
from models.running.settings import EngineSettings, PersonalAdapter
from tests.gguf_files import tiny_qwen3
from tests.loras import random_lora

NEEDS = {"transformers": ("torch", "transformers", "gguf")}
CLOSE = {"llama_cpp": 3.0, "transformers": 1e-3}
"""How far apart logits may lie that were computed in passes of other shapes: llama.cpp
rounds what quantised weights are multiplied with, transformers does not."""
AWKWARD = [
    "Hullo Ana,\n\nThank you for the photos.",
    "emoji 🎉👩‍👩‍👧 and 中文 and ไทย",
    "   many    spaces \t tabs \n\n\n lines",
    "it 's , spaced . punctuation !",
    "\u00ad\u200b zero widths \x01 controls",
]
TEXT = " ".join(AWKWARD)


def settings_of(engine, **others):
    for module in NEEDS.get(engine, ()):
        pytest.importorskip(module)
    return EngineSettings(engine=engine, extra_buffers=False, threads=1, **others)


@pytest.fixture(scope="module", params=available())
def engine(request):
    return request.param


@pytest.fixture(scope="module")
def model(engine):
    model = load_model(locate("specialist"), settings_of(engine))
    yield model
    model.close()


@pytest.fixture
def slots(model):
    slots = model.open(3, 1024)
    yield slots
    slots.close()


@pytest.fixture(scope="module")
def ids(model):
    return (model.vocabulary.tokenize(TEXT) * 30)[:1000]


def close_to(engine, one, other):
    assert np.abs(one - other).max() < CLOSE[engine]
    assert (one.argmax(-1) == other.argmax(-1)).mean() > 0.8


def test_an_engine_is_a_file_in_its_folder():
    assert available() == ("llama_cpp", "transformers")
    with pytest.raises(InvalidSettingsError, match=r"no engine 'magic'; choose one"):
        check_engine("magic")


def test_a_model_says_what_it_is(engine, model):
    card = load_model(locate("specialist"), settings_of("llama_cpp"))
    assert model.vocabulary_id == card.vocabulary_id
    assert (model.vocabulary_size, model.context_length) == (8192, 2048)
    assert model.chat_template == card.chat_template
    assert model.name.endswith("specialist")
    assert model.vocabulary.end_ids == card.vocabulary.end_ids
    card.close()


@pytest.mark.parametrize("text", AWKWARD)
def test_every_byte_of_a_text_comes_back(model, text):
    vocabulary = model.vocabulary
    assert vocabulary.detokenize(vocabulary.tokenize(text)) == text


def test_only_the_template_names_control_tokens(model):
    tokenize = model.vocabulary.tokenize
    (control,) = tokenize("<|im_end|>", True)
    assert model.vocabulary.piece(control) == b""
    assert len(tokenize("<|im_end|>", False)) > 1
    for token_id in (-1, model.vocabulary_size):
        with pytest.raises(EngineError, match="no token"):
            model.vocabulary.piece(token_id)


def test_reading_on_after_a_roll_back_is_as_if_it_never_was(engine, slots, ids):
    sequence = slots.sequence()
    whole = sequence.evaluate(ids[:40], 40)
    sequence.rollback(10)
    assert (sequence.position, sequence.tokens) == (10, ids[:10])
    sequence.evaluate(ids[500:520])
    sequence.rollback(10)
    again = sequence.evaluate(ids[10:40], 30)
    close_to(engine, whole[10:], again)
    assert sequence.tokens == ids[:40]


def test_a_block_gives_what_single_steps_give(engine, slots, ids):
    block = slots.sequence(0).evaluate(ids[:20], 20)
    steps = [slots.sequence(1).evaluate([token])[0] for token in ids[:20]]
    close_to(engine, block, np.array(steps))


def test_several_texts_of_other_lengths_do_not_see_each_other(engine, slots, ids):
    """One begins, one goes on, one is rolled back before."""
    slots.evaluate([Reading(1, ids[300:330]), Reading(2, ids[600:690])])
    slots.rollback(2, 60)
    readings = [
        Reading(0, ids[:40], 5),
        Reading(1, ids[330:337], 7),
        Reading(2, ids[660:661], 1),
    ]
    together = slots.evaluate(readings)
    assert [len(rows) for rows in together] == [5, 7, 1]
    for start, stop, rows in zip((0, 300, 600), (40, 337, 661), together, strict=True):
        slots.rollback(0, 0)
        close_to(engine, slots.sequence(0).evaluate(ids[start:stop], len(rows)), rows)


def test_a_long_text_goes_through_in_parts_with_all_its_rows(engine, slots, ids):
    """The rows begin in one part and end in the next; a short text comes along."""
    long, short = slots.evaluate([Reading(0, ids[:560], 310), Reading(1, ids[:3], 2)])
    assert (slots.position(0), slots.position(1)) == (560, 3)
    sequence = slots.sequence(2)
    sequence.evaluate(ids[:280])
    close_to(engine, long[30:], sequence.evaluate(ids[280:560], 280))
    sequence.rollback(0)
    close_to(engine, short, sequence.evaluate(ids[:3], 2))


def test_a_full_context_is_said_before_anything_is_read(model, ids):
    slots = model.open(2, 256)
    sequence = slots.sequence()
    sequence.evaluate(ids[:232])
    with pytest.raises(ContextFullError, match="257 tokens do not fit"):
        slots.evaluate([Reading(1, ids[:5]), Reading(0, ids[:25])])
    assert (sequence.position, slots.position(1)) == (232, 0)
    assert sequence.evaluate(ids[:24]).shape == (1, slots.vocabulary_size)
    slots.close()


def test_what_cannot_be_read_is_refused(slots):
    sequence = slots.sequence()
    for token_ids, rows in ([[10**6], 1], [[-1], 1], [[5], 2], [[5], 0], [[], 1]):
        with pytest.raises(EngineError):
            sequence.evaluate(token_ids, rows)
    with pytest.raises(EngineError):
        sequence.rollback(3)
    assert sequence.position == 0


class StopWhileItRuns(threading.Event):
    """Is set once the engine has asked some times whether it is."""

    asked = 0

    def is_set(self):
        self.asked += 1
        if self.asked == 5:
            self.set()
        return super().is_set()


def test_stop_ends_a_long_reading_and_nothing_was_read(engine, slots, ids):
    sequence = slots.sequence()
    before = sequence.evaluate(ids[:6])
    slots.stop = StopWhileItRuns()
    with pytest.raises(StoppedError):
        sequence.evaluate(ids[6:900])
    assert sequence.tokens == ids[:6]
    slots.stop.clear()
    slots.stop.asked = 6
    sequence.rollback(5)
    close_to(engine, sequence.evaluate(ids[5:6]), before)


def test_closed_slots_say_so(model):
    slots = model.open(1, 256)
    slots.close()
    slots.close()
    with pytest.raises(EngineError, match="closed"):
        slots.sequence().evaluate([5])
    with pytest.raises(EngineError, match="closed"):
        slots.use_threads(1, 1)


def test_threads_may_be_set_between_two_steps(engine, slots, ids):
    before = slots.sequence(0).evaluate(ids[:12], 3)
    slots.use_threads(2, 2)
    close_to(engine, slots.sequence(1).evaluate(ids[:12], 3), before)


def test_an_engine_of_rows_hands_out_what_whole_rows_hold(slots, ids):
    """Where an engine offers a few numbers a row, they are those of its logits, ties
    among them."""
    if not isinstance(slots, RowsEngine):
        pytest.skip("this engine hands out whole rows")
    whole = ArrayRows(slots.evaluate([Reading(0, ids[:9], 4)])[0])
    (rows,) = slots.evaluate_rows([Reading(1, ids[:9], 4)])
    other = type(rows)(rows.logits.flip(0))
    others = ArrayRows(np.ascontiguousarray(whole.logits[::-1]))
    assert (len(rows), rows.vocabulary_size) == (4, slots.vocabulary_size)
    for temperature in (0.0, 0.7, 1.0):
        np.testing.assert_allclose(
            rows.log_sum_exps(temperature), whole.log_sum_exps(temperature), atol=2e-5
        )
    some = np.array([5, 9, 77])
    np.testing.assert_allclose(rows.at([2], some), whole.at([2], some), atol=2e-3)
    rows.logits[1, 3000:3040] = rows.logits[1].max() + 1.0
    whole.logits[1, 3000:3040] = whole.logits[1].max() + 1.0
    for weight in (0.0, 1.0, 0.7):
        for count in (1, 20, 100, slots.vocabulary_size):
            mine = rows.likeliest_ids(1, count, TIED, other, weight)
            theirs = whole.likeliest_ids(1, count, TIED, others, weight)
            assert len(set(mine) ^ set(theirs)) <= max(2, count // 50)
            assert (np.diff(mine) > 0).all()
        mine = rows.largest_besides(1, some, other, weight)
        assert mine == pytest.approx(
            whole.largest_besides(1, some, others, weight), abs=5e-3
        )


def test_vocabularies_that_were_filled_up_to_other_sizes_are_one(tmp_path):
    """As Qwen2.5's are, of 151,936 and 152,064 rows for 151,665 tokens."""
    settings = settings_of("llama_cpp")
    one, two = (
        load_model(tiny_qwen3(tmp_path / f"{padding}.gguf", size, padding), settings)
        for size, padding in ((320, 20), (352, 52))
    )
    assert one.vocabulary_id == two.vocabulary_id
    assert one.vocabulary_size == two.vocabulary_size == 300
    for model in (one, two):
        slots = model.open(2, 256)
        rows = slots.evaluate([Reading(0, [1, 2, 299], 2), Reading(1, [5], 1)])
        assert [found.shape for found in rows] == [(2, 300), (1, 300)]
        assert all(np.isfinite(found).all() for found in rows)
        with pytest.raises(EngineError, match="not in the vocabulary"):
            slots.evaluate([Reading(0, [300])])
        slots.close()
        model.close()


def test_an_engine_that_is_not_installed_is_named(tmp_path, monkeypatch):
    """With the words that install it."""
    monkeypatch.setitem(__import__("sys").modules, "models.engines.transformers", None)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="'make setup-torch' in"):
        load_model(tmp_path)


@pytest.fixture(scope="module")
def adapter(tmp_path_factory):
    return random_lora().write(tmp_path_factory.mktemp("loras") / "mine.gguf")


@pytest.mark.parametrize("worn", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_engines_agree_on_the_same_numbers(tmp_path, ids, adapter, worn):
    """Logits within 1e-3 of each other, from a file whose weights are float32, with an
    adapter and without."""
    settings_of("transformers")
    from tests.exported_models import dequantise

    path = tmp_path / "f32.gguf"
    dequantise(locate("specialist"), path)
    found = []
    for engine in available():
        model = load_model(path, settings_of(engine, precision="float32"))
        slots = model.open(2, 512, adapter=PersonalAdapter(adapter) if worn else None)
        readings = [Reading(0, ids[:90], 60), Reading(1, ids[200:204], 4)]
        found.append([rows.copy() for rows in slots.evaluate(readings)])
        slots.close()
        model.close()
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-3)


def test_an_adapter_is_worn_by_its_own_slots_alone(engine, model, slots, ids, adapter):
    """The specialist has it, the base over the same weights has not, whoever reads
    first; at the scale 0 it is as if there were none."""
    before = slots.sequence().evaluate(ids[:30], 30)
    worn = model.open(2, 256, adapter=PersonalAdapter(adapter))
    changed = worn.sequence().evaluate(ids[:30], 30)
    slots.rollback(0, 0)
    np.testing.assert_array_equal(slots.sequence().evaluate(ids[:30], 30), before)
    assert np.abs(changed - before).mean() > 0.2
    assert (worn.adapter.name, slots.adapter) == ("mine", None)
    worn.rollback(0, 10)
    close_to(engine, worn.sequence().evaluate(ids[10:30], 20), changed[10:])
    half = model.open(1, 256, adapter=PersonalAdapter(adapter, 0.5))
    between = half.sequence().evaluate(ids[:30], 30)
    assert np.abs(between - before).mean() < np.abs(changed - before).mean()
    none = model.open(1, 256, adapter=PersonalAdapter(adapter, 0.0))
    close_to(engine, none.sequence().evaluate(ids[:30], 30), before)
    for one in (worn, half, none):
        one.close()
    slots.rollback(0, 0)
    np.testing.assert_array_equal(slots.sequence().evaluate(ids[:30], 30), before)


def test_an_adapter_that_does_not_fit_is_refused(model, tmp_path):
    """In a sentence, before the engine sees it; the process lives."""
    wide = random_lora()
    for name in [one for one in wide.tensors if "blk.3.ffn_up.weight.lora_b" in one]:
        wide.tensors[name] = wide.tensors[name].repeat(2, axis=0)
    foreign = random_lora()
    foreign.values["general.architecture"] = 8, "gemma3"
    for path, sentence in (
        (wide.write(tmp_path / "wide.gguf"), "fits no weight there"),
        (foreign.write(tmp_path / "foreign.gguf"), "of the architecture 'gemma3'"),
        (tmp_path, "there is no adapter"),
    ):
        with pytest.raises(ModelError, match=sentence):
            model.open(1, 256, adapter=PersonalAdapter(path))
    slots = model.open(1, 256)
    assert slots.sequence().evaluate([5]).shape == (1, 8192)
    slots.close()
