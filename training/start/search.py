"""Which layers and heads of a parent to keep: those without which it is worst off.

Loss on texts alone keeps layers that know words and drops those that copy, and then
no history is used: copying takes heads of two layers that work together (Olsson and
others, 2022), and the loss shows little of them. So the loss on random tokens that
repeat, which only copying can lower, is part of the cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from training.data.tokenizer import PAD
from training.network import Network, targets, turns
from training.start import prune

_WEIGHT = 0.5
"""Of the loss on what repeats; texts count once."""
_HOPELESS = 12.0
"""Nats from which one loss on what repeats is as bad as another."""
_COMMON = 300
"""Ids before this one are control tokens and bytes in the full vocabulary."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Rows that a choice is measured on."""

    texts: Tensor
    """(B, T + 1)"""
    repeats: Tensor
    """(B, 2 * n): the same random tokens twice."""

    def cost(self, network: Network, layers: Sequence[int] | None = None) -> float:
        """Nats per token with these layers alone; lower is better."""
        texts, repeats = self.nats(network, layers)
        return texts + _WEIGHT * min(repeats, _HOPELESS)

    @torch.no_grad()
    def nats(
        self, network: Network, layers: Sequence[int] | None = None
    ) -> tuple[float, float]:
        """Nats per token of the texts, and of the second half of rows that repeat."""
        half = self.repeats.shape[1] // 2
        return (
            _nats(network, layers, self.texts, 0),
            _nats(network, layers, self.repeats, half - 1),
        )


def repeated(vocabulary: int, count: int, length: int, seed: int = 1) -> Tensor:
    """Random ids, each row twice in succession: (count, 2 * length)."""
    chance = torch.Generator().manual_seed(seed)
    first = min(_COMMON, vocabulary // 2)
    ids = torch.randint(first, vocabulary, (count, length), generator=chance)
    return torch.cat([ids, ids], dim=1)


def dropped_in_turn(
    network: Network, measure: Measure, down_to: int
) -> Iterator[tuple[list[int], float, float]]:
    """Drop the layer that costs least, again and again; layers kept, nats per token
    of texts and of what repeats.

    While there are many layers, two are dropped at a time, or it takes twice as long.
    """
    kept = list(range(len(network.blocks)))
    yield list(kept), *measure.nats(network, kept)
    while len(kept) > down_to:
        costs = {
            layer: measure.cost(network, [k for k in kept if k != layer])
            for layer in kept
        }
        count = 2 if len(kept) > 22 and len(kept) - 2 >= down_to else 1
        for layer in sorted(costs, key=costs.__getitem__)[:count]:
            kept.remove(layer)
        yield list(kept), *measure.nats(network, kept)


def groups_to_keep(network: Network, measure: Measure, count: int) -> list[list[int]]:
    """Groups of heads to keep in each layer, `count` of them: layer after layer, the
    one whose silence costs least falls silent for good. Leaves them silent."""
    kept = [list(range(network.shape.kv_heads)) for _ in network.blocks]
    for _ in range(network.shape.kv_heads - count):
        for layer, groups in enumerate(kept):
            costs = {}
            for group in groups:
                before = _silenced(network, layer, group)
                costs[group] = measure.cost(network)
                _part(network, layer, group).copy_(before)
            least = min(costs, key=costs.__getitem__)
            _silenced(network, layer, least)
            groups.remove(least)
    return kept


def cut(network: Network, layers: Sequence[int]) -> Network:
    """A network of these layers alone."""
    smaller = Network(replace(network.shape, layers=len(layers)))
    smaller.load_state_dict(prune.with_layers(network.state_dict(), layers))
    return smaller


def _part(network: Network, layer: int, group: int) -> Tensor:
    """What a group of heads says: its columns of a layer's output matrix."""
    output: Tensor = network.blocks[layer].attention.output.weight.data
    return output.chunk(network.shape.kv_heads, dim=1)[group]


def _silenced(network: Network, layer: int, group: int) -> Tensor:
    part = _part(network, layer, group)
    before = part.clone()
    part.zero_()
    return before


def _nats(
    network: Network, layers: Sequence[int] | None, rows: Tensor, start: int
) -> float:
    """Mean nats of the tokens of rows (B, T + 1) after place `start`."""
    chosen = range(len(network.blocks)) if layers is None else layers
    turn = turns(rows.shape[1] - 1, network.shape.head_size, rows.device)
    x = network.embedding(rows[:, :-1])
    for layer in chosen:
        x = network.blocks[layer](x, turn)
    seen, wanted = network.norm(x)[:, start:], rows[:, start:]
    logits = functional.linear(seen, network.embedding.weight)
    nats = functional.cross_entropy(
        logits.flatten(0, 1), wanted[:, 1:].flatten(), ignore_index=PAD, reduction="sum"
    )
    return float(nats) / targets(wanted)
