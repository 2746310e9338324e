"""The torch network and llama.cpp must compute the same, with rounded weights too."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")
gguf = pytest.importorskip("gguf")

from decoding_core.errors import InvalidSettingsError  # noqa: E402
from models.engines.llama_cpp import LlamaContext, LlamaModel  # noqa: E402
from models.running.settings import EngineSettings  # noqa: E402
from training import tokenizer  # noqa: E402
from training.config import Export, Recipe, Shape  # noqa: E402
from training.export import export, kinds_in, write_full  # noqa: E402
from training.learning import as_exported, rounded  # noqa: E402
from training.network import Network  # noqa: E402
from training.tokenizer import PAD  # noqa: E402

SHAPE = Shape(320, layers=2, width=64, heads=4, kv_heads=2, head_size=32, hidden=256)
torch.set_num_threads(1)
IDS = [5, 300, 17, 17, 200, 90, 3, 8, 250, 41, 77, 100]


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "tokenizer.json"
    texts = ["the kettle leaks and the lid rattles, so I went home again " * 20] * 5
    texts += [f"word{a}{b} " for a in "abcdefgh" for b in "stuvwxyz"]
    tokenizer.train_on(texts, path, SHAPE.vocabulary)
    return path


@pytest.fixture(scope="module")
def network():
    made = Network(SHAPE, seed=3)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return made


@pytest.fixture(scope="module")
def full(network, vocabulary, tmp_path_factory):
    path = tmp_path_factory.mktemp("full") / "model.gguf"
    write_full("test", SHAPE, network.state_dict(), vocabulary, path)
    return path


def test_the_distance_from_a_teacher_is_the_mean_of_what_sets_them_apart(network):
    """KL(teacher || self), and how much likelier a token of the row is held than the
    teacher holds it, and any token by how often it would be drawn, up to a limit;
    padding costs nothing."""
    other = Network(SHAPE, seed=9)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    row = torch.tensor([[*IDS, PAD, PAD]])
    with torch.no_grad():
        theirs, ours = (one(row[:, :-1])[0].double() for one in (other, network))
        found = network.distance(row, other(row[:, :-1])[0])
        more = network.distance(row, other(row[:, :-1])[0], ratio=0.5)
        drawn = network.distance(row, other(row[:, :-1])[0], reverse=0.5)
        none = network.distance(row, network(row[:, :-1])[0], ratio=0.5, reverse=0.5)
    p, q = theirs.softmax(-1), ours.softmax(-1)
    kept = [i for i, one in enumerate(row[0, 1:].tolist()) if one != PAD]
    expected = sum((p[i] * (p[i] / q[i]).log()).sum() for i in kept)
    over = sum(
        min(4.0, max(0.0, float((q[i, t] / p[i, t]).log())))
        for i in kept
        for t in [int(row[0, i + 1])]
    )
    assert float(found) == pytest.approx(float(expected), rel=1e-4)
    assert float(more - found) == pytest.approx(0.5 * over, rel=1e-3, abs=1e-4)
    surer = sum((q[i] * (q[i] / p[i]).log().clamp(0.0, 4.0)).sum() for i in kept)
    assert float(drawn - found) == pytest.approx(0.5 * float(surer), rel=1e-3, abs=1e-4)
    assert float(none) == pytest.approx(0.0, abs=1e-4)


def torch_logits(network, ids):
    with torch.no_grad():
        return network(torch.tensor([ids]))[0].numpy()


def llama_logits(path, ids):
    """Logits (T, V) of a GGUF file, by the engine that the app uses."""
    model = LlamaModel(path, EngineSettings(threads=1, extra_buffers=False))
    context = LlamaContext(model, 1, 256)
    logits = context.sequence().evaluate(ids, len(ids))
    context.close()
    model.close()
    return logits


@pytest.mark.parametrize(("times", "near"), [(1, 2e-3), (17, 5e-3)])
def test_llama_cpp_agrees_with_torch(network, full, times, near):
    """The same logits at 32 bits, but for llama.cpp's cache of 16 bits; at far places
    too: base and pairing of the rotary positions are llama.cpp's."""
    expected = torch_logits(network, IDS * times)
    assert expected.std() > 0.5
    assert np.abs(llama_logits(full, IDS * times) - expected).max() < near


@pytest.mark.parametrize(
    ("kinds", "near"),
    [
        (Export("Q8_0", "Q8_0"), 0.05),
        (Export("Q5_0", "Q8_0"), 0.3),
        (Export("IQ4_NL", "Q5_0", "Q3_K"), 0.6),
    ],
    ids=["Q8_0", "Q5_0", "mixed"],
)
def test_a_file_has_the_kinds_that_were_asked_for(
    network, vocabulary, tmp_path, kinds, near
):
    """Each matrix as the recipe says, logits near, no half-written file left."""
    plan = Recipe("test", SHAPE, None, None, None, kinds, tmp_path)
    (tmp_path / "tokenizer.json").write_bytes(vocabulary.read_bytes())
    path = tmp_path / "made" / "model.gguf"
    export(plan, network.state_dict(), path)
    found = kinds_in(path)
    assert found["token_embd.weight"] == kinds.embedding
    assert found["blk.1.attn_q.weight"] == kinds.matrices
    assert found["blk.0.ffn_down.weight"] == (kinds.down or kinds.matrices)
    expected = torch_logits(network, IDS)
    error = llama_logits(path, IDS) - expected
    assert np.sqrt((error**2).mean()) < near * expected.std()
    assert [p.name for p in path.parent.iterdir()] == ["model.gguf"]


@pytest.mark.parametrize("kind", ["Q4_0", "Q5_0", "Q8_0"])
def test_rounding_is_what_a_file_holds(kind):
    weights = np.random.default_rng(1).normal(size=(40, 96)).astype(np.float32)
    weights[3] = 0.0
    weights[4, :32] = 0.25
    found = rounded(torch.from_numpy(weights), kind).numpy()
    known = gguf.GGMLQuantizationType[kind]
    written = gguf.quants.quantize(weights, known)
    assert np.array_equal(found, gguf.quants.dequantize(written, known))
    assert not np.array_equal(found, weights)
    with pytest.raises(InvalidSettingsError, match="IQ4_NL"):
        rounded(torch.zeros(1, 32), "IQ4_NL")


def test_gradients_reach_the_exact_weights():
    layer = torch.nn.Linear(32, 4, bias=False)
    before = layer.weight.detach().clone()
    read = torch.ones(1, 32)

    with as_exported(layer, Export(matrices="Q4_0", embedding="Q4_0")):
        assert torch.equal(layer.weight, rounded(before, "Q4_0"))
        (layer(read) ** 2).sum().backward()

    assert torch.equal(layer.weight, before)
    expected = 2 * (read @ rounded(before, "Q4_0").T).T @ read
    assert torch.allclose(layer.weight.grad, expected)
