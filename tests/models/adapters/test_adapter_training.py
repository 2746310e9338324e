"""Training an adapter, for real and in few steps: exact resume, the same in every
format and engine."""

import threading

import numpy as np
import pytest

from decoding_core.errors import InvalidSettingsError, ModelError, StoppedError
from models.adapters.lora import Heads, for_network, read_file, write_lora
from models.files import locate
from models.running.loading import load_model
from models.running.settings import EngineSettings, PersonalAdapter

pytestmark = pytest.mark.slow
RNG = np.random.default_rng(0)
SETTINGS = EngineSettings(engine="transformers", device="cpu", threads=1)


def ids(count):
    return tuple(map(int, RNG.integers(20, 8000, count)))


@pytest.fixture(scope="module")
def training():
    pytest.importorskip("peft")
    from models.adapters import training

    return training


@pytest.fixture(scope="module")
def lessons(training):
    return [training.Lesson((ids(5), ids(9)), ids(12)) for _ in range(6)]


@pytest.fixture
def run(training, lessons, tmp_path):
    def build(name="training.pt", stop=None, **changes):
        recipe = training.AdapterRecipe(passes=2, batch=2, rate=5e-3, **changes)
        checkpoint = tmp_path / name
        return training.AdapterTraining(
            *(locate("specialist"), lessons, recipe, checkpoint),
            device="cpu",
            stop=stop,
        )

    return build


def same(one, other):
    return all(
        np.array_equal(a, b)
        for name in one.matrices
        for a, b in zip(one.matrices[name], other.matrices[name], strict=True)
    )


def test_a_training_goes_on_as_if_it_had_never_stopped(run, lessons):
    """To the last bit; and what it learns costs less."""
    whole = run("whole.pt")
    before = whole.nats(lessons[0].prompts[0], lessons[0].text)
    half = run()
    assert (whole.steps, half.finished) == (6, False)
    for _ in range(3):
        assert whole.advance() == half.advance()
    half.kept["said"] = [1.5]
    half.save()
    assert (half._checkpoint.stat().st_mode & 0o777) == 0o600
    again = run()
    assert (again.step, again.kept) == (3, {"said": [1.5]})
    while not whole.finished:
        assert whole.advance() == again.advance()
    assert same(whole.lora(), again.lora())
    assert whole.nats(lessons[0].prompts[0], lessons[0].text) < before


def test_a_stop_in_the_middle_of_a_step_takes_it_back(run):
    stop = threading.Event()
    one = run(stop=stop)
    one.advance()
    learnt = one.lora()
    stop.set()
    with pytest.raises(StoppedError):
        one.advance()
    with pytest.raises(StoppedError):
        one.nats((5,), (6,))
    assert one.step == 1
    assert same(one.lora(), learnt)


@pytest.mark.parametrize(
    "changes", [{"rank": 0}, {"alpha": float("nan")}, {"rank": 10_000}]
)
def test_what_cannot_be_trained_is_refused(run, changes):
    with pytest.raises(InvalidSettingsError, match=r"must (lie between|be above)"):
        run(**changes)


def test_what_peft_computes_llama_cpp_and_transformers_do(run, lessons, tmp_path):
    """To a thousandth, where the adapter changes logits by more than 2: from float32
    weights, by our GGUF file and by peft's own folder."""
    import torch

    from tests.exported_models import dequantise

    trained = run()
    while not trained.finished:
        trained.advance()
    file, weights = tmp_path / "adapter.gguf", tmp_path / "f32.gguf"
    lora = trained.lora()
    write_lora(file, lora, trained.architecture, trained.heads, "mine")
    written = read_file(file)
    assert written.architecture == "llama"
    assert same(for_network(written, Heads(6, 2)), lora)
    folder = tmp_path / "peft"
    trained._network.save_pretrained(folder, save_embedding_layers=False)
    dequantise(locate("specialist"), weights)
    text = list(lessons[0].prompts[1] + lessons[0].text)
    with torch.no_grad():
        logits = trained._network(torch.tensor([text])).logits[0].numpy()
        with trained._network.disable_adapter():
            bare = trained._network(torch.tensor([text])).logits[0].numpy()
    assert np.abs(logits - bare).max() > 2.0
    for engine, path in (
        ("llama_cpp", file),
        ("transformers", file),
        ("transformers", folder),
    ):
        settings = EngineSettings(
            engine=engine, device="cpu", threads=1, precision="float32"
        )
        model = load_model(weights, settings)
        slots = model.open(1, 256, adapter=PersonalAdapter(path))
        found = slots.sequence().evaluate(text, len(text))
        assert np.abs(found - logits).max() < 1e-3, (engine, path.name)
        slots.close()
        model.close()


def test_more_than_a_plain_lora_in_a_folder_is_refused(run, tmp_path):
    """With what it is that is not known."""
    folder = tmp_path / "peft"
    run()._network.save_pretrained(folder, save_embedding_layers=False)
    config = folder / "adapter_config.json"
    plain = config.read_text()
    model = load_model(locate("specialist"), SETTINGS)
    for old, new, sentence in (
        ('"use_dora": false', '"use_dora": true', "sets 'use_dora'"),
        ('"bias": "none"', '"bias": "all"', "sets 'bias'"),
        ('"r": 8', '"r": 0', "holds no LoRA that can be read"),
        ("{", "{{", "holds no LoRA that can be read"),
    ):
        assert old in plain
        config.write_text(plain.replace(old, new, 1))
        with pytest.raises(ModelError, match=sentence):
            model.open(1, 256, adapter=PersonalAdapter(folder))
    model.close()
