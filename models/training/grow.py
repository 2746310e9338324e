"""A larger network that starts out computing what a smaller one computes.

The width is doubled by keeping everything twice (HyperCloning, Samragh and others,
2024); noise that cancels tells the two halves apart. Added layers begin as nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor

from models.training.network import Network

_NOISE = 0.5
"""Size of the cancelling noise, in parts of the weights."""


def grown(small: dict[str, Tensor], large: Network, seed: int) -> dict[str, Tensor]:
    """Weights for `large`, twice as wide and maybe deeper, that compute as `small`."""
    generator = torch.Generator().manual_seed(seed)
    weights = {name: tensor.clone() for name, tensor in large.state_dict().items()}
    for name, tensor in small.items():
        weights[name] = _twice(name, tensor, generator)
    if any(weights[name].shape != t.shape for name, t in large.state_dict().items()):
        raise ValueError("the larger network must be twice as wide in every part")
    return weights


def _twice(name: str, tensor: Tensor, generator: torch.Generator) -> Tensor:
    if name.endswith(("q_norm.weight", "k_norm.weight")):
        return tensor  # a head stays as large as it was
    if name == "norm.weight":
        return tensor.repeat(2) / 2  # each logit is now a sum of two equal halves
    if tensor.ndim == 1:
        return tensor.repeat(2)
    if name == "embedding.weight":
        return tensor.repeat(1, 2)
    rows = tensor.repeat(2, 1) / 2
    noise = torch.randn(rows.shape, generator=generator) * rows.std() * _NOISE
    return torch.cat((rows + noise, rows - noise), dim=1)
