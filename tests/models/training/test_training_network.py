"""The torch network and llama.cpp must compute the same."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")
pytest.importorskip("gguf")
llama_cpp = pytest.importorskip("llama_cpp")

from models.training import tokenizer  # noqa: E402
from models.training.config import Shape  # noqa: E402
from models.training.export import export, write_full  # noqa: E402
from models.training.grow import grown  # noqa: E402
from models.training.network import Network  # noqa: E402

SMALL = Shape(320, layers=2, width=64, heads=2, kv_heads=1, head_size=32, hidden=96)
LARGE = Shape(320, layers=3, width=128, heads=4, kv_heads=2, head_size=32, hidden=192)
IDS = [5, 300, 17, 17, 200, 90, 3, 8, 250, 41, 77, 100]


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "tokenizer.json"
    texts = ["the kettle leaks and the lid rattles, so I went home again " * 20] * 5
    texts += [f"word{a}{b} " for a in "abcdefgh" for b in "stuvwxyz"]
    tokenizer.train_on(texts, path, SMALL.vocabulary)
    return path


@pytest.fixture
def network():
    made = Network(SMALL, seed=3)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return made


def torch_logits(network, ids):
    with torch.no_grad():
        return network(torch.tensor([ids]))[0].numpy()


def llama_logits(path, ids):
    """Logits (T, V) of a GGUF file, by llama.cpp's low-level functions."""
    settings = llama_cpp.llama_model_default_params()
    settings.use_extra_bufts = False
    settings.use_mmap = False
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), settings)
    assert model
    options = llama_cpp.llama_context_default_params()
    options.n_ctx, options.n_batch, options.flash_attn_type = 256, 64, 0
    options.type_k = options.type_v = 0
    context = llama_cpp.llama_init_from_model(model, options)
    batch = llama_cpp.llama_batch_init(len(ids), 0, 1)
    batch.n_tokens = len(ids)
    for i, token in enumerate(ids):
        batch.token[i], batch.pos[i], batch.n_seq_id[i] = token, i, 1
        batch.seq_id[i][0], batch.logits[i] = 0, 1
    assert llama_cpp.llama_decode(context, batch) == 0
    size = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    pointer = llama_cpp.llama_get_logits(context)
    logits = np.ctypeslib.as_array(pointer, (len(ids), size)).copy()
    llama_cpp.llama_batch_free(batch)
    llama_cpp.llama_free(context)
    llama_cpp.llama_model_free(model)
    return logits


def test_llama_cpp_agrees_with_torch(network, vocabulary, tmp_path):
    """A random network gives the same logits in both, at 32 bits."""
    path = tmp_path / "model.gguf"
    write_full("test", SMALL, network.state_dict(), vocabulary, path)
    expected = torch_logits(network, IDS)
    assert np.abs(llama_logits(path, IDS) - expected).max() < 2e-3


def test_quantised_export_is_close_and_leaves_nothing_behind(
    network, vocabulary, tmp_path
):
    """Q8_0 changes the logits little, and no half-written file remains."""
    path = tmp_path / "model.gguf"
    export("test", SMALL, network.state_dict(), vocabulary, path)
    expected = torch_logits(network, IDS)
    assert np.abs(llama_logits(path, IDS) - expected).max() < 0.25 * expected.std()
    assert [p.name for p in tmp_path.iterdir()] == ["model.gguf"]


def test_a_grown_network_computes_as_the_small_one(network):
    """Doubling the width and adding layers changes nothing at first."""
    large = Network(LARGE, seed=4)
    large.load_state_dict(grown(network.state_dict(), large, seed=5))
    expected = torch_logits(network, IDS)
    np.testing.assert_allclose(torch_logits(large, IDS), expected, atol=1e-4)
