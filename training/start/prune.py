"""A smaller network out of a larger one: fewer layers, fewer heads and neurons in each.

What is cut away is chosen by `search.py`, and for neurons here; what the neurons that
stay say is fitted to what all of them said, as in SlimGPT (Ling and others, 2024) and
others: by least squares, layer after layer, on a few rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from training.config import Shape
from training.network import Feed, Network, turns

Weights = dict[str, Tensor]
_RIDGE = 1e-3
"""Ridge of the least squares, in parts of the neurons' mean square: it keeps the fit
from leaning on a few neurons."""


def with_layers(weights: Weights, layers: Sequence[int]) -> Weights:
    """Only these layers, renumbered in their order."""
    kept = {n: w for n, w in weights.items() if not n.startswith("blocks.")}
    for new, old in enumerate(layers):
        start = f"blocks.{old}."
        for name, tensor in weights.items():
            if name.startswith(start):
                kept[f"blocks.{new}.{name.removeprefix(start)}"] = tensor
    return kept


def with_groups(
    weights: Weights, groups: Sequence[Sequence[int]], shape: Shape
) -> Weights:
    """Only these groups of heads, one list a layer: key and value heads of these
    numbers, and the query heads that read them."""
    kept = dict(weights)
    for layer, chosen in enumerate(groups):
        for part in ("q", "k", "v", "output"):
            name = f"blocks.{layer}.attention.{part}.weight"
            axis = 1 if part == "output" else 0
            pieces = kept[name].chunk(shape.kv_heads, dim=axis)
            kept[name] = torch.cat([pieces[group] for group in chosen], dim=axis)
    return kept


@torch.no_grad()
def with_hidden(network: Network, rows: Tensor, hidden: int) -> Weights:
    """Only the `hidden` neurons worth most in each layer, in their order; the last
    matrix is fitted on rows (B, T + 1)."""
    kept = network.state_dict()
    turn = turns(rows.shape[1] - 1, network.shape.head_size, rows.device)
    x = network.embedding(rows[:, :-1])
    for layer, block in enumerate(network.blocks):
        x = x + block.attention(block.attention_norm(x), turn)
        said = neurons(block.feed, block.feed_norm(x))
        chosen = worth(block.feed, said).topk(hidden).indices.sort().values
        down = fitted(said[:, chosen], block.feed.down(said))
        for part in ("gate", "up"):
            name = f"blocks.{layer}.feed.{part}.weight"
            kept[name] = kept[name][chosen]
        kept[f"blocks.{layer}.feed.down.weight"] = down
        x = x + (said[:, chosen] @ down.T).view_as(x)  # as the pruned network has it
    return kept


def neurons(feed: Feed, x: Tensor) -> Tensor:
    """What each neuron says at each token: (B * T, hidden) from x (B, T, width)."""
    return (functional.silu(feed.gate(x)) * feed.up(x)).flatten(0, -2)


def worth(feed: Feed, said: Tensor) -> Tensor:
    """How much each neuron says, (hidden,): the mean size of what it computes, times
    the norm of its column of `down`."""
    return said.abs().mean(0) * feed.down.weight.norm(dim=0)


def fitted(said: Tensor, wanted: Tensor) -> Tensor:
    """The matrix (width, n) that turns `said` (tokens, n) into `wanted` (tokens,
    width) as nearly as it can."""
    squares = said.T @ said
    ridge = _RIDGE * squares.diagonal().mean() + torch.finfo(said.dtype).tiny
    squares = squares + ridge * torch.eye(len(squares), device=said.device)
    return torch.linalg.solve(squares, said.T @ wanted).T.contiguous()
