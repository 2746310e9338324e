"""Copying that is wired in by hand works at once."""

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")

from models.training.config import Shape  # noqa: E402
from models.training.copying import wire  # noqa: E402
from models.training.network import Network  # noqa: E402

SHAPE = Shape(400, layers=3, width=256, heads=4, kv_heads=2, head_size=64, hidden=64)


def test_a_wired_network_copies_what_came_before():
    """The second time a span is read, its tokens are far less of a surprise."""
    network = Network(SHAPE, seed=1)
    chance = torch.Generator().manual_seed(2)
    wire(network, torch.randint(4, 400, (40, 128), generator=chance))
    span = torch.randint(4, 400, (8, 40), generator=chance)
    with torch.no_grad():
        first = network.loss(span)
        both = network.loss(torch.cat((span, span), dim=1))
    assert 2 * both < 2 * first - 1.0
