"""A smaller network out of a larger one: fewer layers, fewer neurons in each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.training.network import Network, targets, turns
from models.training.tokenizer import PAD

Weights = dict[str, Tensor]
_FEED = {"feed.gate.weight": 0, "feed.up.weight": 0, "feed.down.weight": 1}
"""Matrices of the feed-forward layer, and the axis that counts its neurons."""


def with_layers(weights: Weights, layers: Sequence[int]) -> Weights:
    """Only these layers, renumbered in their order."""
    kept = {n: w for n, w in weights.items() if not n.startswith("blocks.")}
    for new, old in enumerate(layers):
        start = f"blocks.{old}."
        for name, tensor in weights.items():
            if name.startswith(start):
                kept[f"blocks.{new}.{name.removeprefix(start)}"] = tensor
    return kept


def with_hidden(weights: Weights, worth: Sequence[Tensor], hidden: int) -> Weights:
    """Only the `hidden` neurons worth most in each layer, in their order."""
    kept = dict(weights)
    for layer, values in enumerate(worth):
        chosen = values.topk(hidden).indices.sort().values
        for part, axis in _FEED.items():
            name = f"blocks.{layer}.{part}"
            kept[name] = kept[name].index_select(axis, chosen)
    return kept


@torch.no_grad()
def worth_of_neurons(network: Network, rows: Tensor) -> list[Tensor]:
    """How much each feed-forward neuron says on typical rows, (hidden,) per layer:
    the mean size of what it computes, times the norm of its column of `down`."""
    sizes = [torch.zeros(network.shape.hidden) for _ in network.blocks]
    hooks = [
        block.feed.down.register_forward_pre_hook(_adding_to(size))
        for block, size in zip(network.blocks, sizes, strict=True)
    ]
    for row in rows:
        network(row[None, :-1])
    for hook in hooks:
        hook.remove()
    norms = [block.feed.down.weight.norm(dim=0) for block in network.blocks]
    return [size * norm for size, norm in zip(sizes, norms, strict=True)]


def dropped_in_turn(
    network: Network, rows: Tensor, down_to: int
) -> Iterator[tuple[list[int], float]]:
    """Drop the layer that costs least, again and again; layers kept, nats per token.

    While there are many layers, two are dropped at a time, or it takes twice as long.
    """
    kept = list(range(len(network.blocks)))
    yield list(kept), _loss_with(network, kept, rows)
    while len(kept) > down_to:
        costs = {
            layer: _loss_with(network, [k for k in kept if k != layer], rows)
            for layer in kept
        }
        count = 2 if len(kept) > 16 and len(kept) - 2 >= down_to else 1
        for layer in sorted(costs, key=costs.__getitem__)[:count]:
            kept.remove(layer)
        yield list(kept), _loss_with(network, kept, rows)


@torch.no_grad()
def _loss_with(network: Network, layers: list[int], rows: Tensor) -> float:
    turn = turns(rows.shape[1] - 1, network.shape.head_size, rows.device)
    x = network.embedding(rows[:, :-1])
    for layer in layers:
        x = network.blocks[layer](x, turn)
    logits = functional.linear(network.norm(x), network.embedding.weight)
    nats = functional.cross_entropy(
        logits.flatten(0, 1), rows[:, 1:].flatten(), ignore_index=PAD, reduction="sum"
    )
    return float(nats) / targets(rows)


def _adding_to(size: Tensor) -> nn.Module:
    def add(_module: nn.Module, arguments: tuple[Tensor]) -> None:
        size.add_(arguments[0].abs().flatten(0, -2).sum(0))

    return add
