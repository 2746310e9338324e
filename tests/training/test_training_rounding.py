"""Weights rounded in training are the weights that llama.cpp's kinds can hold."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
gguf = pytest.importorskip("gguf")

from decoding_core.errors import InvalidSettingsError  # noqa: E402
from training.config import Export  # noqa: E402
from training.learning import as_exported, rounded  # noqa: E402


def as_a_file_holds(weights, kind):
    kind = gguf.GGMLQuantizationType[kind]
    return gguf.quants.dequantize(gguf.quants.quantize(weights, kind), kind)


@pytest.mark.parametrize("kind", ["Q4_0", "Q5_0", "Q8_0"])
def test_rounding_is_what_a_file_holds(kind):
    weights = np.random.default_rng(1).normal(size=(40, 96)).astype(np.float32)
    weights[3] = 0.0
    weights[4, :32] = 0.25

    found = rounded(torch.from_numpy(weights), kind).numpy()

    assert np.array_equal(found, as_a_file_holds(weights, kind))
    assert not np.array_equal(found, weights)


def test_rounding_twice_changes_nothing_more():
    weights = torch.randn(8, 64, generator=torch.Generator().manual_seed(2))
    once = rounded(weights, "Q8_0")

    assert torch.allclose(rounded(once, "Q8_0"), once, atol=1e-3)


def test_an_unknown_kind_is_refused():
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
