"""The weights a run begins with: a pruned parent, or chance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torch import Tensor

from models.training import parent, prune, transplant
from models.training.config import Recipe, Shape
from models.training.network import Network

TYPICAL = 16
"""Rows that show which neurons speak."""
_CALIBRATION = (2, 385)
"""Rows, and tokens of each, that show which layers can go; more takes hours."""


def weights(plan: Recipe, rows: Tensor) -> dict[str, Tensor]:
    """Weights for a network of the recipe's shape; rows (B, T + 1) are typical."""
    if not plan.start.parent:
        return Network(plan.shape, plan.schedule.seed).state_dict()
    whole, shape = transplanted(plan)
    layers = plan.start.layers
    pruned = prune.with_layers(whole, layers)
    if plan.shape.hidden == shape.hidden:
        return pruned
    network = Network(replace(shape, layers=len(layers)))
    network.load_state_dict(pruned)
    worth = prune.worth_of_neurons(network, rows[:TYPICAL])
    return prune.with_hidden(pruned, worth, plan.shape.hidden)


def transplanted(plan: Recipe) -> tuple[dict[str, Tensor], Shape]:
    """The parent's weights with embeddings of our vocabulary, and their shape."""
    found = parent.load(plan.work)
    embedding = transplant.embeddings(found, plan.vocabulary)
    shape = replace(found.shape, vocabulary=len(embedding))
    return found.weights | {"embedding.weight": embedding}, shape


def layers_in_turn(plan: Recipe, rows: Tensor) -> Iterator[tuple[list[int], float]]:
    """Layers of the parent that are kept, fewer and fewer, with nats per token."""
    whole, shape = transplanted(plan)
    network = Network(shape)
    network.load_state_dict(whole)
    count, length = _CALIBRATION
    few = rows[:count, :length]
    yield from prune.dropped_in_turn(network, few, plan.shape.layers)
